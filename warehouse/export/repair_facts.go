package export

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/warehouse"
)

// events reads the events of a site from a time on, in order. Key is the site, and At is the time
// up to which it is done.
func (p *plan) events(ctx context.Context, r warehouse.Repair) (*chunk, error) {
	if err := p.listSites(ctx); err != nil {
		return nil, err
	}
	c := newChunk(r)
	i, _ := slices.BinarySearch(p.sites, r.Key)
	if r.At == math.MaxInt64 && i < len(p.sites) && p.sites[i] == r.Key {
		i++
	}
	if i == len(p.sites) {
		return c.begin(warehouse.Readings), nil
	}
	id, from := p.sites[i], int64(0)
	if id == r.Key {
		from = r.At
	}
	to, err := p.siteEvents(ctx, c, id, from)
	if err != nil {
		return nil, err
	}
	c.next.Dataset, c.next.Key, c.next.At, c.doing = warehouse.Events, id, to, "events of "+id
	c.parts = p.x.partitions(warehouse.Events, id, from, to)
	c.covers = func(p warehouse.Partition, row warehouse.Row) bool {
		at := row.Key().At
		return p.Dataset == warehouse.Events && p.Key == id && at >= from && at < to
	}
	return c, nil
}

// listSites lists the sites of the table and of the warehouse, by ID, without those that are being
// deleted.
func (p *plan) listSites(ctx context.Context) error {
	if p.sites != nil {
		return nil
	}
	deleting := map[string]bool{}
	ids := []string{}
	for s, err := range analytics.EverySite(ctx, p.x.t, "") {
		if err != nil {
			return err
		}
		if deleting[s.SiteID] = !s.DeletedAt.IsZero(); !deleting[s.SiteID] {
			ids = append(ids, s.SiteID)
		}
	}
	for _, part := range p.x.w.Partitions() {
		if part.Dataset == warehouse.Events && !deleting[part.Key] {
			ids = append(ids, part.Key)
		}
	}
	slices.Sort(ids)
	p.sites = slices.Compact(ids)
	return nil
}

// siteEvents reads events until there are enough. It returns the time before which all events were
// read.
func (p *plan) siteEvents(ctx context.Context, c *chunk, id string, from int64) (to int64, err error) {
	site, err := analytics.SiteByID.Get(ctx, p.x.t, analytics.SiteIn{SiteID: id})
	if errors.Is(err, table.ErrNotFound) {
		return math.MaxInt64, nil // the site is only in the warehouse
	}
	if err != nil {
		return 0, err
	}
	in := analytics.EventsBetween(&site, time.UnixMilli(from), time.UnixMilli(1<<48-1), "")
	last := int64(-1)
	for e, err := range in.All(ctx, p.x.t) {
		if err != nil {
			return 0, err
		}
		v, err := eventVersion(&e)
		if err != nil {
			return 0, err
		}
		if c.rows >= p.limit && v.key.At != last {
			return v.key.At, nil
		}
		last = v.key.At
		if len(v.rows) > 0 {
			c.put(v)
		}
	}
	return math.MaxInt64, nil
}

// partitions returns the partitions of a site, fleet or type that have files with times in [from,
// to).
func (x *Exporter) partitions(d warehouse.Dataset, key string, from, to int64) []warehouse.Partition {
	var all []warehouse.Partition
	for _, f := range x.w.Files(d) {
		if f.Partition.Key == key && f.Max >= from && f.Min < to && !slices.Contains(all, f.Partition) {
			all = append(all, f.Partition)
		}
	}
	return all
}

// deviceSpan is a device with the days of its first and last readings.
type deviceSpan struct{ id, first, last string }

// readings reads the readings of some devices on a day. Key is the day, and Sub is the device up to
// which it is done.
func (p *plan) readings(ctx context.Context, r warehouse.Repair) (*chunk, error) {
	if err := p.listDevices(ctx); err != nil {
		return nil, err
	}
	c := newChunk(r)
	i, found := slices.BinarySearch(p.dates, r.Key)
	if found && r.Sub == theEnd {
		i++
	}
	if i == len(p.dates) {
		return c.begin(warehouse.DomainEvents), nil
	}
	date, after := p.dates[i], ""
	if date == r.Key {
		after = r.Sub
	}
	upTo, err := p.dayReadings(ctx, c, date, after)
	if err != nil {
		return nil, err
	}
	c.next.Dataset, c.next.Key, c.next.Sub, c.next.At, c.doing = warehouse.Readings, date, upTo, 0, "readings of "+date
	for _, part := range p.x.w.Partitions() {
		if part.Dataset == warehouse.Readings && part.Date == date {
			c.parts = append(c.parts, part)
		}
	}
	c.covers = func(p warehouse.Partition, row warehouse.Row) bool {
		device, _, _ := strings.Cut(row.Key().ID, "#")
		return p.Dataset == warehouse.Readings && p.Date == date && device > after && device <= upTo
	}
	return c, nil
}

// theEnd sorts after every ID.
const theEnd = "\U0010FFFF"

