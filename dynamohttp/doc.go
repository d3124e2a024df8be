// Package dynamohttp speaks DynamoDB's JSON protocol over any dynamo.API and dynamo.Streams: a Handler for every SDK and
// command line tool, and a Doer that lets an unchanged *dynamodb.Client call a backend in the same process without a
// socket. It checks what belongs to the protocol (signatures, targets, the form of bodies) and holds no rule about
// tables or items: those are the backend's. Only cmd, examples and tests use it.
package dynamohttp
