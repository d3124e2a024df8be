// Package devices serves telemetry: devices send readings through it, and people read and manage
// them.
package devices
