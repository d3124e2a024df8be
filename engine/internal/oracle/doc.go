// Package oracle is a naive model of what DynamoDB documents about writes: a map of items, and a few lines for every rule.
// Tests carry out the same random requests on it and on the engine, and compare everything that can be seen. It shares no
// code with the engine's expressions, values or rows; that is why it exists.
package oracle
