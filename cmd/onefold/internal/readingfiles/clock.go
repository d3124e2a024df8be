package readingfiles

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Clock reads times as files write them.
type Clock struct {
	layouts []string
	unit    time.Duration // of whole numbers; 0: by their length
	numbers bool
	zone    *time.Location
	last    int // the layout that fitted last
}

var units = map[string]time.Duration{"unix": time.Second, "unix-ms": time.Millisecond, "unix-us": time.Microsecond, "unix-ns": time.Nanosecond}

// layouts are those that are tried, the fractions of a second being free.
var layouts = []string{
	time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04",
	"2006-01-02 15:04", "2006-01-02", "2006/01/02 15:04:05", "2006/01/02 15:04",
}

// Formats of times, for people.
const timeFormats = "unix, unix-ms, unix-us, unix-ns, or a layout that shows how to write 2006-01-02 15:04:05, such as \"02.01.2006 15:04:05\""

// NewClock reads times of a format: unix, unix-ms, unix-us and unix-ns are whole numbers since 1970; a layout is how the
// second of January 2006, 15:04:05, would be written. "" is any of the usual ones, years first, and numbers by their
// length. A nil zone is UTC.
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

// Read reads a time.
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

// The least numbers of each unit: the year 2001 in milliseconds is more than the year 9999 in seconds would be of use.
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
	return time.UnixMicro(int64(n * float64(unit/time.Nanosecond) / 1e3)).UTC(), nil // seconds with a fraction, to the microsecond
}
