// Package transfer moves the items of a table out to files and in from them: lines of DynamoDB's JSON, plain or compressed,
// as exports of AWS to S3 are. It speaks to a dynamo.API, so the table may be in an embedded database, behind a server
// or at AWS. Only the command may use it.
package transfer
