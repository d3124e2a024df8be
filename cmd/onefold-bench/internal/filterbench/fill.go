package filterbench

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/internal/referral"
	"github.com/onefold/onefold/internal/traffic"
	"github.com/onefold/onefold/table"
)

const (
	site          = "bench"
	tableName     = "bench"
	eventsOfVisit = 3
	leastOfDay    = 100 // events
	mostDays      = 700

	together = 4_000 // minimum number of events stored together, as in an import
	span     = 5 * time.Minute
)

// start is the start of the traffic.
var start = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)

func options(clock func() time.Time) engine.Options {
	return engine.Options{Clock: clock, TTLInterval: -1}
}

// fill stores generated traffic, unless the directory has a complete table. It returns
// the number of events.
func fill(ctx context.Context, o Options) (events int64, filled bool, err error) {
	done := filepath.Join(o.Dir, "filled-"+strconv.Itoa(o.Events)+"-"+strconv.Itoa(o.Days)+"-"+strconv.FormatUint(o.Seed, 10))
	if text, err := os.ReadFile(done); err == nil {
		events, err = strconv.ParseInt(string(text), 10, 64)
		return events, false, err
	}
	with := options(func() time.Time { return start })
	with.NoSync = true
	db, err := engine.Open(o.Dir, with)
	if err != nil {
		return 0, false, err
	}
	defer func() {
		if err = errors.Join(err, db.Close()); err == nil {
			err = os.WriteFile(done, strconv.AppendInt(nil, events, 10), 0o600)
		}
	}()
	if err := analytics.Schema.Ensure(ctx, db, tableName); err != nil {
		return 0, true, err
	}
	t := table.New(db, tableName, table.Options{Clock: with.Clock})
	s, err := analytics.CreateSite(ctx, t, analytics.NewSite{ID: site, TimeZone: "UTC", Retention: analytics.Retention{RawDays: o.Days + 30}})
	if err != nil {
		return 0, true, err
	}
	events, err = store(ctx, t, &s, o)
	return events, true, err
}

// store stores the traffic's events up to now, in blocks, some spans of blocks at a time.
func store(ctx context.Context, t *table.Table, s *analytics.Site, o Options) (stored int64, err error) {
	g, err := traffic.New(traffic.Options{
		Kind: traffic.Shop, Seed: o.Seed, Start: start, Days: o.Days + 1, VisitsPerDay: max(o.Events/o.Days/eventsOfVisit, 1), EventsPerVisit: eventsOfVisit, Pages: 2000,
	})
	if err != nil {
		return 0, err
	}
	var events []analytics.Event
	flush := func() error {
		if err := storeBlocks(ctx, t, events, o); err != nil {
			return err
		}
		stored += int64(len(events))
		events = events[:0]
		return ctx.Err()
	}
	last, number := start, uint64(0)
	now := later{days: o.Days}
	for e := range g.Events() {
		if !e.At.Before(now.now()) {
			break
		}
		if at := e.At.Truncate(span); at.After(last) && len(events) >= together {
			last = at
			if err := flush(); err != nil {
				return stored, err
			}
		}
		number++
		events = append(events, eventOf(s, &e, number, o.Days+30))
	}
	err = flush()
	return stored, err
}

func storeBlocks(ctx context.Context, t *table.Table, events []analytics.Event, o Options) error {
	blocks, err := analytics.Pack(events, start.AddDate(0, 0, o.Days))
	if err != nil {
		return err
	}
	for _, err := range analytics.StoreEvents.RunMany(ctx, t, blocks, 16) {
		if err != nil {
			return err
		}
	}
	return nil
}

// storeVisit stores a visit of now that no question selects.
func storeVisit(ctx context.Context, t *table.Table, o Options) error {
	s, err := analytics.GetSite(ctx, t, site)
	if err != nil {
		return err
	}
	e := traffic.Event{At: t.Now(), Path: "/", Country: "AQ"}
	return storeBlocks(ctx, t, []analytics.Event{eventOf(&s, &e, rand.Uint64(), o.Days+30)}, o)
}

// eventOf returns an event in the form in which a collector stores it: with a visitor ID of the day
// and a resolved source.
func eventOf(s *analytics.Site, e *traffic.Event, number uint64, keepDays int) (out analytics.Event) {
	var id ulid.ULID
	_ = id.SetTime(uint64(e.At.UnixMilli())) // fails only for times outside of UUIDs' range
	binary.BigEndian.PutUint64(id[6:], number*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint16(id[14:], uint16(number))
	visitor := fnv.New64a()
	_, _ = visitor.Write([]byte(e.VisitorIP + e.UserAgent + e.At.Format(time.DateOnly))) // a hash never returns an error
	out.VisitorID = strconv.FormatUint(visitor.Sum64(), 36)
	out.VisitorShard = table.Shard(out.VisitorID, s.Sharding.At(e.At))
	out.EventKey = analytics.EventKey{SiteID: site, Shard: out.VisitorShard, EventID: id.String()}
	out.Name, out.Path, out.Host, out.Properties = e.Name, e.Path, "example.com", e.Properties
	out.Source = referral.Of(e.Referrer, referral.Address{Host: "example.com", Path: e.Path}, []string{"example.com"})
	out.UTM = referral.UTM{Source: e.UTM.Source, Medium: e.UTM.Medium, Campaign: e.UTM.Campaign}
	out.Country, out.Screen, out.Language = e.Country, e.Screen, e.Language
	out.Browser, out.OS, out.Device = "Firefox", "Linux", "desktop"
	if e.RevenueCents > 0 {
		out.Revenue = strconv.FormatFloat(float64(e.RevenueCents)/100, 'f', -1, 64)
	}
	out.ExpiresAt = e.At.AddDate(0, 0, keepDays).Truncate(time.Second)
	return out
}
