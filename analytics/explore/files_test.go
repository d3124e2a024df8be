package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// library is an Explorer with files that restarts, and tells what it reported.
type library struct {
	*shop
	dir    string
	o      FilesOptions
	x      *Explorer
	t      *table.Table
	k      *keeper
	report []error
}

func newLibrary(w *shop, o FilesOptions) *library {
	l := &library{shop: w, dir: filepath.Join(w.TempDir(), "columns"), o: o}
	l.o.Report = func(err error) { l.report = append(l.report, err) }
	l.restart()
	return l
}

// restart opens the files as a new process does.
func (l *library) restart() {
	l.Helper()
	files, err := OpenFiles(l.dir, l.o)
	l.must(err)
	l.t = table.New(Watch(l.db), "shop", table.Options{Clock: l.now})
	l.x = New(l.t, Options{Files: files})
	l.k = &keeper{x: l.x, pace: func(context.Context, time.Time) {}}
}

// keep sweeps often enough that every quiet day has a file.
func (l *library) keep() {
	l.Helper()
	for i := range 2 {
		l.must(l.k.sweep(l.ctx, i == 0))
	}
}

// names returns the days that have files, by their first hour in UTC.
func (l *library) names() (names []string) {
	l.Helper()
	paths, err := filepath.Glob(filepath.Join(l.dir, daysFolder, "*", "*"))
	l.must(err)
	for _, path := range paths {
		key, ok := l.x.o.Files.keyOf(path)
		if !ok {
			l.Errorf("%s is left", path)
		}
		names = append(names, time.Unix(key.from, 0).UTC().Format("01-02T15"))
	}
	return names
}

func (l *library) expect(names ...string) {
	l.Helper()
	if got := l.names(); fmt.Sprint(got) != fmt.Sprint(names) {
		l.Errorf("there are files of %v, want %v", got, names)
	}
}

// ofDays returns hits on each of some days.
func ofDays(random *rand.Rand, n int, days ...string) (hits []analytics.Hit) {
	for _, day := range days {
		hits = append(hits, traffic(random, utc(day+"T03:00"), utc(day+"T20:00"), n)...)
	}
	return hits
}

// Completed days are kept in files, which a restarted process uses, until their events change.
func TestFiles(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T21:00"))
	l := newLibrary(w, FilesOptions{})
	random := rand.New(rand.NewPCG(1, 2))
	w.ingest(ofDays(random, 2*keptEvents, "2026-05-06", "2026-05-07", "2026-05-08", "2026-05-10")...)
	w.ingest(ofDays(random, keptEvents-10, "2026-05-09")...)
	w.rollUp()
	in := report.Request{Site: "shop", From: "2026-05-05", To: "2026-05-10", By: analytics.ByPage}
	l.must(l.k.sweep(l.ctx, true))
	l.expect() // the days may still be changing
	l.must(l.k.sweep(l.ctx, false))
	l.expect("05-06T00", "05-07T00", "05-08T00") // the others have few events, or are not over
	l.restart()
	l.same(l.x, in, firefox)
	for key := range l.x.o.Files.of["shop"] {
		if _, checked := l.x.o.Files.has(key, 0); !checked {
			t.Errorf("the file of %s was not used", time.Unix(key.from, 0))
		}
	}
	events, err := analytics.EventsBetween(&w.site, utc("2026-05-07T00:00"), utc("2026-05-08T00:00"), "").Collect(w.ctx, l.t)
	w.must(err)
	_, err = analytics.OneEvent(events[9].EventKey).Rewrite(w.ctx, l.t, func(*analytics.Event) (analytics.Rewrite, error) { return analytics.Drop, nil })
	w.must(err)
	l.expect("05-06T00", "05-08T00") // nothing is left of an erased event
	l.same(l.x, in, firefox)
	l.expect("05-06T00", "05-07T00", "05-08T00")

	w.ingest(ofDays(random, 20, "2026-05-08")...) // by another process: this one does not notice
	l.restart()
	l.must(l.k.sweep(l.ctx, true))
	l.expect("05-06T00", "05-07T00")
	l.same(l.x, in, firefox)
	l.expect("05-06T00", "05-07T00", "05-08T00")
	for _, after := range []struct { // the shop keeps raw events for 30 days from their arrival
		hours time.Duration
		files []string
	}{{29 * 24, []string{"05-06T00", "05-07T00", "05-08T00", "05-10T00"}}, {12, []string{"05-06T00", "05-07T00", "05-08T00"}}, {24, nil}} {
		w.advance(after.hours * time.Hour)
		w.rollUp()
		l.keep()
		l.expect(after.files...)
	}
	if len(l.report) != 0 {
		t.Errorf("reported %v", l.report)
	}
}

