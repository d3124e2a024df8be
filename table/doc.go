// Package table is the single-table kit: entities, access patterns and schemas as Go values that are checked when the
// program starts, executed at run time and printed by documents. It knows key templates and DynamoDB's rules, and
// nothing of what is stored. Folds, products, documents and servers build on it; it imports only the vocabulary.
//
// The way in: Define an Entity, describe its questions with NewQuery, NewGet and NewCreate, gather them with NewSchema,
// and run them on a Table. Every read skips expired items and reads every page; every '#' in a key value is refused,
// so that no value reaches into another entity's keys.
package table
