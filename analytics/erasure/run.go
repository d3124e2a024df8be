package erasure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// A visitor's day is erased in four steps:
//
//   1. Mark each raw event as erased, so that the folds subtract it, and delete it.
//   2. Wait until that is folded.
//   3. Read the visitor's version, then check that there are no events.
//   4. Remove the visitor on condition of that version; the folds subtract its visits and sessions.
//
// If an event arrives in between, step 3 finds it or step 4 finds another version, and the erasure
// starts over. So only counted events are subtracted, and none is left. Finally the affected days
// are rebuilt, because nothing can be removed from a sketch of visitors.

// maxTries limits the attempts on visitors' days that keep receiving events.
const maxTries = 8

// eraser performs the erasure of one receipt.
type eraser struct {
	t    *table.Table
	w    reconcile.Folded
	site *analytics.Site
	cal  calendar.Zone
	r    Receipt

	unread error // errors of visit pages that could not be searched
}

// finish performs the remaining work of a receipt.
func finish(ctx context.Context, t *table.Table, w reconcile.Folded, site *analytics.Site, r Receipt) (Receipt, error) {
	cal, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return r, err
	}
	e := &eraser{t: t, w: w, site: site, cal: cal, r: r}
	if err := e.run(ctx); err != nil {
		return e.r, fmt.Errorf("erasure: %s of %s: %w", r.ReceiptID, site.SiteID, err)
	}
	return e.r, nil
}

func (e *eraser) run(ctx context.Context) error {
	left := slices.Clone(e.r.Left)
	for try := 0; len(left) > 0; try++ {
		if try == maxTries {
			return ErrBusy
		}
		for _, k := range left {
			if err := e.events(ctx, k); err != nil {
				return err
			}
		}
		if err := e.drain(ctx); err != nil {
			return err
		}
		var err error
		if left, err = e.visitors(ctx, left); err != nil {
			return err
		}
		if err := Receipts.Put(ctx, e.t, &e.r); err != nil { // Left stays complete: repeating a day is harmless
			return err
		}
	}
	if err := e.drain(ctx); err != nil {
		return err
	}
	if err := e.sessions(ctx); err != nil {
		return err
	}
	if err := e.forget(ctx); err != nil {
		return err
	}
	if err := e.rebuild(ctx); err != nil {
		return err
	}
	if err := reconcile.Forget(ctx, e.t, e.site.SiteID); err != nil {
		return err
	}
	if e.r.Archive == ArchiveWaits {
		e.r.Pending = Pending{UserID: e.r.UserID, Visitors: e.r.Left}
	}
	e.r.DoneAt, e.r.Left, e.r.UserID = e.t.Now().UTC(), nil, ""
	return Receipts.Put(ctx, e.t, &e.r)
}

func (e *eraser) drain(ctx context.Context) error {
	if err := e.w.Drain(ctx); err != nil {
		return fmt.Errorf("wait for folds: %w", err)
	}
	return nil
}

// eventsOf selects the events of a visitor's day.
func (e *eraser) eventsOf(k analytics.VisitorKey) (analytics.EventsIn, error) {
	from, to, err := e.cal.Bounds(k.Day)
	in := analytics.EventsBetween(e.site, from, to, "")
	in.VisitorID = k.VisitorID
	return in, err
}

// events marks the events of a visitor's day as erased, then deletes them. It is two passes because
// the folds subtract marked events, but ignore deletions. Events of a sealed day are only deleted: the
// items that they would be subtracted from may have expired.
func (e *eraser) events(ctx context.Context, k analytics.VisitorKey) error {
	in, err := e.eventsOf(k)
	if err != nil {
		return err
	}
	sealed, err := e.isSealed(ctx, k.Day)
	if err != nil {
		return err
	}
	if !sealed {
		_, err = in.Rewrite(ctx, e.t, func(ev *analytics.Event) (analytics.Rewrite, error) {
			if ev.Erased {
				return analytics.Leave, nil
			}
			ev.Erased = true
			return analytics.Change, nil
		})
		if err != nil {
			return err
		}
	}
	n, err := in.Rewrite(ctx, e.t, func(*analytics.Event) (analytics.Rewrite, error) { return analytics.Drop, nil })
	e.r.Deleted.Events += n
	return err
}