// A file that is damaged in any way is made again, and reported.
func TestDamagedFiles(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	random := rand.New(rand.NewPCG(1, 2))
	w.ingest(ofDays(random, keptEvents+10, "2026-05-06")...)
	w.rollUp()
	l := newLibrary(w, FilesOptions{})
	in := report.Request{Site: "shop", From: "2026-05-05", To: "2026-05-10", By: analytics.ByPage}
	l.same(l.x, in, firefox)
	l.expect("05-06T00")
	path, err := filepath.Glob(filepath.Join(l.dir, daysFolder, "*", "*"))
	w.must(err)
	whole, err := os.ReadFile(path[0])
	w.must(err)
	damages := [][]byte{nil, whole[:10], whole[:len(whole)/2], append(whole[:len(whole):len(whole)], 0)}
	for range 60 {
		flipped := append([]byte{}, whole...)
		flipped[random.IntN(len(flipped))] ^= 1 << random.IntN(8)
		damages = append(damages, flipped)
	}
	reported := 0
	for i, damaged := range damages {
		w.must(os.WriteFile(path[0], damaged, 0o600))
		l.restart()
		l.same(l.x, in, firefox)
		l.expect("05-06T00")
		for key := range l.x.o.Files.of["shop"] {
			if _, packed, err := l.x.o.Files.read(key); err != nil {
				t.Errorf("damage %d is left: %v", i, err)
			} else if _, err := unpack(packed, maxDayBytes/1024); err != nil {
				t.Errorf("damage %d is left: %v", i, err)
			}
		}
		reported += min(len(l.report), 1)
		l.report = nil
	}
	if reported < len(damages)*9/10 { // a changed fingerprint is that of other events
		t.Errorf("%d of %d damages were reported", reported, len(damages))
	}
	w.must(os.WriteFile(filepath.Join(filepath.Dir(path[0]), draftPrefix+"1"), whole, 0o600))
	l.restart()
	l.expect("05-06T00")
	w.must(os.Remove(filepath.Join(l.dir, keyFile)))
	l.restart()
	l.keep()
	l.expect() // its users are numbers of another key
	l.same(l.x, in, firefox)
	l.expect("05-06T00")
}

