package readings

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/onefold/onefold/table"
)

// In selects the readings of a device in [From, To), by device time; a zero end is open. Its
// methods yield each reading once, without expired ones. They fail with ErrDamaged on damaged
// items, unless Partial is set, which skips them; Move reports them anyway.
type In struct {
	FleetID, DeviceID string
	From, To          time.Time
	Partial           bool
	Waiting           *Waiting // blocks of the fleet, read before; nil: they are read for this query
}

// All yields the readings by time.
func (in In) All(ctx context.Context, t *table.Table) iter.Seq2[Reading, error] {
	return in.each(ctx, t, false)
}

// Back yields the readings, latest first.
func (in In) Back(ctx context.Context, t *table.Table) iter.Seq2[Reading, error] {
	return in.each(ctx, t, true)
}

func (in In) each(ctx context.Context, t *table.Table, back bool) iter.Seq2[Reading, error] {
	return func(yield func(Reading, error) bool) {
		r := reader{In: in, ctx: ctx, t: t, now: t.Now(), back: back, yield: yield}
		if err := r.run(); err != nil {
			yield(Reading{}, fmt.Errorf("readings of device %q: %w", in.DeviceID, err))
		}
	}
}

// reader reads In. It reads blocks before segments: a reading that is moved in between is then seen
// twice, and never missed.
type reader struct {
	In
	ctx   context.Context
	t     *table.Table
	now   time.Time
	back  bool
	yield func(Reading, error) bool

	waiting []Reading // sorted remainder of the readings in blocks
	buffer  []Reading
	stopped bool
}

func (r *reader) run() (err error) {
	if r.waiting, err = r.selected(r.waitingBlocks(r.ctx, r.t), r.now); err != nil {
		return err
	}
	for parts, err := range r.hours() {
		if err == nil {
			err = r.hour(parts)
		}
		if err != nil || r.stopped {
			return err
		}
	}
	r.hand(r.waiting)
	return nil
}

// hours yields the parts of each hour, in a slice that is reused.
func (r *reader) hours() iter.Seq2[[]Segment, error] {
	return func(yield func([]Segment, error) bool) {
		var hour []Segment
		for s, err := range r.segments() {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(hour) > 0 && hour[0].Hour != s.Hour {
				if !yield(hour, nil) {
					return
				}
				hour = hour[:0]
			}
			hour = append(hour, s)
		}
		if len(hour) > 0 {
			yield(hour, nil)
		}
	}
}

