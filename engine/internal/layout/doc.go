// Package layout says where a table's rows are: the keys of items and of index entries, what an index keeps of an item,
// and which range of rows a Query or Scan goes through. It exists so that keys are made in one place, without I/O; only
// the engine uses it.
package layout
