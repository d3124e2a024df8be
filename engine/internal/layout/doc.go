// Package layout determines the rows of a table: the keys of items and index entries, what an index
// stores of an item, and the range of rows that a Query or Scan reads. It does no I/O.
package layout
