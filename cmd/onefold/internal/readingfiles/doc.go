// Package readingfiles reads files of readings: CSV with any columns, JSON lines, InfluxDB's line protocol. It belongs to
// the command line.
package readingfiles
