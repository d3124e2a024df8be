// Package logfile reads a store's write-ahead logs and manifests, also past damage, where Pebble's own reader takes the rest for
// a write that was cut off. See Pebble's package record for the format of both.
package logfile
