// Package capacity counts what requests would cost on DynamoDB: the units of a read or a write, of a table and of each
// index, how a response tells them, and meters that add them up. It exists so that the rules of billing are in one place
// and can be tested alone; only the engine uses it.
package capacity
