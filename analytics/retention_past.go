package analytics

import (
	"slices"
	"time"
)

// PastRetention is a retention that a site had. What was stored under it keeps its expiry when the
// retention changes.
type PastRetention struct {
	Retention Retention `dynamodbav:"retention"`
	Changed   int64     `dynamodbav:"changed"` // epoch seconds when the next one was set
}

const (
	maxPastRetentions = 50 // of a site; the oldest are merged

	// retentionNotice is how long after a change items may still be stored with the old retention.
	retentionNotice = SettingsNotice + time.Minute

	// How long after the first fact of a day, and of a month, the last item is stored that was
	// derived from them: late events, then the roll-up.
	dayOpen   = (lateDays + 1 + rollUpMargin) * 24 * time.Hour
	monthOpen = dayOpen + longestMonth*24*time.Hour
)

// keepRetention adds the retention that a site had before a change to those it had earlier.
func (s *Site) keepRetention(was *Site, now time.Time) {
	s.PastRetentions = was.PastRetentions
	if s.Retention.filled() == was.Retention.filled() {
		return
	}
	s.PastRetentions = append(slices.Clone(was.PastRetentions), PastRetention{was.Retention, now.Unix()})
	if n := len(s.PastRetentions) - maxPastRetentions; n > 0 {
		for _, p := range s.PastRetentions[:n] {
			s.PastRetentions[n].Retention = s.PastRetentions[n].Retention.shorter(p.Retention)
		}
		s.PastRetentions = s.PastRetentions[n:]
	}
}

// SealedAt returns when a day is sealed whose first event arrived at the given time: when Late has
// passed, or when the first of its events may expire.
func (s *Site) SealedAt(since time.Time) time.Time {
	return earlier(since.Add(s.Retention.Late()), s.firstExpiry(since, dayOpen, Retention.Late))
}

// RawUntil returns when the first event of a day may expire, if the day's first event arrived at the
// given time.
func (s *Site) RawUntil(since time.Time) time.Time {
	return s.firstExpiry(since, dayOpen, Retention.Raw)
}

// DayUntil returns when the statistics of a day expire that begins at the given time.
func (s *Site) DayUntil(start time.Time) time.Time {
	return s.firstExpiry(start, dayOpen, func(r Retention) time.Duration { return r.Of(Day) })
}

// ShortestRaw returns a time for which all events are kept, whenever they arrived.
func (s *Site) ShortestRaw() time.Duration {
	shortest := s.Retention.Raw()
	for _, p := range s.PastRetentions {
		shortest = min(shortest, p.Retention.Raw())
	}
	return shortest
}

// firstExpiry returns when the first of the items may expire that were stored from the given time on
// and for as long as they were open, by the retentions that the site had then.
func (s *Site) firstExpiry(since time.Time, open time.Duration, life func(Retention) time.Duration) time.Time {
	var first, start time.Time
	stored := func(r Retention) {
		at := since
		if start.After(at) {
			at = start
		}
		if end := at.Add(life(r)); first.IsZero() || end.Before(first) {
			first = end
		}
	}
	for _, p := range s.PastRetentions {
		changed := time.Unix(p.Changed, 0)
		if since.Before(changed.Add(retentionNotice)) {
			stored(p.Retention)
		}
		if start = changed; start.After(since.Add(open)) {
			return first
		}
	}
	stored(s.Retention)
	return first
}

// filled returns the retention with its defaults.
func (r Retention) filled() Retention {
	return Retention{RawDays: r.rawDays(), HourDays: orDefault(r.HourDays, defaultHourDays), DayDays: orDefault(r.DayDays, defaultDayDays), MonthDays: r.MonthDays}
}

// shorter returns the shorter lifetime of each tier.
func (r Retention) shorter(o Retention) Retention {
	a, b := r.filled(), o.filled()
	forever := func(days int) int { return orDefault(days, maxDays+1) }
	short := Retention{
		RawDays: min(a.RawDays, b.RawDays), HourDays: min(a.HourDays, b.HourDays), DayDays: min(a.DayDays, b.DayDays),
		MonthDays: min(forever(a.MonthDays), forever(b.MonthDays)),
	}
	if short.MonthDays > maxDays {
		short.MonthDays = 0
	}
	return short
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
