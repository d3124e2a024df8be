package exports

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
)

// metric is the meaning of a column.
type metric int

const (
	noMetric metric = iota
	visitors
	activeVisitors // used if there are no visitors
	visits
	pageViews
	bounces
	seconds // total duration of visits
	events
	engagedSeconds // total engaged time
	scrollSum      // sum of scroll depths, percent
	scrolls        // number of depths in scrollSum
	revenue
	engagedVisits   // visits that did not bounce
	bounceRate      // bounces / visits
	engagementRate  // 1 - bounceRate
	secondsPerVisit // average duration
	metrics         // number of metrics
)

// numbers are the counts of a row.
type numbers struct {
	visitors, visits, pageViews, bounces, seconds, events, engagedMS, scrolls, scroll int64
	revenue                                                                           string
}

// maxCount is the maximum of a number in a row: a thousand times the daily counts of the largest
// sites, and small enough that the sums of all rows do not overflow.
const maxCount = 1e12

var errNumber = errors.New("not a count")

// measures holds the numbers of a row as read.
type measures struct {
	value [metrics]float64
	has   [metrics]bool
	money string
}

// read parses one cell. Empty cells are skipped.
func (m *measures) read(what metric, text string) (err error) {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	if what == revenue {
		m.money, err = amount(text)
		return err
	}
	var v float64
	switch what {
	case bounceRate, engagementRate:
		v, err = rate(text)
	case secondsPerVisit:
		v, err = duration(text)
	default:
		v, err = count(text)
	}
	m.value[what], m.has[what] = v, true
	return err
}

// numbers derives the counts from the columns. Products, such as rate times visits, are rounded.
func (m *measures) numbers() (numbers, error) {
	whole := func(what metric) int64 { return int64(math.Round(m.value[what])) }
	n := numbers{
		visitors: whole(visitors), visits: whole(visits), pageViews: whole(pageViews), bounces: whole(bounces), seconds: whole(seconds),
		events: whole(events), scrolls: whole(scrolls), scroll: whole(scrollSum), engagedMS: int64(math.Round(m.value[engagedSeconds] * 1000)), revenue: m.money,
	}
	if !m.has[visitors] {
		n.visitors = whole(activeVisitors)
	}
	if !m.has[bounces] {
		switch {
		case m.has[engagedVisits]:
			n.bounces = max(0, n.visits-whole(engagedVisits)) // Google sometimes counts more engaged visits than visits
		case m.has[bounceRate]:
			n.bounces = int64(math.Round(m.value[visits] * m.value[bounceRate]))
		case m.has[engagementRate]:
			n.bounces = n.visits - int64(math.Round(m.value[visits]*m.value[engagementRate]))
		}
	}
	if !m.has[seconds] && m.has[secondsPerVisit] {
		total := m.value[visits] * m.value[secondsPerVisit]
		if total > maxCount {
			return n, fmt.Errorf("%w: total duration of visits is %g seconds", errNumber, total)
		}
		n.seconds = int64(math.Round(total))
	}
	return n, nil
}

// count parses a count: digits, optionally with commas between thousands and with a fraction, which
// is rounded later.
func count(text string) (float64, error) {
	v, err := strconv.ParseFloat(ungroup(text), 64)
	if err != nil || strings.ContainsAny(text, "xX_pP") || !(v >= 0 && v <= maxCount) { // false for NaN, too
		return 0, fmt.Errorf("%w: %q: want 0 to %.0f", errNumber, clip(text, shown), maxCount)
	}
	return v, nil
}

// ungroup removes the commas between thousands if they are in the right places.
func ungroup(text string) string {
	parts := strings.Split(text, ",")
	for _, p := range parts[1:] {
		if whole, _, _ := strings.Cut(p, "."); len(whole) != 3 {
			return text
		}
	}
	return strings.Join(parts, "")
}

// rate parses a share, such as 0.45 or 45%.
func rate(text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%w: %q: want a ratio of 0 to 1, or 0%% to 100%%", errNumber, clip(text, shown))
	}
	return v, nil
}

// duration parses seconds, or hours, minutes and seconds separated by colons.
func duration(text string) (float64, error) {
	if !strings.Contains(text, ":") {
		return count(text)
	}
	var total float64
	for _, part := range strings.Split(text, ":") {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil || !(v >= 0 && v < 1000) {
			return 0, fmt.Errorf("%w: %q: want seconds or h:mm:ss", errNumber, clip(text, shown))
		}
		total = total*60 + v
	}
	if total > maxCount {
		return 0, fmt.Errorf("%w: %q", errNumber, clip(text, shown))
	}
	return total, nil
}

// amount parses an amount of money, without its currency symbol.
func amount(text string) (string, error) {
	a, err := decimal.Parse(ungroup(strings.TrimLeft(text, "$€£ ")))
	if err != nil || strings.HasPrefix(a, "-") {
		return "", fmt.Errorf("%w: %q: want an amount", errNumber, clip(text, shown))
	}
	return a, nil
}

// earliest is the first valid day: web analytics did not exist before.
const earliest = "1993-01-01"

var dayLayouts = [...]string{calendar.DayLayout, "20060102", "Jan 2, 2006", "2006/01/02"}

// day parses a date in the layouts that exports use.
func day(text string) (string, error) {
	text = strings.TrimSpace(text)
	if len(text) == len(calendar.DayLayout) && text[4] == '-' || len(text) <= len("Jan 02, 2006") {
		for _, layout := range dayLayouts {
			if d, err := time.Parse(layout, text); err == nil && d.Format(calendar.DayLayout) >= earliest && d.Year() <= 9998 {
				return d.Format(calendar.DayLayout), nil
			}
		}
	}
	return "", fmt.Errorf("not a date on or after %s: %q: want 2026-05-12 or 20260512", earliest, clip(text, shown))
}

// nthDay returns the day that is the given number of days after first.
func nthDay(first, text string) (string, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > 40_000 {
		return "", fmt.Errorf("not a number of days: %q", clip(text, shown))
	}
	return calendar.ShiftDay(first, n), nil
}
