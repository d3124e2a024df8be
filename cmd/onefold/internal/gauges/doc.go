// Package gauges exports metrics of the embedded engine, its disk and the MQTT listener to
// Prometheus. Values are read at each scrape.
package gauges
