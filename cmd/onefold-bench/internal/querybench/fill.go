package querybench

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"iter"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/internal/referral"
	"github.com/onefold/onefold/internal/traffic"
	"github.com/onefold/onefold/warehouse"
)

const (
	site          = "bench"
	days          = 30
	eventsOfVisit = 3
)

// start is the start of the month.
var start = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)

// fill writes a month of generated traffic, one file per day.
func fill(ctx context.Context, w *warehouse.Warehouse, events int, seed uint64) error {
	g, err := traffic.New(traffic.Options{Kind: traffic.Shop, Seed: seed, Start: start, Days: days, VisitsPerDay: max(events/days/eventsOfVisit, 1), EventsPerVisit: eventsOfVisit, Pages: 2000})
	if err != nil {
		return err
	}
	next, stop := iter.Pull(g.Events())
	defer stop()
	e, more := next()
	number := uint64(0)
	entry := &warehouse.Entry{Why: "bench"}
	for more {
		p := warehouse.PartitionOf(warehouse.Events, site, e.At.UnixMilli())
		f, _, err := w.WriteFile(ctx, p, func(yield func(warehouse.Row, error) bool) {
			for more && warehouse.PartitionOf(warehouse.Events, site, e.At.UnixMilli()) == p && ctx.Err() == nil {
				number++
				if !yield(rowOf(&e, number), nil) {
					return
				}
				e, more = next()
			}
		})
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		entry.Add = append(entry.Add, f)
	}
	return w.Commit(ctx, w.Version(), entry)
}

// rowOf returns the row of an event, with a visitor ID of the day and a resolved source.
func rowOf(e *traffic.Event, number uint64) *warehouse.EventRow {
	var id ulid.ULID
	_ = id.SetTime(uint64(e.At.UnixMilli())) // fails only for times outside of UUIDs' range
	binary.BigEndian.PutUint64(id[8:], number)
	visitor := fnv.New64a()
	_, _ = visitor.Write([]byte(e.VisitorIP + e.UserAgent + e.At.Format(time.DateOnly)))
	from := referral.Of(e.Referrer, referral.Address{Host: "example.com", Path: e.Path}, []string{"example.com"})
	row := &warehouse.EventRow{
		Time: e.At.UnixMilli(), EventID: id.String(), VisitorID: strconv.FormatUint(visitor.Sum64(), 36), Kind: "pageview", Name: e.Name, Path: e.Path, Hostname: "example.com",
		Referrer: from.Referrer, Source: from.Name, Channel: from.Channel, UTMSource: e.UTM.Source, UTMMedium: e.UTM.Medium, UTMCampaign: e.UTM.Campaign,
		EventClient: warehouse.EventClient{Country: e.Country, Browser: "Firefox", OS: "Linux", Device: "desktop", Screen: e.Screen, Language: e.Language},
	}
	if e.Name != "" {
		row.Kind = "event"
	}
	if e.RevenueCents > 0 {
		value := float64(e.RevenueCents) / 100
		row.Revenue, row.RevenueValue = strconv.FormatFloat(value, 'f', -1, 64), &value
	}
	return row
}
