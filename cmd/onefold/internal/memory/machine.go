package memory

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// defaultTotal is the budget where nothing says how much memory there is.
const defaultTotal = 1 << 30

// machine says how much this process may take on its machine. root is the root of the file system.
func machine(root fs.FS) (total int64, source string) {
	all := readMemInfo(root)
	if most := readCgroup(root); most < all {
		return most / 10 * 9, "the cgroup"
	}
	if all == math.MaxInt64 {
		return defaultTotal, "nothing that is known"
	}
	return all / 10 * 6, "the machine"
}

// readMemInfo is the memory of the machine; math.MaxInt64 if it is not told, as outside of Linux.
func readMemInfo(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return math.MaxInt64
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil && n > 0 && n < math.MaxInt64>>10 {
				return n << 10
			}
		}
	}
	return math.MaxInt64
}

// readCgroup is the least limit of the cgroups that the process is in, of version 2 or 1; math.MaxInt64 for none. In a container
// the path that the process sees may be that of the host: then the root of what is mounted is its own.
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

// readLimit reads a limit, which may be "max".
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
