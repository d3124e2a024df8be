// Package dynamohttp implements DynamoDB's JSON protocol for any dynamo.API and dynamo.Streams. A
// Handler serves SDKs and command-line tools; a Doer lets an unchanged *dynamodb.Client call a
// backend in the same process without a socket. The package checks the protocol (signatures,
// targets, the form of bodies); rules about tables and items are left to the backend. Only cmd,
// examples and tests use it.
package dynamohttp
