// Package inspect reads all rows of a store: it checks their consistency, measures them, and
// explains their bytes. It is independent of the code that writes the rows, so that it can verify
// that code, and can be tested without a disk.
package inspect
