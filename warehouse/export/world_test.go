package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/readings"
	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/warehousetest"
)

var schema = table.MustSchema("all", analytics.Schema, telemetry.Schema, eventstore.Schema)

var start = time.Date(2026, 4, 20, 9, 30, 0, 0, time.UTC)

// world is an in-memory table with facts of all kinds, and a warehouse.
type world struct {
	*foldtest.World
	objects warehouse.Objects // as the exporter sees them
	memory  *warehousetest.Memory
	random  *rand.Rand

	devices *telemetry.Collector
	store   *eventstore.Store
	stream  string
	flush   int
	expired map[string][]warehouse.Row // facts that expired, by item: they stay in the warehouse
	number  int
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{memory: warehousetest.NewMemory(), random: rand.New(rand.NewPCG(seed, 7)), flush: 300, expired: map[string][]warehouse.Row{}}
	w.objects = w.memory
	w.World = foldtest.NewWorld(t, foldtest.Setup{
		Schema: schema, Group: "all", At: start, Engine: engine.Options{StreamShards: 3, RollEvery: 150},
		Folds: func(t *table.Table) []*fold.Fold {
			return eventstore.Folds()[:1] // the aggregate types, which the exporter uses to find aggregates
		},
	})
	for _, id := range []string{"shop", "blog", "a b"} {
		w.Must(analytics.Sites.Put(w.Ctx, w.Table, site(id)))
	}
	var err error
	w.store, err = eventstore.New(w.Table, eventstore.Options{PageBytes: 400})
	w.Must(err)
	w.devices = telemetry.NewCollector(w.Table, telemetry.CollectorOptions{})
	_, err = telemetry.CreateFleet(w.Ctx, w.Table, telemetry.NewFleet{ID: "plant", TimeZone: "Europe/Berlin"})
	w.Must(err)
	for i := range 5 {
		_, err = telemetry.CreateDevice(w.Ctx, w.Table, telemetry.NewDevice{ID: fmt.Sprintf("d%d", i), FleetID: "plant"})
		w.Must(err)
	}
	described, err := w.DB.DescribeTable(w.Ctx, &dynamodb.DescribeTableInput{TableName: new(w.Table.Name())})
	w.Must(err)
	w.stream = *described.Table.LatestStreamArn
	return w
}

func site(id string) *analytics.Site {
	return &analytics.Site{
		SiteKey: analytics.SiteKey{SiteID: id}, OwnerID: analytics.DefaultOwner, TimeZone: "UTC", CreatedAt: start.Add(-time.Hour),
		Sharding: table.Shards(2), ImportKey: []byte("key"),
	}
}

// exporter returns an exporter of a new process.
func (w *world) exporter() *Exporter {
	w.Helper()
	house, err := warehouse.Open(w.Ctx, w.objects, warehouse.Options{Clock: w.Now, Temp: w.TempDir()})
	if errors.Is(err, warehousetest.ErrFault) {
		return nil
	}
	w.Must(err)
	return New(house, w.Table, streamsource.New(w.DB, w.stream), Options{
		Stream: w.stream, FlushRows: w.flush, Logger: slog.New(slog.DiscardHandler),
		Sleep:      func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		Compaction: warehouse.Compaction{Target: 20_000, AtOnce: 4},
	})
}

