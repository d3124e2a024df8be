// Package export copies raw facts from the table to a warehouse, each exactly once. It reads the
// change stream. At the start, and after changes were trimmed before they were read, it also reads
// the table.
//
// A changed fact is not added but written at its key. Facts that exist already stay, changed facts
// are replaced, facts that were deleted are removed, and facts that only expired in the table stay.
// So the same change may come twice, from the stream and from the table, and after all changes are
// applied in stream order, the warehouse matches the table. The progress of reading the stream is
// in the same commit as the rows; see package warehouse.
//
// Start with New and call Exporter.CatchUp or Run. Exporter.Check compares the warehouse with the
// table. Commands and servers use this package.
package export
