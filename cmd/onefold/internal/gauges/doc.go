// Package gauges reports to Prometheus what the parts of a process measure themselves: the embedded engine, its disk, and the
// MQTT listener. Everything is read when Prometheus asks. It belongs to the command line.
package gauges
