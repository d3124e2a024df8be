package memory

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// defaultTotal is the budget if the amount of memory is unknown.
const defaultTotal = 1 << 30

// machine returns the budget of this process. all is the memory of the machine, or math.MaxInt64 if
// unknown. root is the root of the file system.
func machine(root fs.FS, all int64) (total int64, source string) {
	if most := readCgroup(root); most < all {
		return most / 10 * 9, "the cgroup"
	}
	if all == math.MaxInt64 {
		return defaultTotal, "nothing that is known"
	}
	return all / 10 * 6, "the machine"
}

// readCgroup returns the smallest memory limit of the process's cgroups, version 2 or 1;
// math.MaxInt64 if there is none. In a container, the cgroup path may be that of the host; then the
// root of the mounted hierarchy is the container's own.
func readCgroup(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return math.MaxInt64
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(strings.TrimSpace(string(text))) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		mount, file := "", ""
		switch {
		case parts[1] == "":
			mount, file = "sys/fs/cgroup", "memory.max"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			least = min(least, readLimit(root, path.Join(mount, dir, file)))
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// readLimit reads a limit file, which may contain "max".
func readLimit(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64
	}
	return n
}
