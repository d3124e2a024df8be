package analytics

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/table"
)

// wire is a connection to a store that can be cut.
type wire struct {
	dynamo.API
	cut   bool
	loses string // fails requests for sort keys with this prefix; "" means none
}

// passes fails a request about an item as dynamo/resilient does when the store is unreachable.
func (w *wire) passes(key map[string]types.AttributeValue) error {
	sk, _ := key[table.AttrSK].(*types.AttributeValueMemberS)
	if w.cut || w.loses != "" && sk != nil && strings.HasPrefix(sk.Value, w.loses) {
		return &dynamo.Failure{Kind: dynamo.Unreachable, After: time.Second}
	}
	return nil
}

func (w *wire) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if err := w.passes(in.Key); err != nil {
		return nil, err
	}
	return w.API.GetItem(ctx, in, o...)
}

func (w *wire) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := w.passes(in.Item); err != nil {
		return nil, err
	}
	return w.API.PutItem(ctx, in, o...)
}

func (w *wire) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if err := w.passes(nil); err != nil {
		return nil, err
	}
	return w.API.Query(ctx, in, o...)
}

// far is a server that keeps events while the connection to its store is cut. It also holds what
// the server must know.
type far struct {
	*world
	wire  *wire
	spool *spool.Spool
	dir   string
	c     *Collector

	contact time.Time       // when it last read the site's settings; zero means never
	days    map[string]bool // days whose salts it has
}

func (w *world) newFar() *far {
	w.Helper()
	f := &far{world: w, wire: &wire{API: w.DB}, dir: w.TempDir(), days: map[string]bool{}}
	var err error
	f.spool, err = spool.Open(f.dir, spool.Options{})
	w.Must(err)
	w.Cleanup(func() { w.Must(f.spool.Close()) })
	f.c = NewCollector(table.New(f.wire, w.Table.Name(), table.Options{Clock: w.Now}), CollectorOptions{Spool: f.spool})
	return f
}

// send sends a visitor's event of a time and returns its outcome: "" if the store was needed.
func (f *far) send(visitor int, at time.Time) (id string, became Status) {
	f.Helper()
	id = newULID(uint64(at.UnixMilli()), rand.Uint64(), uint16(visitor)).String()
	outcomes, err := f.c.Ingest(f.Ctx, "site", []Hit{{EventID: id, URL: "https://example.com/", Address: fmt.Sprintf("192.0.2.%d", visitor), UserAgent: "test"}})
	if err != nil {
		if !dynamo.IsUnavailable(err) || len(outcomes) > 0 && outcomes[0].Status != "" {
			f.Fatalf("%+v, %v", outcomes, err)
		}
		return id, ""
	}
	return id, outcomes[0].Status
}

// store stores what was kept.
func (f *far) store() {
	f.Helper()
	for sink := f.c.Sinks()[spooledEvent]; ; {
		records, pos, err := f.spool.Peek(7)
		f.Must(err)
		if len(records) == 0 {
			return
		}
		bodies := make([][]byte, len(records))
		for i := range records {
			bodies[i] = records[i].Body
		}
		if rejected, err := sink(f.Ctx, bodies); err != nil || len(rejected) > 0 {
			f.Fatalf("%d are refused: %v", len(rejected), err)
		}
		f.Must(f.spool.Done(pos))
	}
}

// learn records what a server learns from its store when an event of a day arrives.
func (f *far) learn(cal calendar.Zone, day string) {
	f.contact = f.Now()
	today := cal.Day(f.contact)
	for known := range f.days {
		if known < calendar.ShiftDay(today, -int(saltsKept)) {
			delete(f.days, known)
		}
	}
	f.days[today], f.days[calendar.ShiftDay(today, 1)], f.days[day] = true, true, true
}

// mayKeep reports whether a server must be able to keep an event of a day while its store is
// unreachable.
func (f *far) mayKeep(day string) bool {
	return !f.contact.IsZero() && f.Now().Before(f.contact.Add(siteLifetime+staleFor)) && f.days[day]
}

// noAddress fails if an address or a user agent is on disk.
func (f *far) noAddress() {
	f.Helper()
	f.Must(fs.WalkDir(os.DirFS(f.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(f.dir + "/" + name)
		if bytes.Contains(b, []byte("192.0.2.")) || bytes.Contains(b, []byte("userAgent")) {
			f.Errorf("%s holds an address or a user agent", name)
		}
		return err
	}))
}

