// Package request validates the form of requests: required and mutually exclusive members, with
// DynamoDB's messages. It also converts legacy parameters to expressions. It makes only checks that
// need no table.
package request
