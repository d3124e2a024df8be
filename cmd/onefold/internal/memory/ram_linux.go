package memory

import (
	"math"

	"golang.org/x/sys/unix"
)

// ram returns the memory of the machine in bytes, or math.MaxInt64 if unknown. It does not read
// /proc/meminfo, which a service sandboxed by systemd may not see.
func ram() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return math.MaxInt64
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit)) //nolint:unconvert // of other sizes on other processors
}