// Two servers receive events of the same visitors over several days. Each loses its store for hours
// at times, also over midnights and clock changes. In the end, every acknowledged event is stored
// exactly once. A visitor has one ID per day, wherever and whenever the events arrived, and a
// different one the next day. A server rejects events only if it lacks what it must know.
func TestSpooledEventsOverMidnight(t *testing.T) {
	for _, c := range []struct {
		zone  string
		start time.Time
	}{
		{"UTC", noon}, {"Europe/Berlin", time.Date(2026, 10, 23, 17, 0, 0, 0, time.UTC)}, {"America/New_York", time.Date(2026, 3, 7, 9, 0, 0, 0, time.UTC)}, {"Asia/Kathmandu", noon},
	} {
		t.Run(c.zone, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			w := newWorld(t, c.start)
			site := w.site("site", c.zone)
			cal, err := calendar.LoadZone(c.zone)
			w.Must(err)
			servers := []*far{w.newFar(), w.newFar()}
			sent, visitorOf := map[string]Status{}, map[string]string{}
			for range 250 {
				w.Advance(time.Duration(1+r.IntN(25)) * time.Minute)
				f := servers[r.IntN(2)]
				if r.IntN(6) == 0 {
					f.wire.cut = !f.wire.cut
				}
				at := w.Now().Add(-time.Duration(r.IntN(2)*r.IntN(5*3600)) * time.Second)
				visitor, day := r.IntN(3), cal.Day(at)
				want := []Status{Stored, Queued}
				switch {
				case !f.wire.cut:
					f.learn(cal, day)
				case f.mayKeep(day):
					want = []Status{Queued}
				default:
					want = []Status{""}
				}
				id, became := f.send(visitor, at)
				if !slices.Contains(want, became) {
					t.Fatalf("at %s, store away: %t since %s: an event of %s: %q, want %q", w.Now(), f.wire.cut, f.contact, at, became, want)
				}
				if became != "" {
					sent[id], visitorOf[id] = became, fmt.Sprint(visitor, " on ", day)
				}
				f.noAddress()
				if !f.wire.cut && r.IntN(2) == 0 {
					f.store()
				}
			}
			for _, f := range servers {
				f.wire.cut = false
				f.store()
			}
			w.checkVisitors(site, sent, visitorOf)
			w.checkSalts(cal)
		})
	}
}

// checkVisitors compares the stored events with the acknowledged ones, and their visitors with
// their senders.
func (w *world) checkVisitors(site Site, sent map[string]Status, visitorOf map[string]string) {
	w.Helper()
	ids, owners := map[string]string{}, map[string]string{}
	there := w.events(site, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), w.Now().Add(time.Hour))
	queued := 0
	for _, e := range there {
		who := visitorOf[e.EventID]
		if ids[who] == "" {
			ids[who] = e.VisitorID
		}
		if owner := owners[e.VisitorID]; who == "" || ids[who] != e.VisitorID || owner != "" && owner != who {
			w.Errorf("event %s of %q is of visitor %s, who is %q; others of that day are of %s", e.EventID, who, e.VisitorID, owner, ids[who])
		}
		if owners[e.VisitorID] = who; sent[e.EventID] == Queued {
			queued++
		}
	}
	if len(there) != len(sent) || queued == 0 {
		w.Errorf("%d events are there of %d, %d of which waited", len(there), len(sent), queued)
	}
}

// checkSalts checks that every salt expires two days after its day, although it was created a day
// early. It expires later only if the first event of the day came after the day, by at most five
// hours.
func (w *world) checkSalts(cal calendar.Zone) {
	w.Helper()
	for _, sk := range w.saltItems() {
		_, end, err := cal.Bounds(strings.TrimPrefix(sk, "SALT#"))
		w.Must(err)
		out, err := w.DB.GetItem(w.Ctx, &dynamodb.GetItemInput{TableName: new(w.Table.Name()), Key: table.Item{
			table.AttrPK: &types.AttributeValueMemberS{Value: "SITE#site"}, table.AttrSK: &types.AttributeValueMemberS{Value: sk}}})
		w.Must(err)
		ttl, ok := out.Item[table.AttrTTL].(*types.AttributeValueMemberN)
		if !ok {
			w.Fatalf("%s: %v", sk, out.Item)
		}
		at, err := strconv.ParseInt(ttl.Value, 10, 64)
		w.Must(err)
		if left := time.Unix(at, 0).Sub(end); left < saltLifetime || left > saltLifetime+5*time.Hour {
			w.Errorf("%s goes %s after its day", sk, left)
		}
	}
}

