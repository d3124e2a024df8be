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
	RawDays   int `dynamodbav:"raw,omitempty" json:"rawDays,omitempty"`     // events; default as days
	HourDays  int `dynamodbav:"hour,omitempty" json:"hourDays,omitempty"`   // hour buckets, sessions; default 90
	DayDays   int `dynamodbav:"day,omitempty" json:"dayDays,omitempty"`     // day buckets; default 730
	MonthDays int `dynamodbav:"month,omitempty" json:"monthDays,omitempty"` // month buckets; default forever
}

// Default lifetimes and limits, in days.
const (
	defaultHourDays = 90
	defaultDayDays  = 730

	minRawDays   = 2      // a day is rolled up after it ends, then verified
	lateDays     = 30     // see Late
	maxDays      = 36_500 // a hundred years; use "forever" for more
	rollUpMargin = 2      // maximum delay of a roll-up
	longestMonth = 31
)

// Raw returns the lifetime of events.
func (r Retention) Raw() time.Duration { return inDays(r.rawDays()) }

func (r Retention) rawDays() int { return orDefault(r.RawDays, orDefault(r.DayDays, defaultDayDays)) }

// Late returns how long after their time events are accepted that are not imported, and how long after
// its first event a day can be recounted: 30 days, or the lifetime of events if that is shorter. Then
// the day is sealed: its events remain for filters, but its statistics are final. So the items that
// only the folds need, such as a visitor's day, need not be kept as long as events.
func (r Retention) Late() time.Duration { return inDays(r.lateDays()) }

func (r Retention) lateDays() int { return min(lateDays, r.rawDays()) }

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

// Check reports a retention that would lose data. Events are accepted until they are Late old and
// change their hour, from which the day is recomputed, from which the month is. So hours must
// outlive that by the delay of a roll-up, and days by another month. Raw events are not kept longer
// than the statistics of their day, which say whether all of them are there. The error wraps
// ErrRetention and names the tier and its limits.
func (r Retention) Check() error {
	raw, late, hour, day := r.rawDays(), r.lateDays(), orDefault(r.HourDays, defaultHourDays), orDefault(r.DayDays, defaultDayDays)
	leastHour, leastDay := late+rollUpMargin, late+longestMonth+rollUpMargin
	switch {
	case raw < minRawDays || raw > maxDays:
		return fmt.Errorf("%w: raw events for %d days: use %d to %d", ErrRetention, raw, minRawDays, maxDays)
	case hour < leastHour || hour > maxDays:
		return fmt.Errorf("%w: hours for %d days: events are accepted for %d days, so use %d to %d, or hours expire before a late event is rolled up",
			ErrRetention, hour, late, leastHour, maxDays)
	case day < max(leastDay, hour) || day > maxDays:
		return fmt.Errorf("%w: days for %d days: events are accepted for %d days and hours are kept for %d, so use %d to %d, or days expire before their month is rolled up",
			ErrRetention, day, late, hour, max(leastDay, hour), maxDays)
	case raw > day:
		return fmt.Errorf("%w: raw events for %d days: days are kept for %d, so use %d to %d, or keep days longer", ErrRetention, raw, day, minRawDays, day)
	case r.MonthDays != 0 && (r.MonthDays < day || r.MonthDays > maxDays):
		return fmt.Errorf("%w: months for %d days: with days for %d use %d to %d, or 0 to keep them forever", ErrRetention, r.MonthDays, day, day, maxDays)
	}
	return nil
}

// Tiers returns the tiers for the schema's check and documents. Check is stricter.
func (r Retention) Tiers() table.Tiers {
	return table.Tiers{Tiers: []table.Tier{
		{Name: "late events", Keep: r.Late()},
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
