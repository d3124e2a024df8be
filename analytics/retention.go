package analytics

import (
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
)

// ErrRetention is returned when a site's retention would lose data: a tier that expires before the tier above it is
// rolled up, or while late events may still change it.
var ErrRetention = errors.New("analytics: retention")

// Retention is how long each tier is kept after its facts arrived, in days. Zero is the default of the tier.
type Retention struct {
	RawDays   int `dynamodbav:"raw,omitempty" json:"rawDays,omitempty"`     // events, visitors' days; default 30
	HourDays  int `dynamodbav:"hour,omitempty" json:"hourDays,omitempty"`   // hour buckets, sessions; default 90
	DayDays   int `dynamodbav:"day,omitempty" json:"dayDays,omitempty"`     // day buckets; default 730
	MonthDays int `dynamodbav:"month,omitempty" json:"monthDays,omitempty"` // month buckets; default for ever
}

// The default lifetimes, in days, and the bounds of what may be configured.
const (
	defaultRawDays  = 30
	defaultHourDays = 90
	defaultDayDays  = 730

	minRawDays   = 2      // a day is rolled up after it ends, and verified after that
	maxDays      = 36_500 // a hundred years: more is "for ever"
	rollUpMargin = 2      // days that a roll-up may be late
	longestMonth = 31
)

// Raw is the lifetime of events and visitors' days.
func (r Retention) Raw() time.Duration { return inDays(orDefault(r.RawDays, defaultRawDays)) }

// Of is the lifetime of a period's buckets; 0 means for ever.
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

// Check refuses a retention that would lose data. Events are accepted until they are Raw old, and such an event
// changes its hour, from which its day is recomputed, from which its month is: so hours must outlive that by the time a
// roll-up takes, and days by a month more. The error wraps ErrRetention and says which tier must be kept how long.
func (r Retention) Check() error {
	raw, hour, day := orDefault(r.RawDays, defaultRawDays), orDefault(r.HourDays, defaultHourDays), orDefault(r.DayDays, defaultDayDays)
	leastHour, leastDay := raw+rollUpMargin, raw+longestMonth+rollUpMargin
	switch {
	case raw < minRawDays || raw > maxDays:
		return fmt.Errorf("%w: raw facts are kept for %d days; choose %d to %d", ErrRetention, raw, minRawDays, maxDays)
	case hour < leastHour || hour > maxDays:
		return fmt.Errorf("%w: hours are kept for %d days; with raw facts of %d days choose %d to %d, or a late event would be rolled up from hours that are gone",
			ErrRetention, hour, raw, leastHour, maxDays)
	case day < max(leastDay, hour) || day > maxDays:
		return fmt.Errorf("%w: days are kept for %d days; with raw facts of %d days and hours of %d choose %d to %d, or a month would be rolled up from days that are gone",
			ErrRetention, day, raw, hour, max(leastDay, hour), maxDays)
	case r.MonthDays != 0 && (r.MonthDays < day || r.MonthDays > maxDays):
		return fmt.Errorf("%w: months are kept for %d days; with days of %d choose %d to %d, or 0 for ever", ErrRetention, r.MonthDays, day, day, maxDays)
	}
	return nil
}

// Tiers are the tiers as the schema's check and its documents know them. Check asks for more.
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

// wholeHour is the end of the hour that a time is in. Items expire at whole hours: an item that is written again keeps
// its expiry row, and rows of one time are next to each other, which saves a twentieth of an event's bytes on disk.
func wholeHour(t time.Time) time.Time { return t.Add(time.Hour - 1).Truncate(time.Hour) }

func inDays(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }
