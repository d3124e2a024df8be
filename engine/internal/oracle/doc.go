// Package oracle is a naive model of DynamoDB's documented writes: a map of items, and a few lines
// for each rule. Tests run the same random requests on it and on the engine, and compare everything
// visible. To be independent, it shares no code with the engine's expressions, values or rows.
package oracle
