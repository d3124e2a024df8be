// Package backup puts the files of a store at rest into a directory or a tar stream with a manifest of their sizes and
// checksums, and takes them out again only if nothing is missing, changed or added. It exists so that this can be tested
// without a store; only the engine uses it.
package backup
