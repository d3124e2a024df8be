// Package partiql implements DynamoDB's PartiQL: it parses statements, reports errors with
// DynamoDB's messages, and executes statements as equivalent ordinary requests. Conditions and
// updates are converted to expressions, so there is no second evaluator.
//
// A statement passes through three stages. Parsing depends only on the text. Checking inserts the
// parameters and binds the whole condition, so that its errors are reported before a missing table.
// Planning uses the table's keys: a SELECT becomes queries of single partitions, as many as its
// condition names, or a scan; a write must name a single item.
//
// Messages are those that others have recorded from DynamoDB (the public conformance suite of
// nubo-db among them). Where no recording is known, the wording is this package's own.
package partiql
