package analytics

import (
	"time"

	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/fold"
)

const (
	minuteLayout = "2006-01-02T15:04" // of a realtime bucket, UTC

	// RealtimeWindow is how long minutes are kept. Later events are not counted in realtime.
	RealtimeWindow = 30 * time.Minute
)

func foldRealtime(events *fold.Facts[EventChange]) *fold.Fold {
	return fold.New("analytics.realtime", Realtimes, (*Realtime).merge,
		fold.OnEach(events, func(ch *EventChange, at func(RealtimeKey) *Realtime) error {
			if ch.Old != nil {
				return nil
			}
			return addToRealtime(ch.New, ch.At, at)
		}),
	).With(fold.Finish(func(r *Realtime) {
		if minute, err := time.Parse(minuteLayout, r.Minute); err == nil {
			r.ExpiresAt = minute.Add(time.Minute + RealtimeWindow)
		}
	}))
}

// merge adds the counts of other facts of the same minute.
func (r *Realtime) merge(o *Realtime) {
	r.PageViews += o.PageViews
	r.Events += o.Events
	r.Visitors.Merge(o.Visitors)
	r.Full = r.Full || o.Full
	r.Other = r.Other.Plus(o.Other)
	tally.Bounded{Values: &r.Pages, Other: &r.Other, Full: &r.Full}.Merge(o.Pages)
}

// addToRealtime counts an event in its minute if it was stored within RealtimeWindow of its time.
func addToRealtime(e *Event, stored time.Time, at func(RealtimeKey) *Realtime) error {
	ms, err := eventMS(e.EventID)
	if err != nil {
		return err
	}
	happened := time.UnixMilli(ms).UTC()
	if stored.Sub(happened).Abs() > RealtimeWindow {
		return nil
	}
	r := at(RealtimeKey{e.SiteID, happened.Format(minuteLayout), e.Shard})
	r.Visitors.Add(visitorHash(e.VisitorID))
	switch {
	case e.silent():
		return nil
	case e.Name != "":
		r.Events++
		return nil
	}
	r.PageViews++
	if e.Path != "" {
		r.Pages.Add(e.Path, tally.Count{PageViews: 1})
	}
	return nil
}