// sealMargin is how long an erasure may take. A day that is sealed by then counts as sealed for the
// whole erasure: otherwise, its page views could be subtracted, and its visits not.
const sealMargin = 24 * time.Hour

// isSealed reports whether a day is sealed: its statistics keep the person's share, unless the day can
// still be rebuilt at the end. The answer stays the same when the erasure is resumed.
func (e *eraser) isSealed(ctx context.Context, day string) (bool, error) {
	err := analytics.CheckSealed(ctx, e.t, e.site, day, e.r.At.Add(sealMargin))
	if errors.Is(err, analytics.ErrSealed) {
		return true, nil
	}
	return false, err
}

// visitors removes the visitors' days without events, and returns the others. The counts of sealed
// days cannot be subtracted: their visitors are removed silently, without the folds, and their
// sessions afterwards.
func (e *eraser) visitors(ctx context.Context, keys []analytics.VisitorKey) (left []analytics.VisitorKey, err error) {
	loaded, err := analytics.VisitLog.Load(ctx, e.t, keys, e.damaged)
	if err != nil {
		return nil, err
	}
	var remove []fold.Replacement[analytics.Visitor, analytics.VisitorKey]
	sessions := make(map[analytics.VisitorKey]int)
	for i, k := range keys {
		in, err := e.eventsOf(k)
		if err != nil {
			return nil, err
		}
		_, err = in.First(ctx, e.t)
		switch {
		case err == nil:
			left = append(left, k)
		case !errors.Is(err, table.ErrNotFound):
			return nil, err
		case loaded[i].Version > 0 && !loaded[i].Removed:
			sealed, err := e.isSealed(ctx, k.Day)
			if err != nil {
				return nil, err
			}
			remove = append(remove, fold.Replacement[analytics.Visitor, analytics.VisitorKey]{Key: k, Version: loaded[i].Version, Silent: sealed})
			sessions[k] = len(loaded[i].State.Visits)
		}
	}
	changed, err := analytics.VisitLog.Replace(ctx, e.t, remove, e.damaged)
	for _, r := range remove {
		if !slices.Contains(changed, r.Key) && err == nil {
			e.r.Deleted.Visitors++
			e.r.Deleted.Sessions += int64(sessions[r.Key])
		}
	}
	return append(left, changed...), err
}

// damaged records that a page of visits was unreadable and could not be searched.
func (e *eraser) damaged(err error) { e.unread = errors.Join(e.unread, err) }

// sessions removes the user's remaining sessions, of visitors' days that were removed silently.
// Days after the request are not part of the erasure and keep their sessions and events.
func (e *eraser) sessions(ctx context.Context) error {
	if e.r.UserID == "" {
		return nil
	}
	var keys []analytics.SessionKey
	for s, err := range analytics.UserJourney(ctx, e.t, e.site.SiteID, e.r.UserID) {
		if err != nil {
			return err
		}
		if slices.Contains(e.r.Left, visitorOf(&s)) {
			keys = append(keys, s.SessionKey)
		}
	}
	loaded, err := fold.Load(ctx, e.t, analytics.Sessions, keys)
	if err != nil {
		return err
	}
	for i, k := range keys {
		if loaded[i].Version == 0 || loaded[i].Removed {
			continue
		}
		if err := fold.RemoveState(ctx, e.t, analytics.Sessions, k, loaded[i].Version); err != nil {
			return err
		}
	}
	return nil
}

// forget erases the person from the pages of visits. It must run after the folds saw the removal.
func (e *eraser) forget(ctx context.Context) error {
	if err := analytics.VisitLog.Erase(ctx, e.t, e.r.Left, e.damaged); err != nil {
		return err
	}
	return e.unread
}

// rebuild recomputes the affected days from the remaining events. Sealed days keep their totals.
func (e *eraser) rebuild(ctx context.Context) error {
	days := make([]string, len(e.r.Left))
	for i, k := range e.r.Left {
		days[i] = k.Day
	}
	slices.Sort(days)
	e.r.Sealed = 0
	for _, day := range slices.Compact(days) {
		_, err := reconcile.Rebuild(ctx, e.t, e.w, reconcile.RangeIn{Site: e.site.SiteID, From: day, To: day}, nil)
		if errors.Is(err, analytics.ErrSealed) {
			e.r.Sealed++
			continue
		}
		if err != nil {
			return err
		}
	}
	return e.drain(ctx)
}
