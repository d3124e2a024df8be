// Package archive keeps events in files: JSON lines, from which they are read again, and Parquet, for whoever analyses
// them. With an archive, the table needs only the events after an aggregate's snapshot: Truncate deletes the others once
// snapshot and archive are verified, and a store that has the archive reads on in it as if they were still in the table.
//
// The way in: Open a directory, Archive.Write, Truncate, and Archive.Read in eventstore.Options. Commands use it; it imports
// the event store.
package archive