// dayReadings reads the readings of the devices after a given one, until there are enough. It
// returns the last device whose readings were all read.
func (p *plan) dayReadings(ctx context.Context, c *chunk, date, after string) (upTo string, err error) {
	from, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return "", fmt.Errorf("%w: invalid date %q", warehouse.ErrDamaged, date)
	}
	for _, d := range p.devices {
		if d.id <= after || date < d.first || date > d.last {
			continue
		}
		in := telemetry.ReadingsIn{DeviceID: d.id, From: from, To: from.Add(24 * time.Hour)}
		for reading, err := range in.All(ctx, p.x.t) {
			if err != nil {
				return "", err
			}
			c.put(readingVersion(&reading))
		}
		if c.rows >= p.limit {
			return d.id, nil
		}
	}
	return theEnd, nil
}

// listDevices lists the devices that have readings, by ID, and the days that have readings in the
// table or in the warehouse.
func (p *plan) listDevices(ctx context.Context) error {
	if p.dates != nil {
		return nil
	}
	statuses := []telemetry.DeviceStatus{telemetry.Provisioned, telemetry.Active, telemetry.Inactive, telemetry.Maintenance, telemetry.Retired}
	days := map[string]bool{}
	p.devices = nil
	for _, status := range statuses {
		for d, err := range telemetry.DevicesByStatus.All(ctx, p.x.t, telemetry.StatusIn{Status: status}) {
			if err != nil {
				return err
			}
			span, ok, err := p.span(ctx, d.DeviceID)
			if err != nil {
				return err
			}
			if ok {
				p.devices = append(p.devices, span)
				eachDay(span, func(day string) { days[day] = true })
			}
		}
	}
	slices.SortFunc(p.devices, func(a, b deviceSpan) int { return strings.Compare(a.id, b.id) })
	p.devices = slices.CompactFunc(p.devices, func(a, b deviceSpan) bool { return a.id == b.id })
	for _, part := range p.x.w.Partitions() {
		if part.Dataset == warehouse.Readings {
			days[part.Date] = true
		}
	}
	p.dates = slices.Sorted(maps.Keys(days))
	return nil
}

// span finds the days of a device's first and last readings.
func (p *plan) span(ctx context.Context, id string) (deviceSpan, bool, error) {
	first, err := (telemetry.ReadingsIn{DeviceID: id}).First(ctx, p.x.t)
	if errors.Is(err, table.ErrNotFound) {
		return deviceSpan{}, false, nil
	}
	if err != nil {
		return deviceSpan{}, false, err
	}
	last, err := (telemetry.ReadingsIn{DeviceID: id}).Newest(ctx, p.x.t)
	if errors.Is(err, table.ErrNotFound) {
		last, err = first, nil
	}
	return deviceSpan{id: id, first: first.At.UTC().Format(time.DateOnly), last: last.At.UTC().Format(time.DateOnly)}, true, err
}

func eachDay(s deviceSpan, do func(string)) {
	from, err := time.Parse(time.DateOnly, s.first)
	for day := from; err == nil && day.Format(time.DateOnly) <= s.last; day = day.Add(24 * time.Hour) {
		do(day.Format(time.DateOnly))
	}
}

// domain reads the events of aggregates. Key is the aggregate type, and Sub is the aggregate up to
// which it is done. At is the number of the last event that is done of the next aggregate.
func (p *plan) domain(ctx context.Context, r warehouse.Repair) (*chunk, error) {
	if p.types == nil {
		all, err := eventstore.AllTypes.Collect(ctx, p.x.t, struct{}{})
		if err != nil {
			return nil, err
		}
		p.types = []string{}
		for _, t := range all {
			p.types = append(p.types, t.Type)
		}
		slices.Sort(p.types)
	}
	c := newChunk(r)
	i, found := slices.BinarySearch(p.types, r.Key)
	if found && r.Sub == theEnd {
		i++
	}
	if i == len(p.types) {
		return c.begin(""), nil
	}
	c.next.Dataset, c.next.Key, c.doing = warehouse.DomainEvents, p.types[i], "events of aggregates "+p.types[i]
	if p.types[i] != r.Key {
		c.next.Sub, c.next.At = "", 0
	}
	for h, err := range eventstore.AggregatesOfType.All(ctx, p.x.t, eventstore.AggregatesIn{Type: p.types[i]}) {
		if err != nil {
			return nil, err
		}
		if h.ID.ID <= c.next.Sub {
			continue
		}
		if enough, err := p.aggregate(ctx, c, h.ID); err != nil || enough {
			return c, err
		}
	}
	c.next.Sub, c.next.At = theEnd, 0
	return c, nil
}

// aggregate reads the remaining events of an aggregate, until there are enough.
func (p *plan) aggregate(ctx context.Context, c *chunk, id eventstore.ID) (enough bool, err error) {
	store, err := eventstore.New(p.x.t, eventstore.Options{})
	if err != nil {
		return false, err
	}
	for e, err := range store.Read(ctx, id, eventstore.From(c.next.At+1), eventstore.AsStored(), eventstore.Kept()) {
		if err != nil {
			return false, err
		}
		if c.rows >= p.limit {
			return true, nil
		}
		v, err := domainVersion(&e)
		if err != nil {
			return false, err
		}
		c.put(v)
		c.next.At = e.Seq
	}
	c.next.Sub, c.next.At = id.ID, 0
	return false, nil
}
