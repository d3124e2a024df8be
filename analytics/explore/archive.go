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

// Archive keeps raw events for longer than the table, such as the files of a warehouse. It may lag
// behind the table. It must be safe for concurrent use.
type Archive interface {
	// Holds summarizes the events of a site in [from, to), without reading all of them.
	Holds(ctx context.Context, site string, from, to time.Time) (ArchiveCounts, error)
	// Events yields these events in order of time.
	Events(ctx context.Context, site string, from, to time.Time) iter.Seq2[*analytics.Event, error]
}

// ArchiveCounts summarizes what an archive has of a time range of a site.
type ArchiveCounts struct {
	PageViews int64
	Events    int64  // custom events, without measurements of pages
	Version   uint64 // changes whenever the content changes
}

// known is what statistics know about a day.
type known struct {
	since             int64 // first arrival of its facts, epoch seconds; 0: no facts
	pageViews, events int64
}

// recall selects the days that are read from the archive: days whose raw events have expired from
// the table, and large days, which are faster to read there. A day is read from the archive only if
// the archive has at least the counts of the statistics, so that missing exports are noticed.
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
	return nil
}

// recallLarge selects large days that ended before yesterday.
func (s *scan) recallLarge(ctx context.Context) error {
	if len(s.days) == 0 {
		return nil
	}
	settled := calendar.ShiftDay(s.cal.Day(s.x.t.Now()), -1)
	in := s.site.StatsIn(analytics.Day, slices.Min(s.days), settled)
	for b, err := range analytics.StatsByTime.All(ctx, s.x.t, in) {
		if err != nil {
			return err
		}
		if _, is := s.archived[b.Start]; is || b.PageViews+b.Events < int64(s.x.o.LargeDay) || !slices.Contains(s.days, b.Start) {
			continue
		}
		_, err := s.holds(ctx, b.Start, known{pageViews: b.PageViews, events: b.Events})
		if errors.Is(err, ErrArchive) {
			return nil // not needed: the table has these days too
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether the archive has all events of a day, and if so selects the day.
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

// source returns the source of the answer.
func (s *scan) source() Source {
	if len(s.archived) > 0 {
		return FromArchive
	}
	return FromRaw
}

// outlived reports whether a range begins before the oldest stored session, while there may be older
// raw events.
func (s *scan) outlived(r Range) bool {
	sessions := s.site.Retention.Of(analytics.Hour)
	return (s.x.o.Archive != nil || s.site.Retention.Raw() > sessions) && r.From <= s.cal.Day(s.x.t.Now().Add(-sessions))
}

// archived yields events of the archive. Errors: ErrArchive.
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

// archivedNotes lists the days that were read from the archive.
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
