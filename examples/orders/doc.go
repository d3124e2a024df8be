// Package orders is an example of the kit: a shop whose customers, products and orders, with items
// and history, are in one table. Its first five access patterns are those of the usual articles
// about single-table design; README.md explains where and why this design differs.
package orders
