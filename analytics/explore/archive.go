package explore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/calendar"
)

// Archive has raw events for longer than the table has them, as the files of a warehouse do. What it has may be behind the
// table by a while. It is safe for concurrent use.
type Archive interface {
	// Holds tells what there is of a site with times in [from, to), without reading it all.
	Holds(ctx context.Context, site string, from, to time.Time) (Held, error)
	// Events yields these events, in the order of time.
	Events(ctx context.Context, site string, from, to time.Time) iter.Seq2[*analytics.Event, error]
}

// Held is what an archive has of a site's time.
type Held struct {
	PageViews int64
	Events    int64  // custom ones, without measurements of pages
	Version   uint64 // another one when something else is held
}

// known is what statistics say of a day.
type known struct {
	since             int64 // epoch seconds when the first of its facts arrived; 0: it has none
	pageViews, events int64
}

// recall finds out which days the archive answers for: those whose raw events have expired, and those of which it is quicker
// to read them there. It does for a day of which it has all that statistics have counted, so what it has not been
// given, or not yet, is not taken for all there was.
func (s *scan) recall(ctx context.Context, of map[string]known) error {
	if s.x.o.Archive == nil {
		return nil
	}
	s.archived = map[string]uint64{}
	var lost []string
	for _, day := range s.lost {
		held, err := s.holds(ctx, day, of[day])
		if err != nil {
			return err
		}
		if held {
			s.days = append(s.days, day)
		} else {
			lost = append(lost, day)
		}
	}
	s.lost = lost
	if err := s.recallLarge(ctx); err != nil {
		return err
	}
	slices.Sort(s.days)
	if len(s.archived) > 0 {
		s.most = s.x.o.ArchiveEvents
		s.left.Store(int64(s.most))
	}
	return nil
}

// recallLarge reads days that have been over for a while and have many events from the archive.
func (s *scan) recallLarge(ctx context.Context) error {
	if len(s.days) == 0 {
		return nil
	}
	settled := calendar.ShiftDay(s.cal.Day(s.x.t.Now()), -1)
	in := analytics.StatsIn{SiteID: s.site.SiteID, Period: analytics.Day, From: slices.Min(s.days), To: settled}
	for b, err := range analytics.StatsByTime.All(ctx, s.x.t, in) {
		if err != nil {
			return err
		}
		if _, is := s.archived[b.Start]; is || b.PageViews+b.Events < int64(s.x.o.LargeDay) || !slices.Contains(s.days, b.Start) {
			continue
		}
		_, err := s.holds(ctx, b.Start, known{pageViews: b.PageViews, events: b.Events})
		if errors.Is(err, ErrArchive) {
			return nil // the table has these days, too
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether the archive has all events of a day, and notes it then.
func (s *scan) holds(ctx context.Context, day string, of known) (bool, error) {
	from, to, err := s.cal.Bounds(day)
	if err != nil {
		return false, err
	}
	held, err := s.x.o.Archive.Holds(ctx, s.site.SiteID, from, to)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	if held.PageViews+held.Events == 0 || held.PageViews < of.pageViews || held.Events < of.events {
		return false, nil
	}
	s.archived[day] = held.Version
	return true, nil
}

// source says what the answer is made of.
func (s *scan) source() Source {
	if len(s.archived) > 0 {
		return FromArchive
	}
	return FromRaw
}

// outlived reports whether a range begins before the sessions that are kept, and an archive may know more.
func (s *scan) outlived(r Range) bool {
	return s.x.o.Archive != nil && r.From <= s.cal.Day(s.x.t.Now().Add(-s.site.Retention.Of(analytics.Hour)))
}

// archived yields events of the archive's.
func (x *Explorer) archived(ctx context.Context, site string, from, to time.Time) iter.Seq2[analytics.Event, error] {
	return func(yield func(analytics.Event, error) bool) {
		for e, err := range x.o.Archive.Events(ctx, site, from, to) {
			if err != nil {
				yield(analytics.Event{}, fmt.Errorf("%w: %w", ErrArchive, err))
				return
			}
			if !yield(*e, nil) {
				return
			}
		}
	}
}

// archivedNotes say which days were read from the archive.
func (s *scan) archivedNotes() []string {
	var days []string
	for day := range s.archived {
		days = append(days, day)
	}
	if len(days) == 0 {
		return nil
	}
	slices.Sort(days)
	return []string{"Raw events of " + spansText(days) + " were read from the warehouse."}
}
