// Package warehouse keeps raw facts for ever, in files that every tool for analysis reads: Parquet, sorted by time, in
// folders by site, fleet or type, and by day, on a disk or in an object store.
//
// Which files count is said by a log of commits alone. A commit is one object that is put if it is absent: what files it
// adds, what files it removes, and how far the change stream is read after it. So the rows and the progress are one
// atomic step, and whoever loses a race begins anew from what the winner has written.
//
// The way in: OpenDir, or another Objects; Open; Warehouse.Files and Warehouse.Events to read. Package export writes.
// docs/format/warehouse.md specifies what is stored. Commands and servers use it; it imports the products, and no client.
package warehouse
