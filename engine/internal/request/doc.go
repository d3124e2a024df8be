// Package request is the form of requests: which members they must have, which of them exclude each other, and in which
// words DynamoDB says so. It also rewrites the parameters of the time before expressions into expressions. It exists so
// that what needs no table is checked apart from what does; only the engine uses it.
package request
