package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
)

// ErrRetention is returned when a fleet's retention would lose data: when a tier would expire
// before the next tier is made of it, or while late readings may still change it.
var ErrRetention = errors.New("telemetry: retention")

// Retention is how long each tier is kept, in days. Zero means the default.
type Retention struct {
	RawDays  int `dynamodbav:"raw,omitempty" json:"rawDays,omitempty"`   // readings; default 30
	FineDays int `dynamodbav:"fine,omitempty" json:"fineDays,omitempty"` // aggregates of ten minutes; default 90
	HourDays int `dynamodbav:"hour,omitempty" json:"hourDays,omitempty"` // hourly aggregates; default 730
	DayDays  int `dynamodbav:"day,omitempty" json:"dayDays,omitempty"`   // daily aggregates; default forever
}

// Default lifetimes and limits, in days.
const (
	defaultRawDays  = 30
	defaultFineDays = 90
	defaultHourDays = 730

	minRawDays   = 2
	maxDays      = 36_500 // a hundred years; use "forever" for more
	rollUpMargin = 2      // maximum delay of a roll-up
)

// Raw returns the lifetime of readings.
func (r Retention) Raw() time.Duration { return inDays(cmp.Or(r.RawDays, defaultRawDays)) }

// Of returns the lifetime of a period's aggregates; 0 means forever.
func (r Retention) Of(p Period) time.Duration {
	switch p {
	case TenMinutes:
		return inDays(cmp.Or(r.FineDays, defaultFineDays))
	case Hourly:
		return inDays(cmp.Or(r.HourDays, defaultHourDays))
	default:
		return inDays(r.DayDays)
	}
}

// Check reports a retention that would lose data. The error wraps ErrRetention and names the tier.
func (r Retention) Check() error {
	raw, fine, hour := cmp.Or(r.RawDays, defaultRawDays), cmp.Or(r.FineDays, defaultFineDays), cmp.Or(r.HourDays, defaultHourDays)
	least := raw + rollUpMargin
	switch {
	case raw < minRawDays || raw > maxDays:
		return fmt.Errorf("%w: readings for %d days: use %d to %d", ErrRetention, raw, minRawDays, maxDays)
	case fine < least || fine > maxDays:
		return fmt.Errorf("%w: ten-minute aggregates for %d days: with readings for %d days use %d to %d", ErrRetention, fine, raw, least, maxDays)
	case hour < least || hour > maxDays:
		return fmt.Errorf("%w: hourly aggregates for %d days: with readings for %d days use %d to %d, so that hours do not expire before their day is rolled up",
			ErrRetention, hour, raw, least, maxDays)
	case r.DayDays != 0 && (r.DayDays < hour || r.DayDays > maxDays):
		return fmt.Errorf("%w: daily aggregates for %d days: with hours for %d use %d to %d, or 0 to keep them forever", ErrRetention, r.DayDays, hour, hour, maxDays)
	}
	return nil
}

// Tiers returns the tiers for the schema's check and documents. Check is stricter.
func (r Retention) Tiers() table.Tiers {
	return table.Tiers{Tiers: []table.Tier{
		{Name: "raw", Keep: r.Raw()},
		{Name: string(Hourly), Bucket: time.Hour, Keep: r.Of(Hourly)},
		{Name: string(Daily), Bucket: inDays(1), Keep: r.Of(Daily)},
	}}
}

func inDays(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }
