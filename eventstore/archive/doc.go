// Package archive keeps events in files: JSON lines, from which they are read again, and Parquet,
// for analysis. With an archive, the table needs only the events after an aggregate's snapshot.
// Truncate deletes the earlier ones after it has verified snapshot and archive. A store with the
// archive reads them as if they were still in the table.
//
// Start with Open, then use Archive.Write, Truncate, and pass Archive.Read in eventstore.Options.
package archive
