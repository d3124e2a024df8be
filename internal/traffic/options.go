package traffic

import (
	"errors"
	"fmt"
	"time"
)

// ErrInvalidOptions is returned for options that are out of range.
var ErrInvalidOptions = errors.New("traffic: invalid options")

// Options configure the traffic. The zero value is a small company's site for 30 days.
type Options struct {
	// Kind is Company by default.
	Kind Kind
	// Engagement adds an event when a visitor leaves a page, with the time in the foreground and
	// the scroll depth. These events do not count towards EventsPerVisit, and are not in logs.
	Engagement bool
	// Seed chooses one of all possible traffics.
	Seed uint64
	// Start is the time of the beginning, to the second. By default 2026-01-01 UTC, so that it does
	// not depend on the clock.
	Start time.Time
	// Days is the number of days: 30 by default, at most 3,660.
	Days int
	// VisitsPerDay is the mean number of people's visits per day, over a week: 1,000 by default, at
	// most 10 million.
	VisitsPerDay int
	// EventsPerVisit is the mean number of events per visit, page views and custom events together,
	// with a geometric distribution: 3 by default, 1 to 50. A visit has 1 to 200 events.
	EventsPerVisit float64
	// Pages is the number of different pages: 200 by default, at most 100,000.
	Pages int
	// Site is the host name: "example.com" by default.
	Site string
	// BotShare is the share of the log's lines that are bots': 0.04 by default, at most 0.9;
	// negative means none. Bots do not run scripts, so they are in logs only.
	BotShare float64
	// AssetShare is the share of the log's lines for images, styles and scripts: 0.05 by default,
	// as behind a content delivery network; at most 0.9, negative means none.
	AssetShare float64
}

func (o Options) withDefaults() Options {
	if o.Start.IsZero() {
		o.Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	o.Start = o.Start.UTC().Truncate(time.Second)
	o.Days = orDefault(o.Days, 30)
	o.VisitsPerDay = orDefault(o.VisitsPerDay, 1000)
	o.EventsPerVisit = orDefault(o.EventsPerVisit, 3)
	o.Pages = orDefault(o.Pages, 200)
	o.Site = orDefault(o.Site, "example.com")
	o.BotShare = max(orDefault(o.BotShare, 0.04), 0)
	o.AssetShare = max(orDefault(o.AssetShare, 0.05), 0)
	return o
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func (o Options) validate() error {
	switch {
	case o.Days < 1 || o.Days > 3660:
		return fmt.Errorf("%w: %d days; use 1 to 3,660", ErrInvalidOptions, o.Days)
	case o.VisitsPerDay < 1 || o.VisitsPerDay > 10_000_000:
		return fmt.Errorf("%w: %d visits per day; use 1 to 10 million", ErrInvalidOptions, o.VisitsPerDay)
	case !(o.EventsPerVisit >= 1 && o.EventsPerVisit <= 50):
		return fmt.Errorf("%w: %g events per visit; use 1 to 50", ErrInvalidOptions, o.EventsPerVisit)
	case o.Pages < 2 || o.Pages > 100_000:
		return fmt.Errorf("%w: %d pages; use 2 to 100,000", ErrInvalidOptions, o.Pages)
	case !(o.BotShare <= 0.9) || !(o.AssetShare <= 0.9) || o.BotShare+o.AssetShare > 0.9:
		return fmt.Errorf("%w: shares of %g for bots and %g for assets; leave at least a tenth for page views of people",
			ErrInvalidOptions, o.BotShare, o.AssetShare)
	}
	return nil
}