// facts returns the rows of all raw facts of the table, by item.
func (w *world) facts() map[string][]warehouse.Row {
	w.Helper()
	all := map[string][]warehouse.Row{}
	in := &dynamodb.ScanInput{TableName: new(w.Table.Name())}
	for {
		out, err := w.DB.Scan(w.Ctx, in)
		w.Must(err)
		for _, it := range out.Items {
			entity := it[table.AttrEntity].(*types.AttributeValueMemberS).Value
			if !wanted(entity) && entity != readings.Segments.Name() || entity == readings.Removals.Name() || entity == analytics.Sites.Name() || entity == telemetry.Fleets.Name() {
				continue
			}
			if entity == analytics.Blocks.Name() {
				events, err := blockVersions(it)
				w.Must(err)
				for at, v := range events {
					if len(v.rows) > 0 {
						all[fmt.Sprint(text(it[table.AttrPK]), "|", at.key)] = v.rows
					}
				}
				continue
			}
			if some, are := w.readingsOf(entity, it); are {
				for i := range some {
					v := readingVersion(&some[i])
					all[fmt.Sprint(some[i].FleetID, "|", v.key)] = v.rows
				}
				continue
			}
			for _, e := range w.domainEvents(entity, it) {
				v, err := domainVersion(&e)
				w.Must(err)
				all[fmt.Sprint(text(it[table.AttrPK]), "|", e.Seq)] = v.rows
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; out.LastEvaluatedKey == nil {
			return all
		}
	}
}

// domainEvents returns the events of a head or a page.
func (w *world) domainEvents(entity string, it table.Item) (all []eventstore.Event) {
	w.Helper()
	var id eventstore.ID
	var records []eventstore.Record
	if entity == eventstore.Heads.Name() {
		h, err := eventstore.Heads.Decode(it)
		w.Must(err)
		id, records = h.ID, h.Records
	} else {
		p, err := eventstore.Pages.Decode(it)
		w.Must(err)
		id, records = p.ID, p.Records
	}
	for _, r := range records {
		var err error
		all, err = r.Events(id, all)
		w.Must(err)
	}
	return all
}

// readingsOf returns the readings of an item, if it is an item with readings.
func (w *world) readingsOf(entity string, it table.Item) (all []telemetry.Reading, are bool) {
	w.Helper()
	switch entity {
	case readings.Blocks.Name():
		block, err := readings.Blocks.Decode(it)
		w.Must(err)
		all, err = block.Readings()
		w.Must(err)
	case readings.Segments.Name():
		segment, err := readings.Segments.Decode(it)
		w.Must(err)
		all, err = segment.Readings()
		w.Must(err)
	default:
		return nil, false
	}
	return slices.DeleteFunc(all, func(r telemetry.Reading) bool { return !r.ExpiresAt.After(w.Now()) }), true
}

func text(v types.AttributeValue) string { return v.(*types.AttributeValueMemberS).Value }

// compare checks that the warehouse has what it must have.
func (w *world) compare() {
	w.Helper()
	house, err := warehouse.Open(w.Ctx, w.memory, warehouse.Options{Clock: w.Now})
	w.Must(err)
	want := map[string]int{}
	facts := w.facts()
	for key, rows := range w.expired {
		if _, again := facts[key]; !again {
			facts[key] = rows
		}
	}
	for _, rows := range facts {
		for _, r := range rows {
			want[rowText(r)]++
		}
	}
	listed := []string{}
	for _, f := range house.Files() {
		listed = append(listed, f.Path)
		w.Must(house.Verify(w.Ctx, f))
		n := int64(0)
		for r, err := range house.Rows(w.Ctx, f) {
			w.Must(err)
			want[rowText(r)]--
			n++
			if at := r.Key().At; at < f.Min || at > f.Max || time.UnixMilli(at).UTC().Format(time.DateOnly) != f.Partition.Date {
				w.Errorf("%s has a row of %s", f.Path, time.UnixMilli(at).UTC())
			}
		}
		if n != f.Rows {
			w.Errorf("%s has %d rows, not %d", f.Path, n, f.Rows)
		}
	}
	missing, extra := 0, 0
	for text, n := range want {
		if n == 0 {
			continue
		}
		if n > 0 {
			missing++
		} else {
			extra++
		}
		if missing+extra < 6 {
			w.Errorf("%+d: %.400s", -n, text)
		}
	}
	if missing+extra > 0 {
		w.Fatalf("%d rows are missing, %d should not be there, of %d", missing, extra, len(want))
	}
	there := slices.DeleteFunc(w.memory.Names(), func(n string) bool { return strings.HasPrefix(n, "_log/") })
	slices.Sort(listed)
	if !slices.Equal(there, listed) {
		w.Errorf("there are %d files, and the log names %d", len(there), len(listed))
	}
}

func rowText(r warehouse.Row) string { return fmt.Sprintf("%T%s", r, jsonOf(r)) }

// event generates an event of a site, mostly of the last days.
func (w *world) event(siteID string) *analytics.Event {
	w.number++
	at := w.Now().Add(-time.Duration(w.random.ExpFloat64()*float64(5*time.Hour)) - time.Duration(w.random.IntN(2))*24*time.Hour)
	var id ulid.ULID
	w.Must(id.SetTime(ulid.Timestamp(at)))
	id[15], id[14], id[13] = byte(w.number), byte(w.number>>8), byte(w.number>>16)
	e := &analytics.Event{
		EventKey: analytics.EventKey{SiteID: siteID, Shard: w.random.IntN(2), EventID: id.String()}, VisitorID: fmt.Sprint("v", w.random.IntN(9)),
		Path: fmt.Sprint("/p", w.random.IntN(5)), Properties: map[string]string{"n": fmt.Sprint(w.number)},
	}
	e.Country, e.UTM.Source = "DE", "mail"
	if w.random.IntN(3) == 0 {
		e.Name, e.Revenue, e.CLS = "buy", "12.50", new(float64)
	}
	e.ExpiresAt = w.Now().Add(time.Duration(2+w.random.IntN(60)) * time.Hour)
	return e
}

// someEvents reads existing events of a site.
func (w *world) someEvents(siteID string, n int) (some []analytics.Event) {
	s, err := analytics.SiteByID.Get(w.Ctx, w.Table, analytics.SiteIn{SiteID: siteID})
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	w.Must(err)
	all, err := analytics.EventsBetween(&s, start.Add(-1000*time.Hour), w.Now().Add(time.Hour), "").Collect(w.Ctx, w.Table)
	w.Must(err)
	w.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}

func (w *world) siteID() string { return []string{"shop", "blog", "a b"}[w.random.IntN(3)] }

// write makes a random change to the table, or lets time pass so that facts expire.
func (w *world) write() {
	if w.random.IntN(10) == 0 {
		w.expire(time.Duration(w.random.IntN(300)) * time.Minute)
		return
	}
	w.writeNow()
}

// writeNow makes one random change to the table, without advancing the clock.
func (w *world) writeNow() {
	switch k := w.random.IntN(18); {
	case k < 9:
		w.visit()
	case k < 12:
		w.readings()
	case k < 14:
		w.append()
	case k < 16: // a goal is noted, and people are erased
		w.erase()
	case k == 16:
		for id := range 5 {
			w.move(fmt.Sprint("d", id))
		}
	case w.random.IntN(3) == 0:
		w.deleteSite(w.siteID())
	}
}

// visit stores events of a site.
func (w *world) visit() {
	id := w.siteID()
	var events []analytics.Event
	for range w.random.IntN(60) {
		events = append(events, *w.event(id))
	}
	for len(events) > 0 {
		n := 1 + w.random.IntN(len(events))
		blocks, err := analytics.Pack(events[:n], w.Now())
		w.Must(err)
		for i := range blocks {
			w.Must(analytics.Blocks.Create(w.Ctx, w.Table, &blocks[i]))
		}
		events = events[n:]
	}
}

// erase takes some events back, and notes a goal on others.
func (w *world) erase() {
	for i, e := range w.someEvents(w.siteID(), 6) {
		if i < 3 {
			w.rewrite(e.EventKey, func(e *analytics.Event) analytics.Rewrite { e.Erased = true; return analytics.Change })
			w.rewrite(e.EventKey, func(*analytics.Event) analytics.Rewrite { return analytics.Drop })
			continue
		}
		goals := analytics.Conversions{{Goal: "g", Count: 1, Revenue: fmt.Sprint(w.random.IntN(9))}}
		w.rewrite(e.EventKey, func(e *analytics.Event) analytics.Rewrite { e.Goals = goals; return analytics.Change })
	}
}

func (w *world) rewrite(k analytics.EventKey, change func(*analytics.Event) analytics.Rewrite) {
	_, err := analytics.OneEvent(k).Rewrite(w.Ctx, w.Table, func(e *analytics.Event) (analytics.Rewrite, error) { return change(e), nil })
	w.Must(err)
}

// expire lets time pass, and records what expires.
func (w *world) expire(d time.Duration) {
	before := w.facts()
	w.Advance(d)
	_, err := w.DB.ExpireNow(w.Ctx)
	w.Must(err)
	after := w.facts()
	for key, rows := range before {
		if _, there := after[key]; !there {
			w.expired[key] = rows
		}
	}
}

func (w *world) readings() {
	var in []telemetry.Incoming
	for range w.random.IntN(40) {
		w.number++
		n, err := telemetry.Number(fmt.Sprintf("%d.%02d", w.random.IntN(100), w.random.IntN(100)))
		w.Must(err)
		in = append(in, telemetry.Incoming{
			DeviceID: fmt.Sprint("d", w.random.IntN(5)), At: w.Now().Add(-time.Duration(w.random.IntN(40*3600)) * time.Second),
			Values: telemetry.Values{"temp": n, "mode": telemetry.Text("auto"), "door": telemetry.Bool(w.number%2 == 0)},
		})
	}
	_, err := w.devices.Ingest(w.Ctx, in)
	w.Must(err)
}

// move moves readings into segments, and deletes some of a device, as a purge does.
func (w *world) move(device string) {
	_, err := telemetry.MoveReadings(w.Ctx, w.Table)
	w.Must(err)
	n, random := 0, rand.New(rand.NewPCG(uint64(w.number), 9))
	for s, err := range readings.SegmentsByHour.All(w.Ctx, w.Table, readings.SegmentsIn{DeviceID: device}) {
		w.Must(err)
		if random.IntN(4) > 0 {
			continue
		}
		_, err = readings.Remove(w.Ctx, w.Table, s.FleetID, readings.SegmentsIn{DeviceID: device, From: s.Hour, To: s.Hour + "$"})
		w.Must(err)
		if n++; n == 3 {
			return
		}
	}
}

func (w *world) append() {
	id := eventstore.ID{Type: "order", ID: fmt.Sprint("o", w.random.IntN(30))}
	var events []eventstore.NewEvent
	filler := ""
	if w.random.IntN(60) == 0 { // too much for the head
		filler = strings.Repeat("x", 120<<10)
	}
	for range 1 + w.random.IntN(4) {
		w.number++
		events = append(events, eventstore.NewEvent{
			Type: []string{"Placed", "Paid", "Sent"}[w.random.IntN(3)], Payload: fmt.Appendf(nil, `{"n":%d,"filler":%q}`, w.number, filler),
			Envelope: eventstore.Envelope{Actor: "me", Metadata: map[string]string{"k": "v"}, Tags: []string{"t1", "a \"b\""}},
		})
	}
	_, err := w.store.Append(w.Ctx, id, eventstore.Any(), events)
	w.Must(err)
}

// deleteSite deletes a site as package erasure does, and sometimes creates it again.
func (w *world) deleteSite(id string) {
	s := site(id)
	s.DeletedAt = w.Now()
	w.Must(analytics.Sites.Put(w.Ctx, w.Table, s))
	for _, e := range w.someEvents(id, 1<<20) {
		w.rewrite(e.EventKey, func(*analytics.Event) analytics.Rewrite { return analytics.Drop })
	}
	for key := range w.expired {
		if strings.HasPrefix(key, "SITE#"+id+"#") {
			delete(w.expired, key)
		}
	}
	w.Must(analytics.Sites.Delete(w.Ctx, w.Table, s.SiteKey))
	again := site(id)
	again.CreatedAt = w.Now()
	w.Must(analytics.Sites.Put(w.Ctx, w.Table, again))
}
