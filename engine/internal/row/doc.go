// Package row encodes the keys and values of the engine's rows: items with their sizes, stream
// records and others, as specified in docs/format/engine.md.
package row
