package readingfiles

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Clock parses times in the format of a file.
type Clock struct {
	layouts []string
	unit    time.Duration // unit of integers; 0: chosen by their size
	numbers bool
	zone    *time.Location
	last    int // index of the last layout that matched
}

var units = map[string]time.Duration{"unix": time.Second, "unix-ms": time.Millisecond, "unix-us": time.Microsecond, "unix-ns": time.Nanosecond}

// layouts are the layouts to try. Fractions of a second are always accepted.
var layouts = []string{
	time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04",
	"2006-01-02 15:04", "2006-01-02", "2006/01/02 15:04:05", "2006/01/02 15:04",
}

// timeFormats describes the formats for messages.
const timeFormats = "unix, unix-ms, unix-us, unix-ns, or a layout that shows how to write 2006-01-02 15:04:05, such as \"02.01.2006 15:04:05\""

// NewClock returns a parser for a format. The formats unix, unix-ms, unix-us and unix-ns are
// integers since 1970. A layout shows how to write January 2, 2006, 15:04:05. The format "" accepts
// the common layouts, year first, and integers in a unit chosen by their size. A nil zone means
// UTC.
func NewClock(format string, zone *time.Location) (*Clock, error) {
	if zone == nil {
		zone = time.UTC
	}
	c := &Clock{zone: zone}
	switch unit, known := units[format]; {
	case format == "":
		c.layouts, c.numbers = layouts, true
	case known:
		c.unit, c.numbers = unit, true
	case !strings.Contains(format, "06"):
		return nil, fmt.Errorf("invalid: %.60q is not a time format: use %s", format, timeFormats)
	default:
		c.layouts = []string{format}
	}
	return c, nil
}

// Read parses a time.
func (c *Clock) Read(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if c.numbers {
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return c.number(text, n)
		}
	}
	for i := range c.layouts {
		n := (c.last + i) % len(c.layouts)
		if at, err := time.ParseInLocation(c.layouts[n], text, c.zone); err == nil {
			c.last = n
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("cannot parse time %.40q; give its format with --time-format", text)
}

// The smallest integers of each unit. The year 2001 in milliseconds is larger than any plausible
// time in seconds.
const (
	leastMS = 1e11
	leastUS = 1e14
	leastNS = 1e17
	mostNS  = 9.2e18
)

func (c *Clock) number(text string, n float64) (time.Time, error) {
	unit := c.unit
	if unit == 0 {
		switch {
		case n >= leastNS:
			unit = time.Nanosecond
		case n >= leastUS:
			unit = time.Microsecond
		case n >= leastMS:
			unit = time.Millisecond
		default:
			unit = time.Second
		}
	}
	if !(n >= 0 && n*float64(unit) < mostNS) {
		return time.Time{}, fmt.Errorf("%.40q is not a time since 1970", text)
	}
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(0, whole*int64(unit)).UTC(), nil
	}
	return time.UnixMicro(int64(n * float64(unit/time.Nanosecond) / 1e3)).UTC(), nil // fractional seconds, rounded to microseconds
}
