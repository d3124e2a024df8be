package memory

import (
	"math"

	"golang.org/x/sys/unix"
)

// ram is the memory of the machine, in bytes; math.MaxInt64 if it is not told. A process that is shut in by systemd may not see /proc/meminfo.
func ram() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return math.MaxInt64
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit)) //nolint:unconvert // of other sizes on other processors
}
