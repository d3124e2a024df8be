// Package devices is how devices reach telemetry, and people what devices measured.
package devices