// A day whose events cannot be read holds up neither other days nor other sites, and is read again only
// once it has changed. A site may have the name of any file.
func TestUnreadableDays(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	l := newLibrary(w, FilesOptions{})
	random := rand.New(rand.NewPCG(1, 2))
	for _, id := range []string{"days", "key"} {
		_, err := analytics.CreateSite(w.ctx, w.table, analytics.NewSite{ID: id, Shards: 1})
		w.must(err)
		w.site.SiteID = id
		w.ingest(ofDays(random, 2*keptEvents, "2026-05-06", "2026-05-07")...)
		w.rollUp()
	}
	for b, err := range analytics.EventsByTime.All(w.ctx, w.table, analytics.BlocksIn{SiteID: "days", From: analytics.FirstID(utc("2026-05-07T00:00")), To: analytics.FirstID(utc("2026-05-08T00:00")), Shards: []int{0}}) {
		w.must(err)
		b.Body = b.Body[:len(b.Body)/2]
		w.must(analytics.Blocks.Put(w.ctx, w.table, &b))
		break
	}
	w.must(os.WriteFile(filepath.Join(l.dir, daysFolder, "notes.txt"), nil, 0o600))
	failed := 0
	for range 5 {
		if err := l.k.sweep(l.ctx, false); err != nil {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d of five sweeps failed", failed)
	}
	l.restart()
	if got := l.x.o.Files.keys(); len(got) != 3 {
		t.Errorf("files of %v", got)
	}
	if _, err := os.Stat(filepath.Join(l.dir, daysFolder, "notes.txt")); err != nil {
		t.Error(err)
	}
	l.o.Full = func() bool { return true }
	l.restart()
	l.must(l.k.sweep(l.ctx, true))
	if got := l.x.o.Files.keys(); len(got) != 0 {
		t.Errorf("on a full disk there are files of %v", got)
	}
}

// Files take at most the bytes that they may. Those that were not used for the longest time go first.
func TestFilesAreLimited(t *testing.T) {
	w := newShop(t, "UTC", utc("2026-05-10T12:00"))
	w.ingest(ofDays(rand.New(rand.NewPCG(1, 2)), keptEvents+10, "2026-05-05", "2026-05-06", "2026-05-07", "2026-05-08", "2026-05-09")...)
	w.rollUp()
	l := newLibrary(w, FilesOptions{})
	in := report.Request{Site: "shop", From: "2026-05-05", To: "2026-05-09", By: analytics.ByPage}
	l.same(l.x, in, firefox)
	l.expect("05-05T00", "05-06T00", "05-07T00", "05-08T00", "05-09T00")
	l.o.Bytes = l.x.o.Files.bytes
	w.must(os.RemoveAll(l.dir))
	l.restart()
	in.To = "2026-05-07"
	l.same(l.x, in, firefox)
	w.advance(3 * useEvery)
	l.x.recent = dayCache{days: map[dayKey]*cachedDay{}, claims: map[dayKey]chan struct{}{}}
	in.From = "2026-05-06"
	l.same(l.x, in, firefox) // the first day is not used again
	l.o.Bytes = l.x.o.Files.bytes + l.x.o.Files.bytes/10
	l.restart()
	in.From, in.To = "2026-05-09", "2026-05-09"
	l.same(l.x, in, firefox)
	l.expect("05-06T00", "05-07T00", "05-09T00")
	if l.x.o.Files.bytes > l.o.Bytes {
		t.Errorf("the files take %d bytes, more than %d", l.x.o.Files.bytes, l.o.Bytes)
	}
	l.keep()
	l.expect("05-06T00", "05-07T00", "05-09T00") // a sweep replaces nothing
	l.o.Room = func() bool { return false }
	w.must(os.RemoveAll(l.dir))
	l.restart()
	l.same(l.x, in, firefox)
	l.keep()
	l.expect()
	if len(l.report) != 0 {
		t.Errorf("reported %v", l.report)
	}
}

// returned selects the visits of users who viewed a page twice on any days.
var returned = []Filter{{Dimension: "user.did.2-:page", Op: Contains, Values: []string{"a"}}}

// Whatever happens to events and files, the answers are those of the raw events.
func TestFilesModel(t *testing.T) {
	seeds.Run(t, 6, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 12))
		w := newShop(t, []string{"UTC", "Europe/Berlin", "Asia/Kathmandu"}[random.IntN(3)], utc("2026-05-10T12:00"))
		l := newLibrary(w, FilesOptions{Bytes: []int64{0, 60_000}[random.IntN(2)]})
		days := []string{"2026-05-06", "2026-05-07", "2026-05-08"}
		w.ingest(ofDays(random, 2*keptEvents, days...)...)
		w.rollUp()
		in := report.Request{Site: "shop", From: "2026-05-05", To: "2026-05-10", By: analytics.ByPage}
		for range 12 {
			day := days[random.IntN(len(days))]
			switch random.IntN(6) {
			case 0:
				l.restart()
			case 1:
				l.keep()
			case 2: // late events that the process stores
				_, err := analytics.NewCollector(l.t, analytics.CollectorOptions{}).Ingest(l.ctx, "shop", ofDays(random, 10, day))
				w.must(err)
				w.must(w.worker.Drain(w.ctx))
			case 3: // a change
				events, err := analytics.EventsBetween(&w.site, utc(day+"T00:00"), utc(day+"T23:00"), "").Collect(w.ctx, l.t)
				w.must(err)
				_, err = analytics.OneEvent(events[random.IntN(len(events))].EventKey).Rewrite(w.ctx, l.t, func(*analytics.Event) (analytics.Rewrite, error) {
					return []analytics.Rewrite{analytics.Leave, analytics.Drop}[random.IntN(2)], nil
				})
				w.must(err)
			case 4: // events that another process stores while this one does not run
				w.ingest(ofDays(random, 10, day)...)
				l.restart()
			case 5:
				w.advance(cubeLife)
			}
			w.advance(cubeLife)
			l.same(l.x, in, firefox)
			l.same(l.x, in, returned)
			l.same(l.x, in, nil)
		}
		if len(l.report) != 0 {
			t.Errorf("reported %v", l.report)
		}
	})
}

