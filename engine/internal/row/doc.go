// Package row is the values of the engine's rows: items with their sizes, and stream records. It exists so that those
// bytes, which docs/format/engine.md draws, are in one place; only the engine uses it.
package row
