// Package infra writes what a schema's table needs to stand on AWS: CloudFormation and Terraform with alarms, functions and
// roles that may do no more than the access patterns do, and the request that creates the table. What it writes is the same
// for the same schema and options.
package infra
