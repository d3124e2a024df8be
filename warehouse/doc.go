// Package warehouse keeps raw facts forever, in files that every analysis tool can read: Parquet
// files, sorted by time, in folders by site, fleet or type, and by day. They are kept on a disk or
// in an object store.
//
// Only a log of commits decides which files count. A commit is one object that is written only if
// it is absent. It names the files to add, the files to remove, and how far the change stream has
// been read. So rows and progress change in one atomic step, and a writer that loses a race starts
// again from what the winner has written.
//
// Start with OpenDir or another implementation of Objects, then call Open. Read with
// Warehouse.Files and Warehouse.Events. Package export writes. docs/format/warehouse.md specifies
// the stored format. Commands and servers use this package; it imports the products, but no client.
package warehouse
