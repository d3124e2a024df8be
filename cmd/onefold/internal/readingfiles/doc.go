// Package readingfiles reads files of readings: CSV with any columns, JSON lines and InfluxDB line
// protocol.
package readingfiles