// Columns are the same after they were encoded and decoded. No damage makes decoding panic, or gives
// columns with references out of range.
func TestColumnsEncoding(t *testing.T) {
	seeds.Run(t, 10, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 13))
		w := newShop(t, "Europe/Berlin", utc("2026-04-07T12:00"))
		hits := traffic(random, utc("2026-04-05T00:00"), utc("2026-04-06T00:00"), 5+random.IntN(900))
		for i := range hits {
			if random.IntN(3) == 0 {
				hits[i].Path = fmt.Sprint("/page/", random.IntN(700))
			}
		}
		w.ingest(hits...)
		d, err := w.x.scan(w.ctx, w.between("2026-04-05", "2026-04-05"), nil)
		w.must(err)
		want, err := d.day(w.ctx, "2026-04-05")
		w.must(err)
		b := appendColumns(nil, want)
		got, err := readColumns(b)
		w.must(err)
		got.bytes = want.bytes // differs by spare capacity
		if len(want.scrolls) == 0 {
			got.scrolls = want.scrolls
		}
		if len(want.goals.count) == 0 {
			got.goals.count = want.goals.count
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v\nbecame\n%+v", want, got)
		}
		for range 300 {
			damaged := append([]byte{}, b...)
			if random.IntN(2) == 0 {
				damaged = damaged[:random.IntN(len(damaged))]
			} else {
				damaged[random.IntN(len(damaged))] ^= 1 << random.IntN(8)
			}
			if d, err := readColumns(damaged); err == nil {
				walk(d)
			}
		}
	})
}

// walk reads all of some columns.
func walk(d *columns) {
	for v := range d.visitor {
		first, end := d.events(v)
		for e := first; e < end; e++ {
			_, _ = d.isSilent(e), d.engagedOf(e)
			for _, c := range []*column{&d.hour, &d.name, &d.path, &d.revenue} {
				_ = c.text(e)
			}
			if d.properties.first != nil {
				for p := d.properties.first[e]; p < d.properties.first[e+1]; p++ {
					_, _ = d.properties.name.text(int(p)), d.properties.value.text(int(p))
				}
			}
		}
		for g, end := d.goals.of(v); g < end; g++ {
			_, _, _ = d.goals.goal.text(g), d.goals.count[g], d.goals.revenue.text(g)
		}
		for _, c := range d.one {
			_ = c.text(v)
		}
		_, _, _, _ = d.started.text(v), d.seconds[v], d.bounced[v], d.userOf(v)
	}
	for _, s := range d.scrolls {
		_, _ = d.visitor[s.visit], d.path.values[s.page]
	}
}
