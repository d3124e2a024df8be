// Package table is a single-table toolkit: entities, access patterns and schemas are Go values that
// are checked when the program starts, executed at run time, and printed as documentation. It
// implements key templates and DynamoDB's rules, and knows nothing about what is stored. Folds,
// products, documentation and servers build on it.
//
// To begin, Define an Entity, declare its queries with NewQuery, NewGet and NewCreate, combine them
// with NewSchema, and run them on a Table. Every read skips expired items and reads all pages. A
// '#' in a key value is rejected, so that no value can reach into the keys of another entity.
package table
