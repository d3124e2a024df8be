// Package partiql is DynamoDB's PartiQL: it reads statements, says in DynamoDB's words what is wrong with them, and
// carries them out as the ordinary requests that mean the same. It exists so that the language and its many refusals are
// apart from the store; there is no second evaluator, conditions and updates become expressions. Only the engine uses it.
//
// A statement goes through three stages. Parsing depends on the text alone. Checking puts the parameters in and binds
// the whole condition, so that what is wrong with it is told before a missing table. Planning needs the table's keys: a
// SELECT becomes queries of single partitions, as many as its condition names, or a scan; a write must name one item.
//
// The messages are those that DynamoDB answered when others recorded it (the public conformance suite of nubo-db among
// them); where no recording is known, the wording is this package's own.
package partiql