// A server has today's salt but could not read tomorrow's. It keeps events until midnight, and then
// rejects events and keeps nothing of them. As soon as its store is reachable for a moment, it has
// what it needs.
func TestSaltOfTomorrowFails(t *testing.T) {
	w := newWorld(t, time.Date(2026, 5, 12, 21, 30, 0, 0, time.UTC))
	w.site("site", "UTC")
	f := w.newFar()
	f.wire.loses = "SALT#2026-05-13"
	expect := func(want Status) {
		t.Helper()
		if _, became := f.send(1, w.Now()); became != want {
			t.Errorf("at %s: %q, want %q", w.Now(), became, want)
		}
	}
	expect(Stored)
	f.wire.cut = true
	w.Advance(2 * time.Hour)
	expect(Queued)
	w.Advance(time.Hour) // it is the next day
	expect("")
	if n := f.spool.Stats().Records; n != 1 {
		t.Errorf("%d wait", n)
	}
	if salts := w.saltItems(); len(salts) != 1 {
		t.Errorf("salts %v", salts)
	}
	f.wire.cut, f.wire.loses = false, ""
	expect(Queued) // queued after the one that waits
	if salts := w.saltItems(); len(salts) != 3 {
		t.Errorf("salts %v", salts)
	}
	f.wire.cut = true
	w.Advance(23*time.Hour + 45*time.Minute) // and the day after that
	expect(Queued)
	w.Advance(time.Hour) // settings are valid for a day
	expect("")
	f.wire.cut = false
	f.store()
	expect(Stored)
}

// What a server knows of yesterday's visitors stays when it reads the site's settings again,
// because their last events arrive late. It is dropped if the site is a new one or its number of
// shards changed.
func TestSaltOfYesterdayStays(t *testing.T) {
	w := newWorld(t, time.Date(2026, 5, 12, 23, 50, 0, 0, time.UTC))
	site := w.site("site", "UTC")
	f := w.newFar()
	before := w.Now()
	for range 2 {
		if _, became := f.send(1, w.Now()); became != Stored {
			t.Fatal(became)
		}
		w.Advance(20 * time.Minute)
	}
	f.wire.cut = true
	if _, became := f.send(1, before); became != Queued {
		t.Errorf("an event of yesterday: %q", became)
	}
	cal, err := calendar.LoadZone("UTC")
	w.Must(err)
	older := &siteState{site: site, days: map[siteDay]*dayState{}}
	today := dayNumber(w.Now(), 0)
	for back := range int64(5) {
		older.days[siteDay{today - back, false}], older.days[siteDay{today - back, true}] = &dayState{}, &dayState{}
	}
	adopted := func(newer Site) int {
		s := &siteState{site: newer, cal: cal, days: map[siteDay]*dayState{}}
		s.adopt(older, w.Now())
		s.adopt(nil, w.Now())
		return len(s.days)
	}
	again, spread := site, site
	again.CreatedAt = again.CreatedAt.Add(time.Second)
	spread.Sharding = append(slices.Clone(spread.Sharding), spread.Sharding...)
	if n := adopted(site); n != 2 {
		t.Errorf("%d days are taken over", n)
	}
	if n := adopted(again) + adopted(spread); n != 0 || len(site.Sharding) == 0 {
		t.Errorf("%d days are taken over from another site", n)
	}
}

// A server without a spool creates no salt before its day, because nothing would use it.
func TestNoSaltBeforeItsDay(t *testing.T) {
	w := newWorld(t, noon)
	w.site("site", "UTC")
	w.ingest("site", Hit{Path: "/", Address: "192.0.2.1"})
	if salts := w.saltItems(); len(salts) != 1 {
		t.Errorf("salts %v", salts)
	}
}
