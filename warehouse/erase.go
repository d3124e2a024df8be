package warehouse

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
)

// Person is a person whose events are to be deleted.
type Person struct {
	UserID   string                 // the user ID that the site gave the person; "" selects by Visitors only
	Visitors []analytics.VisitorKey // days of visitors that are known to be the person's
}

// forgetTries is the number of consecutive conflicting commits of other writers after which ErasePerson
// gives up.
const forgetTries = 8

// ErasePerson removes the events of a person from the files of a site. It removes all events of the
// person's visitors on the days on which the site identified the person, and on the named days, as
// an erasure does in the table.
//
// The visitors of one day are removed in one commit. So if ErasePerson is interrupted, no day has lost
// the user ID but kept other events of the person, and calling ErasePerson again completes the work.
// Files are written again without the rows, and the old files are deleted after the commit. Sweep
// deletes files whose deletion failed.
//
// Exports and compactions may run meanwhile, but ErasePerson does not look at events that are exported
// later. Errors: those of the objects; ErrConflict if other writers kept committing.
func (w *Warehouse) ErasePerson(ctx context.Context, site string, p Person) (rows int64, err error) {
	for try := 0; ; try++ {
		n, err := w.forget(ctx, site, &p)
		if rows += n; n > 0 {
			try = 0
		}
		if err == nil {
			return rows, nil
		}
		if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) || try == forgetTries {
			return rows, fmt.Errorf("warehouse: erase a person of %s: %w", site, err)
		}
	}
}

func (w *Warehouse) forget(ctx context.Context, site string, p *Person) (rows int64, err error) {
	if err := w.Refresh(ctx); err != nil {
		return 0, err
	}
	days := make(map[string]map[analytics.VisitorKey]bool)
	add := func(k analytics.VisitorKey) {
		if days[k.Day] == nil {
			days[k.Day] = make(map[analytics.VisitorKey]bool)
		}
		days[k.Day][k] = true
	}
	for _, k := range p.Visitors {
		add(k)
	}
	if p.UserID != "" {
		for _, f := range w.Files(Events) {
			if f.Partition.Key != site {
				continue
			}
			for r, err := range w.people(ctx, f) {
				if err != nil {
					return 0, err
				}
				if k, err := r.visitor(site); err == nil && r.UserID == p.UserID {
					add(k)
				}
			}
		}
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		n, err := w.forgetDay(ctx, site, day, days[day])
		if err != nil {
			return rows, err
		}
		rows += n
	}
	return rows, nil
}

// forgetDay removes the events of visitors on a day. The day is one in the site's time zone, while
// files hold UTC days.
func (w *Warehouse) forgetDay(ctx context.Context, site, day string, who map[analytics.VisitorKey]bool) (rows int64, err error) {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return 0, nil // not a day: no event belongs to it
	}
	base := w.Version()
	e := &Entry{Why: "erase"}
	for shift := -1; shift <= 1; shift++ {
		p := PartitionOf(Events, site, at.AddDate(0, 0, shift).UnixMilli())
		for _, f := range w.In(p) {
			n, err := w.without(ctx, f, who, e)
			if err != nil {
				return 0, errors.Join(err, w.Discard(ctx, e.Add...))
			}
			rows += n
		}
	}
	if rows == 0 {
		return 0, nil
	}
	if err := w.Commit(ctx, base, e); err != nil {
		if errors.Is(err, ErrConflict) {
			err = errors.Join(err, w.Discard(ctx, e.Add...))
		}
		return 0, err
	}
	return rows, nil
}

// without writes a file again without the events of the given visitors, if it has any.
func (w *Warehouse) without(ctx context.Context, f File, who map[analytics.VisitorKey]bool, e *Entry) (rows int64, err error) {
	site := f.Partition.Key
	for r, err := range w.people(ctx, f) {
		if err != nil {
			return 0, err
		}
		if k, err := r.visitor(site); err == nil && who[k] {
			rows++
		}
	}
	if rows == 0 {
		return 0, nil
	}
	left, ok, err := w.WriteFile(ctx, f.Partition, func(yield func(Row, error) bool) {
		for r, err := range w.Rows(ctx, f) {
			if event, is := r.(*EventRow); err == nil && is {
				if k, bad := visitorOf(site, event.EventID, event.VisitorID, event.VisitorShard, event.ZoneMinutes); bad == nil && who[k] {
					continue
				}
			}
			if !yield(r, err) {
				return
			}
		}
	})
	if err != nil {
		return 0, err
	}
	e.Remove = append(e.Remove, f.Path)
	if ok {
		e.Add = append(e.Add, left)
	}
	if left.Rows != f.Rows-rows {
		return 0, fmt.Errorf("%w: %d of %d rows of %s are left after removing %d", ErrDamaged, left.Rows, f.Rows, f.Path, rows)
	}
	return rows, nil
}

// eventPeople is the part of an event that tells whose event it is.
type eventPeople struct {
	Time         int64  `parquet:"time,timestamp(millisecond),delta"`
	EventID      string `parquet:"event_id"`
	VisitorID    string `parquet:"visitor_id,dict"`
	VisitorShard int32  `parquet:"visitor_shard,dict"`
	UserID       string `parquet:"user_id,dict"`
	ZoneMinutes  int32  `parquet:"zone_minutes,dict"`
}

func (r *eventPeople) Key() Key       { return Key{At: r.Time, ID: r.EventID} }
func (r *eventPeople) Expires() int64 { return 0 }

func (r *eventPeople) visitor(site string) (analytics.VisitorKey, error) {
	return visitorOf(site, r.EventID, r.VisitorID, r.VisitorShard, r.ZoneMinutes)
}

// visitorOf returns the visitor's day that an event belongs to.
func visitorOf(site, event, visitor string, shard, zone int32) (analytics.VisitorKey, error) {
	e := analytics.Event{EventKey: analytics.EventKey{SiteID: site, EventID: event}, VisitorID: visitor, VisitorShard: int(shard), ZoneMinutes: int(zone)}
	return e.Visitor()
}

// people yields the eventPeople of each event of a file.
func (w *Warehouse) people(ctx context.Context, f File) iter.Seq2[*eventPeople, error] {
	return func(yield func(*eventPeople, error) bool) {
		for r, err := range w.rows(ctx, f, formOf[eventPeople, *eventPeople]{}, firstTime, lastTime) {
			person, _ := r.(*eventPeople)
			if !yield(person, err) || err != nil {
				return
			}
		}
	}
}
