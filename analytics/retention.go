package analytics

import (
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
)

// ErrRetention is returned when a site's retention would lose data: when a tier would expire before
// the next tier is rolled up from it, or while late events may still change it.
var ErrRetention = errors.New("analytics: retention")

// Retention is how long each tier is kept after its facts arrived, in days. Zero means the default.
type Retention struct {
	RawDays   int `dynamodbav:"raw,omitempty" json:"rawDays,omitempty"`     // events, visitors' days; default 30
	HourDays  int `dynamodbav:"hour,omitempty" json:"hourDays,omitempty"`   // hour buckets, sessions; default 90
	DayDays   int `dynamodbav:"day,omitempty" json:"dayDays,omitempty"`     // day buckets; default 730
	MonthDays int `dynamodbav:"month,omitempty" json:"monthDays,omitempty"` // month buckets; default forever
}

// Default lifetimes and limits, in days.
const (
	defaultRawDays  = 30
	defaultHourDays = 90
	defaultDayDays  = 730

	minRawDays   = 2      // a day is rolled up after it ends, then verified
	maxDays      = 36_500 // a hundred years; use "forever" for more
	rollUpMargin = 2      // maximum delay of a roll-up
	longestMonth = 31
)

// Raw returns the lifetime of events and visitors' days.
func (r Retention) Raw() time.Duration { return inDays(orDefault(r.RawDays, defaultRawDays)) }

// Of returns the lifetime of a period's buckets; 0 means forever.
func (r Retention) Of(p Period) time.Duration {
	switch p {
	case Hour:
		return inDays(orDefault(r.HourDays, defaultHourDays))
	case Day:
		return inDays(orDefault(r.DayDays, defaultDayDays))
	default:
		return inDays(r.MonthDays)
	}
}

// Check reports a retention that would lose data. Events are accepted until they are Raw old and
// change their hour, from which the day is recomputed, from which the month is. So hours must
// outlive raw events by the delay of a roll-up, and days by another month. The error wraps
// ErrRetention and names the tier and its limits.
func (r Retention) Check() error {
	raw, hour, day := orDefault(r.RawDays, defaultRawDays), orDefault(r.HourDays, defaultHourDays), orDefault(r.DayDays, defaultDayDays)
	leastHour, leastDay := raw+rollUpMargin, raw+longestMonth+rollUpMargin
	switch {
	case raw < minRawDays || raw > maxDays:
		return fmt.Errorf("%w: raw events for %d days: use %d to %d", ErrRetention, raw, minRawDays, maxDays)
	case hour < leastHour || hour > maxDays:
		return fmt.Errorf("%w: hours for %d days: with raw events for %d days use %d to %d, so that hours do not expire before a late event is rolled up",
			ErrRetention, hour, raw, leastHour, maxDays)
	case day < max(leastDay, hour) || day > maxDays:
		return fmt.Errorf("%w: days for %d days: with raw events for %d days and hours for %d use %d to %d, so that days do not expire before their month is rolled up",
			ErrRetention, day, raw, hour, max(leastDay, hour), maxDays)
	case r.MonthDays != 0 && (r.MonthDays < day || r.MonthDays > maxDays):
		return fmt.Errorf("%w: months for %d days: with days for %d use %d to %d, or 0 to keep them forever", ErrRetention, r.MonthDays, day, day, maxDays)
	}
	return nil
}

// Tiers returns the tiers for the schema's check and documents. Check is stricter.
func (r Retention) Tiers() table.Tiers {
	return table.Tiers{Tiers: []table.Tier{
		{Name: "raw", Keep: r.Raw()},
		{Name: string(Hour), Bucket: time.Hour, Keep: r.Of(Hour)},
		{Name: string(Day), Bucket: inDays(1), Keep: r.Of(Day)},
		{Name: string(Month), Bucket: inDays(longestMonth), Keep: r.Of(Month)},
	}}
}

func orDefault(n, d int) int {
	if n == 0 {
		return d
	}
	return n
}

// wholeHour rounds up to a whole hour. Items expire at whole hours so that a rewritten item keeps
// its expiry row, and rows of one time are adjacent. This saves 5 % of an event's bytes on disk.
func wholeHour(t time.Time) time.Time { return t.Add(time.Hour - 1).Truncate(time.Hour) }

func inDays(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }
