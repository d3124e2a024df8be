package analytics

import (
	"time"

	"github.com/onefold/onefold/internal/decimal"
)

// Add adds the counts of a finer bucket, for a roll-up.
func (s *Stats) Add(part *Stats) {
	s.PageViews += part.PageViews
	s.Events += part.Events
	s.NewVisitors += part.NewVisitors
	s.Visits += part.Visits
	s.Bounces += part.Bounces
	s.Seconds += part.Seconds
	s.Revenue = decimal.Add(s.Revenue, part.Revenue)
	s.Conversions += part.Conversions
	s.EngagedMS += part.EngagedMS
	s.Arrivals.Merge(part.Arrivals)
}

// Same compares the counts that can be summed over buckets.
func (s *Stats) Same(o *Stats) bool {
	return s.PageViews == o.PageViews && s.Events == o.Events && s.NewVisitors == o.NewVisitors && s.Visits == o.Visits &&
		s.Bounces == o.Bounces && s.Seconds == o.Seconds && s.Revenue == o.Revenue &&
		s.Conversions == o.Conversions && s.EngagedMS == o.EngagedMS
}

// Sealed reports whether some of the finer buckets behind a rolled-up bucket may have expired. The
// bucket is then final: recomputing it would lose their counts.
func (s *Stats) Sealed(site *Site, now time.Time) bool {
	at := s.sealedAt(site)
	return !at.IsZero() && !now.Before(at)
}

// sealedAt returns when the first source of a day or month expires; zero: never. Sources live from
// their own end or the arrival of their last fact, so the first arrival is a lower bound.
func (s *Stats) sealedAt(site *Site) time.Time {
	if s.Since == 0 {
		return time.Time{}
	}
	since := time.Unix(s.Since, 0)
	if s.Period == Month {
		return site.firstExpiry(since, monthOpen, func(r Retention) time.Duration { return r.Of(Day) })
	}
	return site.firstExpiry(since, dayOpen, func(r Retention) time.Duration { return r.Of(Hour) })
}
