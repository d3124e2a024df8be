package erasure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// A visitor's day is erased like this:
//
//	1. every raw event of it is marked as erased, which the folds take off its hours, and deleted
//	2. wait until that is folded
//	3. read the visitor's version, then see that there are no events
//	4. remove the visitor, on condition of that version: the folds take off its visits, and their sessions
//
// If an event came meanwhile, 3 finds it or 4 finds another version, and it begins anew. So nothing is taken off that was
// not counted, and nothing is left of what was. At the end the days are rebuilt, because sets of visitors cannot forget
// one by one.

// maxTries bounds how often a visitor's day that is being written is begun anew.
const maxTries = 8

// eraser works on one receipt.
type eraser struct {
	t    *table.Table
	w    reconcile.Folded
	site *analytics.Site
	cal  calendar.Zone
	r    Receipt

	unread error // pages of visits that could not be searched
}

// finish does what a receipt says is left.
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
		if err := Receipts.Put(ctx, e.t, &e.r); err != nil { // Left stays whole: to do it twice is harmless
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
		e.r.Rest = Rest{UserID: e.r.UserID, Visitors: e.r.Left}
	}
	e.r.DoneAt, e.r.Left, e.r.UserID = e.t.Now().UTC(), nil, ""
	return Receipts.Put(ctx, e.t, &e.r)
}

func (e *eraser) drain(ctx context.Context) error {
	if err := e.w.Drain(ctx); err != nil {
		return fmt.Errorf("wait until everything is folded: %w", err)
	}
	return nil
}

// eventsOf asks for the events of a visitor's day.
func (e *eraser) eventsOf(k analytics.VisitorKey) (analytics.EventsIn, error) {
	from, to, err := e.cal.Bounds(k.Day)
	in := analytics.EventsBetween(e.site, from, to, "")
	in.VisitorID = k.VisitorID
	return in, err
}

// events takes the events of a visitor's day back, and deletes them.
func (e *eraser) events(ctx context.Context, k analytics.VisitorKey) error {
	in, err := e.eventsOf(k)
	if err != nil {
		return err
	}
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
	n, err := in.Rewrite(ctx, e.t, func(*analytics.Event) (analytics.Rewrite, error) { return analytics.Drop, nil })
	e.r.Deleted.Events += n
	return err
}

// visitors removes visitors' days that have no events any more, and returns the others. What days counted whose first events may have
// expired cannot come off any more: from these days the visitors are taken silently, and their sessions after them.
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
			sealed := analytics.CheckRaw(ctx, e.t, e.site, k.Day, e.t.Now())
			if sealed != nil && !errors.Is(sealed, analytics.ErrSealed) {
				return nil, sealed
			}
			remove = append(remove, fold.Replacement[analytics.Visitor, analytics.VisitorKey]{Key: k, Version: loaded[i].Version, Silent: sealed != nil})
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

// damaged notes that a page of visits could not be read, and so not be searched.
func (e *eraser) damaged(err error) { e.unread = errors.Join(e.unread, err) }

// sessions removes those of the user's sessions that are left: of visitors' days that were taken silently. Those of days that came after
// the erasure was asked for are not part of it, and stay with their events.
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

// forget takes what was of the person out of the pages of visits. It must not come before the folds have seen the removal.
func (e *eraser) forget(ctx context.Context) error {
	if err := analytics.VisitLog.Forget(ctx, e.t, e.r.Left, e.damaged); err != nil {
		return err
	}
	return e.unread
}

// rebuild makes the days anew of the events that are left. Days that are sealed keep their totals.
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
