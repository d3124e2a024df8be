package terminal

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration is time.ParseDuration with weeks, and days of 24 hours: 60d, 2w, 1d12h.
func ParseDuration(text string) (time.Duration, error) {
	rest, sum, long := strings.TrimLeft(text, "+-"), time.Duration(0), false
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		number, after, found := strings.Cut(rest, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 63)
		if err != nil || n > uint64((math.MaxInt64-sum)/unit.length) {
			return 0, badDuration(text)
		}
		long, rest, sum = true, after, sum+time.Duration(n)*unit.length
	}
	if rest != "" || !long {
		more, err := time.ParseDuration(rest)
		if err != nil || more < 0 || rest[0] == '+' || more > math.MaxInt64-sum {
			return 0, badDuration(text)
		}
		sum += more
	}
	switch sign := text[:len(text)-len(strings.TrimLeft(text, "+-"))]; sign {
	case "", "+":
		return sum, nil
	case "-":
		return -sum, nil
	}
	return 0, badDuration(text)
}

func badDuration(text string) error {
	return fmt.Errorf("duration %q: use numbers with units, such as 90s, 15m, 36h, 60d, 2w or 1d12h", text)
}
