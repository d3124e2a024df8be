// Package telemetrybench measures telemetry as deployed: a server in its own process, driven over
// HTTP and MQTT from this one. `onefold-bench telemetry` prints the results.
package telemetrybench
