// Package dump writes the items of a table to files and restores them: lines of DynamoDB JSON, plain or compressed, as in
// AWS's exports to S3. It works on a dynamo.API, so the table may be in an embedded database, behind a server, or at AWS.
package dump
