// Package table is a single-table toolkit: entities, access patterns and schemas are Go values that
// are checked when the program starts, executed at run time, and printed as documentation. It
// implements key templates and DynamoDB's rules, and knows nothing about what is stored. Folds,
// products, documentation and servers build on it.
//
// To begin, Define an Entity, declare its queries with NewQuery, NewGet and NewCreate, combine them
// with NewSchema, and run them on a Table. Every read skips expired items and reads all pages. A
// '#' in a key value is rejected, so that no value can reach into the keys of another entity.
//
// # From declaration to request
//
//	Define, NewQuery, NewGet, NewCreate     parse key templates and compile plans for struct fields
//	NewSchema                               checks all of them together, and returns every problem
//	Query.All, Get.Get, Entity.Modify, …    fill templates, build the request, decode the items
//	dynamo.API                              is called with the SDK's own types
//
// # Invariants
//
//   - A pattern never scans and never returns a silently shortened answer: it reads all pages, or
//     returns a cursor.
//   - Two entities of a schema cannot have the same key, whatever the values.
//   - An item is decoded only as the entity that its attribute et names (ErrWrongEntity).
//   - Secondary index keys and the expiry are functions of the item, computed at every write. A patch
//     that would leave one of them out of date is rejected (ErrUnknownValue).
//   - Expired items are never returned, whether or not the store has deleted them yet.
package table
