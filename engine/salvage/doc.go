// Package salvage recovers what is still readable in a damaged store, and builds consistent rows
// from it.
//
// It reads the store's files one by one and never modifies them. All versions of rows go to a
// scratch store, which keeps the newest. Derived rows, such as index entries, are rebuilt. A lost
// item is restored from an index that projects all attributes, or from the stream, if their version
// is readable and newer. Everything still missing is reported as a Loss.
package salvage
