package memory

import (
	"fmt"
	"strconv"
	"strings"
)

// Size is a number of bytes in a readable form: 512MB, 2GB, 1.5GiB, 800000000.
type Size int64

// units are powers of 1024, as is usual for memory.
var units = []struct {
	suffix string
	bytes  float64
}{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1}, {"", 1}}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(text []byte) error {
	upper := strings.ReplaceAll(strings.ToUpper(strings.TrimSpace(string(text))), "IB", "B")
	for _, unit := range units {
		digits, ok := strings.CutSuffix(upper, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || !(n >= 0 && n*unit.bytes < 1<<62) {
			break
		}
		*s = Size(n * unit.bytes)
		return nil
	}
	return fmt.Errorf("bad_size: cannot parse size %.32q: write it like 512MB or 2GB", text)
}
