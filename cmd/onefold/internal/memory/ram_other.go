//go:build !linux

package memory

import "math"

// ram returns math.MaxInt64: the memory of the machine is unknown.
func ram() int64 { return math.MaxInt64 }
