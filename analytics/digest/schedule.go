package digest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
)

// after returns when a report is next due after an instant: at its hour of a day on which a period
// begins, or when the clock skips that hour, the first after it.
func (r *Report) after(zone calendar.Zone, at time.Time) (time.Time, error) {
	const enough = 33 // days, which contain the first of a month
	day := zone.Day(at)
	for range enough {
		if r.begins(day) {
			due, err := r.onDay(zone, day)
			if err != nil || due.After(at) {
				return due, err
			}
		}
		day = calendar.ShiftDay(day, 1)
	}
	return time.Time{}, fmt.Errorf("digest: no %s period begins after %s", r.Every, at)
}

// begins reports whether a period begins on a day.
func (r *Report) begins(day string) bool {
	switch r.Every {
	case Weekly:
		d, err := time.Parse(calendar.DayLayout, day)
		return err == nil && d.Weekday() == time.Monday
	case Monthly:
		return strings.HasSuffix(day, "-01")
	}
	return true
}

func (r *Report) onDay(zone calendar.Zone, day string) (time.Time, error) {
	hours, err := zone.Hours(day)
	if err != nil {
		return time.Time{}, err
	}
	var last time.Time
	for _, name := range hours {
		hour, err := time.Parse(calendar.HourLayout, name)
		if err != nil {
			return time.Time{}, err
		}
		if last = hour; zone.In(hour).Hour() >= r.Hour {
			return hour, nil
		}
	}
	return last, nil
}

// periods are the days that a report is about, and those that it compares them with.
type periods struct{ from, to, beforeFrom, beforeTo string }

// ended returns the last period that has ended before a day. A day is compared with the same weekday
// of the week before, because weekdays differ.
func (e Every) ended(day string) periods {
	last := calendar.ShiftDay(day, -1)
	switch e {
	case Weekly:
		d, err := time.Parse(calendar.DayLayout, day)
		if err != nil {
			return periods{}
		}
		monday := calendar.ShiftDay(day, -(int(d.Weekday())+6)%7)
		return periods{calendar.ShiftDay(monday, -7), calendar.ShiftDay(monday, -1), calendar.ShiftDay(monday, -14), calendar.ShiftDay(monday, -8)}
	case Monthly:
		first, _ := calendar.MonthBounds(calendar.MonthOf(day))
		last := calendar.ShiftDay(first, -1)
		from, _ := calendar.MonthBounds(calendar.MonthOf(last))
		beforeTo := calendar.ShiftDay(from, -1)
		beforeFrom, _ := calendar.MonthBounds(calendar.MonthOf(beforeTo))
		return periods{from, last, beforeFrom, beforeTo}
	}
	return periods{last, last, calendar.ShiftDay(last, -7), calendar.ShiftDay(last, -7)}
}

// Send enqueues the reports that are due and returns how many there were. Of periods that were missed
// while nothing ran, only the last is sent. A report that fails does not keep others from being sent;
// it is retried in the next call.
func Send(ctx context.Context, t *table.Table) (sent int, err error) {
	due, err := dueReports.Page(ctx, t, dueIn{t.Now().UTC().Add(time.Millisecond)}, "", 100)
	if err != nil {
		return 0, fmt.Errorf("digest: %w", err)
	}
	for i := range due.Items {
		if ctx.Err() != nil {
			return sent, errors.Join(err, ctx.Err())
		}
		ok, failed := send(ctx, t, due.Items[i].Key)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("digest: report %s of %s: %w", due.Items[i].ReportID, due.Items[i].SiteID, failed))
		}
		if ok {
			sent++
		}
	}
	return sent, err
}

func send(ctx context.Context, t *table.Table, k Key) (sent bool, err error) {
	r, err := Reports.Get(ctx, t, k) // the index may be behind
	if errors.Is(err, table.ErrNotFound) || err == nil && (r.Off || r.Next.After(t.Now())) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	site, err := analytics.GetSite(ctx, t, k.SiteID)
	if errors.Is(err, table.ErrNotFound) {
		return false, nil // it is being deleted, with its reports
	}
	if err != nil {
		return false, err
	}
	zone, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return false, err
	}
	due, next, err := r.latest(zone, t.Now())
	if err != nil {
		return false, err
	}
	if _, err := r.enqueue(ctx, t, &site, zone.Day(due), due.UTC().Format(idTime)+".report."+r.ReportID); err != nil {
		return false, err
	}
	return r.advance(ctx, t, due, next)
}

// idTime begins IDs, so that they are in the order of time.
const idTime = "20060102T150405Z"

// latest returns the last time at which a report was due, and the next one.
func (r *Report) latest(zone calendar.Zone, now time.Time) (due, next time.Time, err error) {
	due = r.Next
	if next, err = r.after(zone, now); err != nil {
		return due, next, err
	}
	for {
		later, err := r.after(zone, due)
		if err != nil || !later.Before(next) {
			return due, next, err
		}
		due = later
	}
}

// advance records that a report was sent, unless another process did, or the report has changed.
func (r *Report) advance(ctx context.Context, t *table.Table, due, next time.Time) (sent bool, err error) {
	_, err = Reports.Modify(ctx, t, r.Key, func(now *Report) error {
		if sent = now.Next.Equal(r.Next) && !now.Off; sent {
			now.Next, now.LastSent = next, due
		}
		return nil
	})
	if errors.Is(err, table.ErrNotFound) {
		return false, nil
	}
	return sent && err == nil, err
}

func (r *Report) enqueue(ctx context.Context, t *table.Table, site *analytics.Site, day, id string) (messages int, err error) {
	content, err := compose(ctx, t, site, r, r.Every.ended(day))
	if err != nil {
		return 0, err
	}
	return notify.Enqueue(ctx, t, notify.News{
		SiteID: r.SiteID, ID: id, Event: "report." + string(r.Every), Title: content.subject(), Content: content, Through: r.Channels,
	})
}

// SendNow enqueues a report about the last period that has ended, in addition to the regular ones, and
// returns the number of messages: 0 if the site has no channel for it. Errors: table.ErrNotFound.
func SendNow(ctx context.Context, t *table.Table, k Key) (messages int, err error) {
	r, err := Reports.Get(ctx, t, k)
	if err != nil {
		return 0, fmt.Errorf("digest: report %s: %w", k.ReportID, err)
	}
	site, err := analytics.GetSite(ctx, t, k.SiteID)
	if err != nil {
		return 0, err
	}
	zone, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return 0, fmt.Errorf("digest: report %s: %w", k.ReportID, err)
	}
	now := t.Now().UTC()
	id := fmt.Sprintf("%s.report.%s.now-%s", now.Format(idTime), r.ReportID, strings.ToLower(ulid.Make().String()))
	if messages, err = r.enqueue(ctx, t, &site, zone.Day(now), id); err != nil {
		err = fmt.Errorf("digest: report %s: %w", k.ReportID, err)
	}
	return messages, err
}
