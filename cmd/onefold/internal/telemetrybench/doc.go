// Package telemetrybench measures telemetry as devices and people use it: a server in a process of its own, driven over
// HTTP and MQTT from this one. It exists for `onefold bench telemetry`, which prints its figures.
package telemetrybench