// waitingBlocks yields the blocks whose times overlap with the range.
func (in In) waitingBlocks(ctx context.Context, t *table.Table) iter.Seq2[Block, error] {
	return func(yield func(Block, error) bool) {
		if in.FleetID == "" {
			return // the device was deleted
		}
		all := WaitingBlocks.All(ctx, t, ShardIn{in.FleetID, ShardOf(in.DeviceID)})
		if in.Waiting != nil {
			all = in.Waiting.of(in.DeviceID)
		}
		for b, err := range all {
			if err == nil && (!in.From.IsZero() && b.Last < in.From.UnixMilli() || !in.To.IsZero() && b.First >= in.To.UnixMilli()) {
				continue
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// selected returns the selected readings in blocks, sorted.
func (in In) selected(blocks iter.Seq2[Block, error], now time.Time) (all []Reading, err error) {
	var spare []blockSample
	for b, err := range blocks {
		if err != nil {
			return nil, err
		}
		var found bool
		if found, spare, err = b.has(in.DeviceID, spare); found && err == nil {
			var some []Reading
			if some, err = b.readingsOf(in.DeviceID); err == nil {
				all = append(all, slices.DeleteFunc(some, func(r Reading) bool { return !in.wants(&r, now) })...)
			}
		}
		if err != nil && !in.Partial {
			return nil, err
		}
	}
	return sortReadings(all), nil
}

// wants reports whether a reading of the device is selected.
func (in In) wants(r *Reading, now time.Time) bool {
	return r.live(now) && in.asks(r.At)
}

// asks reports whether a time is in the range.
func (in *In) asks(at time.Time) bool {
	return (in.From.IsZero() || !at.Before(in.From)) && (in.To.IsZero() || at.Before(in.To))
}

// ask returns the query for the segments.
func (in In) ask() SegmentsIn {
	ask := SegmentsIn{DeviceID: in.DeviceID}
	if !in.From.IsZero() {
		ask.From = hourOf(in.From)
	}
	if !in.To.IsZero() {
		ask.To = hourOf(in.To.Add(-time.Millisecond).Add(time.Hour))
	}
	return ask
}

// firstPage is the size of the first page of segments: about a day. In descending order it is one.
const firstPage = 26

// segments yields the segments; the parts of an hour always start with the first. A short range is
// read at once. Pages of a long one grow, because many callers need only a few segments.
func (r *reader) segments() iter.Seq2[Segment, error] {
	ask, q, limit := r.ask(), SegmentsByHour, firstPage
	if !r.back && !r.From.IsZero() && !r.To.IsZero() && r.To.Sub(r.From) <= (firstPage-2)*time.Hour {
		return q.All(r.ctx, r.t, ask)
	}
	if r.back {
		q, limit = NewestSegments, 1
	}
	return func(yield func(Segment, error) bool) {
		hour := "" // hour that was completely yielded
		for cursor := ""; ; limit = min(limit*8, 1000) {
			page, err := q.Page(r.ctx, r.t, ask, cursor, limit)
			if err != nil {
				yield(Segment{}, err)
				return
			}
			for _, s := range page.Items {
				switch {
				case r.back && s.Hour == hour:
				case r.back && s.Part > 0: // parts may grow and split at the same time, so read them from the first
					hour = s.Hour
					if !r.wholeHour(s.SegmentKey, yield) {
						return
					}
				default:
					if !yield(s, nil) {
						return
					}
				}
			}
			if cursor = page.Next; cursor == "" {
				return
			}
		}
	}
}

// wholeHour yields all parts of an hour.
func (r *reader) wholeHour(k SegmentKey, yield func(Segment, error) bool) bool {
	for s, err := range SegmentsByHour.All(r.ctx, r.t, hourIn(k)) {
		if !yield(s, err) || err != nil {
			return false
		}
	}
	return true
}

// hourIn selects all parts of an hour. "$" follows "#" in byte order.
func hourIn(k SegmentKey) SegmentsIn { return SegmentsIn{k.DeviceID, k.Hour, k.Hour + "$"} }

// hour yields the waiting readings before the hour of the given parts, and then the readings of
// that hour.
func (r *reader) hour(parts []Segment) error {
	start, err := time.Parse(hourLayout, parts[0].Hour)
	if err != nil {
		return parts[0].damaged(err)
	}
	from, to := firstAt(r.waiting, start), firstAt(r.waiting, start.Add(time.Hour))
	before, during, after := r.waiting[:from], r.waiting[from:to], r.waiting[to:]
	if r.back {
		before, after = after, before
	}
	if r.waiting = after; !r.hand(before) {
		return nil
	}
	all, err := r.merged(parts, during)
	if err == nil {
		r.hand(all)
	}
	return err
}

// firstAt returns the index of the first of sorted readings that is not before a time.
func firstAt(all []Reading, at time.Time) int {
	return sort.Search(len(all), func(i int) bool { return !all[i].At.Before(at) })
}

// merged returns the readings of an hour's parts and of more, sorted.
func (r *reader) merged(parts []Segment, more []Reading) (all []Reading, err error) {
	all = r.buffer[:0]
	for i := range parts {
		was := len(all)
		if all, err = parts[i].readings(all); err != nil {
			if !r.Partial {
				return nil, err
			}
			all = all[:was]
		}
	}
	r.buffer = all
	all = append(all, more...)
	if len(parts) > 1 || len(more) > 0 {
		all = sortReadings(all)
	}
	return slices.DeleteFunc(all, func(o Reading) bool { return !r.wants(&o, r.now) }), nil
}

// hand yields readings. It reports whether to continue.
func (r *reader) hand(all []Reading) bool {
	each := slices.Values(all)
	if r.back {
		each = func(yield func(Reading) bool) {
			for _, one := range slices.Backward(all) {
				if !yield(one) {
					return
				}
			}
		}
	}
	for one := range each {
		if !r.yield(one, nil) {
			r.stopped = true
			return false
		}
	}
	return true
}

// First returns the first reading. Errors: table.ErrNotFound if there is none; those of all.
func First(all iter.Seq2[Reading, error]) (Reading, error) {
	for r, err := range all {
		return r, err
	}
	return Reading{}, table.ErrNotFound
}

// Exists returns the given keys under which the device has readings. It ignores From and To.
func (in In) Exists(ctx context.Context, t *table.Table, keys []Key) (map[Key]bool, error) {
	there := make(map[Key]bool, len(keys))
	if len(keys) == 0 {
		return there, nil
	}
	wanted := make(map[string][]Key) // by hour
	for _, k := range keys {
		wanted[hourOf(k.At)] = append(wanted[hourOf(k.At)], k)
	}
	in.From, in.To = time.Time{}, time.Time{}
	now := t.Now()
	all, err := in.selected(in.waitingBlocks(ctx, t), now)
	for hour := range wanted {
		for s, e := range SegmentsByHour.All(ctx, t, hourIn(SegmentKey{DeviceID: in.DeviceID, Hour: hour})) {
			var some []Reading
			if e == nil {
				if some, e = s.Readings(); e != nil && in.Partial {
					e = nil
				}
			}
			if e != nil {
				return nil, e
			}
			all = append(all, some...)
		}
	}
	for i := range all {
		r := &all[i]
		for _, k := range wanted[hourOf(r.At)] {
			if r.live(now) && r.Compare(&k) == 0 {
				there[k] = true
			}
		}
	}
	return there, err
}

// Default and maximum size of a page.
const (
	pageReadings    = 50
	maxPageReadings = 1000
)

// Page returns up to limit readings (0: 50; at most 1,000) by time after a cursor; "" is the
// beginning. A page with a cursor is full, and the next page is not empty. Errors: table.ErrCursor
// for a cursor of other readings; those of All.
func (in In) Page(ctx context.Context, t *table.Table, cursor string, limit int) (page table.Page[Reading], err error) {
	if limit <= 0 {
		limit = pageReadings
	}
	limit = min(limit, maxPageReadings)
	scope := "readings\x00" + in.DeviceID
	var after Key
	if cursor != "" {
		at, err := t.OpenCursor(scope, cursor)
		if err == nil && len(at) != 2 {
			err = table.ErrCursor
		}
		if err == nil {
			after.Disc = at[1]
			after.At, err = time.Parse(time.RFC3339Nano, at[0])
		}
		if err != nil {
			return page, fmt.Errorf("readings of device %q: %w", in.DeviceID, err)
		}
		if in.From.Before(after.At) {
			in.From = after.At
		}
	}
	for r, err := range in.All(ctx, t) {
		switch {
		case err != nil:
			return page, err
		case cursor != "" && r.Compare(&after) <= 0:
			continue
		case len(page.Items) == limit:
			last := &page.Items[limit-1]
			page.Next = t.SealCursor(scope, last.At.UTC().Format(time.RFC3339Nano), last.Disc)
			return page, nil
		}
		page.Items = append(page.Items, r)
	}
	return page, nil
}
