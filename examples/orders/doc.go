// Package orders is an example of the kit: a shop whose customers, products and orders with their items and their history
// are one table. Its five first access patterns are those of every article about single-table design; README.md says
// where this one differs from them, and why.
package orders
