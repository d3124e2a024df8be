// Package logfile reads a store's write-ahead logs and manifests, and continues past damage, where
// Pebble's own reader treats the rest as an interrupted write. Both formats are described in
// Pebble's package record.
package logfile
