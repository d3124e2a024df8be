// Package transfer dumps the items of a table to files and restores them: as lines of DynamoDB
// JSON, plain or compressed, like AWS exports to S3. It uses a dynamo.API, so the table may be in
// an embedded database, behind a server or at AWS.
package transfer
