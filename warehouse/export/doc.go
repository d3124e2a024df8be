// Package export brings raw facts from the table to a warehouse, each exactly once: off the change stream, and, at first
// and after changes were trimmed before they were read, from the table itself.
//
// A change of a fact is not added but put at its key: what is there already stays, what has changed is replaced, what was
// deleted by somebody is taken out, and what merely expired in the table stays. So the same change may come twice, by the
// stream and by the table, and in the order of the stream all ends as the table is. How far the stream is read is in the
// same commit as the rows, see package warehouse.
//
// The way in: New, Exporter.CatchUp or Run; Exporter.Check compares. Commands and servers use it.
package export
