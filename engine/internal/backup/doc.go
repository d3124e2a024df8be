// Package backup writes the files of a store at rest to a directory or a tar stream, together with
// a manifest of their sizes and checksums. It restores them only if nothing is missing, modified or
// added. As a separate package it can be tested without a store.
package backup
