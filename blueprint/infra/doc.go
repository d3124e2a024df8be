// Package infra generates the infrastructure for a schema's table on AWS: CloudFormation and
// Terraform with alarms, functions, and roles limited to what the access patterns need, and the
// request that creates the table. The output depends only on the schema and options.
package infra
