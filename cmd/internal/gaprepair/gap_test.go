package gaprepair_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/gaprepair"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/fsck"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/maintenance"
	"github.com/onefold/onefold/telemetry/reindex"
)

// life makes random inserts, changes and deletions of all products.
type life struct {
	*foldtest.World
	random  *rand.Rand
	hits    *analytics.Collector
	sends   *telemetry.Collector
	events  *eventstore.Store
	seq     int64
	devices []string
	streams []eventstore.ID
	goals   int
	away    bool // no worker runs, so changes are missed
}

var sites = []string{"shop", "blog"}

func newLife(t *testing.T, seed uint64) *life {
	t.Logf("seed %d", seed)
	w := foldtest.NewWorld(t, foldtest.Setup{
		Schema: products.Schema, Group: products.Group, At: time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC),
		Folds: func(t *table.Table) []*fold.Fold { return products.Folds(t, delays.Holds{}) },
	})
	for _, id := range sites {
		must(analytics.CreateSite(w.Ctx, w.Table, analytics.NewSite{ID: id, TimeZone: map[string]string{"blog": "Europe/Berlin"}[id]}))
	}
	for _, id := range []string{"north", "south"} {
		must(telemetry.CreateFleet(w.Ctx, w.Table, telemetry.NewFleet{ID: id}))
	}
	l := &life{World: w, random: rand.New(rand.NewPCG(seed, 7)), hits: analytics.NewCollector(w.Table, analytics.CollectorOptions{}),
		sends: telemetry.NewCollector(w.Table, telemetry.CollectorOptions{}), events: must(eventstore.New(w.Table, eventstore.Options{}))}
	l.device()
	fleet := must(telemetry.GetDevice(w.Ctx, w.Table, l.devices[0])).FleetID
	must(alerts.CreateRule(w.Ctx, w.Table, telemetry.Rule{RuleKey: telemetry.RuleKey{Scope: telemetry.ForDevice, ScopeID: l.devices[0], RuleID: "hot"}, FleetID: fleet,
		Metric: "temp", Raise: "70", Clear: "60", Severity: telemetry.Warning}))
	return l
}

// live makes n random changes.
func (l *life) live(n int) {
	l.Helper()
	for range n {
		l.seq++
		do := []func(){l.hit, l.hit, l.hit, l.read, l.read, l.read, l.append, l.append, l.device, l.change, l.retract, l.end, l.erasure, l.goal}
		if l.away {
			do = append(do, l.erase)
		}
		do[l.random.IntN(len(do))]()
		if l.random.IntN(20) == 0 {
			l.Advance(time.Duration(l.random.IntN(60)) * time.Minute)
		}
	}
}

func (l *life) hit() {
	at := l.Now().Add(-time.Duration(l.random.IntN(5)) * 20 * time.Hour)
	h := analytics.Hit{Path: fmt.Sprint("/", l.random.IntN(5)), At: at, Address: fmt.Sprint("192.0.2.", l.random.IntN(9)), UserAgent: "Mozilla/5.0 Firefox/140.0"}
	if l.random.IntN(3) == 0 {
		h.UserID = fmt.Sprint("u", l.random.IntN(4))
	}
	if out := must(l.hits.Ingest(l.Ctx, l.site(), []analytics.Hit{h})); out[0].Status != analytics.Stored {
		l.Fatalf("hit: %+v", out)
	}
}

func (l *life) site() string { return sites[l.random.IntN(len(sites))] }

func (l *life) pick() string { return l.devices[l.random.IntN(len(l.devices))] }

func (l *life) read() {
	at := l.Now().Add(-time.Duration(l.random.IntN(5)) * 20 * time.Hour)
	value := must(telemetry.Number(fmt.Sprint(l.random.IntN(100))))
	out := must(l.sends.Ingest(l.Ctx, []telemetry.Incoming{{DeviceID: l.pick(), At: at, Seq: &l.seq, Values: telemetry.Values{"temp": value}, Imported: true}}))
	if out[0].Status != telemetry.Stored && out[0].Status != telemetry.Rejected { // of a deleted device
		l.Fatalf("reading: %+v", out)
	}
}

func (l *life) append() {
	id := eventstore.ID{Type: fmt.Sprint("type", l.random.IntN(6)), ID: fmt.Sprint(l.random.IntN(9))}
	_, err := l.events.Append(l.Ctx, id, eventstore.Any(), []eventstore.NewEvent{{Type: "Placed", Payload: []byte("{}")}})
	if err != nil && !errors.Is(err, eventstore.ErrClosed) {
		l.Fatal(err)
	}
	l.streams = append(l.streams, id)
}

func (l *life) end() {
	if len(l.streams) == 0 {
		return
	}
	id := l.streams[l.random.IntN(len(l.streams))]
	do := l.events.Close
	if l.random.IntN(2) == 0 {
		do = l.events.Delete
	}
	if err := do(l.Ctx, id); err != nil && !errors.Is(err, eventstore.ErrClosed) {
		l.Fatal(err)
	}
}

func (l *life) device() {
	id := fmt.Sprint("d", len(l.devices))
	fleet := []string{"north", "south"}[l.random.IntN(2)]
	must(telemetry.CreateDevice(l.Ctx, l.Table, telemetry.NewDevice{ID: id, FleetID: fleet, Tags: []string{"new"}}))
	l.devices = append(l.devices, id)
}

// change changes or deletes a device.
func (l *life) change() {
	id := l.pick()
	if l.random.IntN(4) == 0 && id != "d0" {
		if err := telemetry.DeleteDevice(l.Ctx, l.Table, id); err != nil && !errors.Is(err, table.ErrNotFound) {
			l.Fatal(err)
		}
		return
	}
	_, err := telemetry.UpdateDevice(l.Ctx, l.Table, id, func(d *telemetry.Device) error {
		if d.Status != telemetry.Retired {
			d.Status = []telemetry.DeviceStatus{telemetry.Active, telemetry.Maintenance}[l.random.IntN(2)]
		}
		d.Tags = []string{fmt.Sprint("tag", l.random.IntN(3))}
		return nil
	})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		l.Fatal(err)
	}
}

func (l *life) retract() {
	at := l.Now().Add(-time.Duration(l.random.IntN(100)) * time.Hour)
	_, err := telemetry.Retract(l.Ctx, l.Table, telemetry.Retraction{RetractionKey: telemetry.RetractionKey{DeviceID: l.pick()}, From: at, To: at.Add(3 * time.Hour)})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		l.Fatal(err)
	}
}

// erase deletes events like an erasure that dies before it waits for the folds, and is never
// resumed.
func (l *life) erase() {
	site := must(analytics.GetSite(l.Ctx, l.Table, l.site()))
	for e, err := range analytics.EventsBetween(&site, time.UnixMilli(0), l.Now().Add(time.Hour), "").All(l.Ctx, l.Table) {
		l.Must(err)
		if l.random.IntN(8) == 0 {
			one := analytics.OneEvent(e.EventKey)
			must(one.Rewrite(l.Ctx, l.Table, func(e *analytics.Event) (analytics.Rewrite, error) { e.Erased = true; return analytics.Change, nil }))
			must(one.Rewrite(l.Ctx, l.Table, func(*analytics.Event) (analytics.Rewrite, error) { return analytics.Drop, nil }))
			return
		}
	}
}

// dies is a worker that fails when it is waited for.
type dies struct{ waits int }

var errDied = errors.New("died")

func (d *dies) Drain(context.Context) error {
	if d.waits--; d.waits < 0 {
		return errDied
	}
	return nil
}

// erasure starts to erase a person and dies. Maintenance must complete it.
func (l *life) erasure() {
	_, err := erasure.User(l.Ctx, l.Table, &dies{1}, l.site(), fmt.Sprint("u", l.random.IntN(4)))
	if !errors.Is(err, errDied) && !errors.Is(err, erasure.ErrNobody) {
		l.Fatal(err)
	}
}

// goal creates a goal and applies it to earlier events.
func (l *life) goal() {
	if l.goals++; l.goals > 4 {
		return
	}
	site := l.site()
	must(goals.Create(l.Ctx, l.Table, goals.Goal{GoalKey: analytics.GoalKey{SiteID: site, GoalID: fmt.Sprint("g", l.goals)}, Name: "goal", Path: fmt.Sprint("/", l.random.IntN(5))}))
	l.Advance(time.Minute)
	must(goals.Backfill(l.Ctx, l.Table, site))
}

// miss lets unfolded changes expire, and the worker detect that.
func (l *life) miss() {
	l.Helper()
	l.Must(l.DB.RollShards(l.Ctx, foldtest.TableName))
	l.Advance(25 * time.Hour)
	l.Must(l.DB.TrimStreams(l.Ctx))
	l.Restart()
	l.Drain()
}

// upkeep runs maintenance.
func (l *life) upkeep() {
	l.Helper()
	if hour := l.Now().Hour(); hour == 23 || hour == 0 {
		l.Advance(2 * time.Hour) // the last day is not rolled up yet
	}
	for range 2 {
		for _, site := range sites {
			l.Must(erasure.Resume(l.Ctx, l.Table, l.Worker, site))
			must(reconcile.RollUp(l.Ctx, l.Table, site, l.Now()))
		}
		must(maintenance.Run(l.Ctx, l.Table, l.Worker))
		l.Drain()
		l.Advance(time.Minute)
	}
}

// wrong describes all differences from the facts.
func (l *life) wrong() (all []string) {
	l.Helper()
	say := func(n int, what string, args ...any) {
		if n != 0 {
			all = append(all, fmt.Sprintf("%d ", n)+fmt.Sprintf(what, args...))
		}
	}
	last := l.Now().Format(time.DateOnly)
	for _, site := range sites {
		found := must(reconcile.Verify(l.Ctx, l.Table, l.Worker, reconcile.RangeIn{Site: site, From: "2026-05-06", To: last}, nil))
		say(int(found.Count), "items of %s: %+v", site, found.List)
	}
	for d, err := range telemetry.EachDevice(l.Ctx, l.Table) {
		l.Must(err)
		if d.DeletedAt.IsZero() {
			l.deviceWrong(d.DeviceID, say)
		}
	}
	counted := must(reindex.Recount(l.Ctx, l.Table, l.Worker))
	say(counted.Labels, "labels")
	say(counted.Counts+len(counted.Busy), "counts of fleets")
	before := l.alerts()
	for _, fleet := range []string{"north", "south"} {
		must(alerts.Rebuild(l.Ctx, l.Table, l.Worker, fleet))
	}
	if after := l.alerts(); !slices.Equal(before, after) {
		all = append(all, fmt.Sprintf("alerts are %q, want %q", before, after))
	}
	typed := must(l.events.RecountTypes(l.Ctx, l.Worker.Drain))
	say(typed.Wrong+len(typed.Busy), "types")
	for f, err := range fsck.Check(l.Ctx, l.events, fsck.Options{}) {
		l.Must(err)
		say(1, "finding: %s %s", f.Kind, f.Detail)
	}
	return all
}

// alerts returns the alerts of the device that has a rule, as shown to people.
func (l *life) alerts() (all []string) {
	l.Helper()
	for a, err := range telemetry.AlertsOfDevice.All(l.Ctx, l.Table, telemetry.DeviceIn{DeviceID: l.devices[0]}) {
		l.Must(err)
		all = append(all, fmt.Sprint(a.AlertID, a.State, a.Since, a.Fired, a.Resolved, a.Last, a.Value, a.Peak, a.Ended, a.Withdrawn))
	}
	return all
}

// deviceWrong compares a device's aggregates with its readings, and its days with their hours.
func (l *life) deviceWrong(id string, say func(int, string, ...any)) {
	l.Helper()
	first := time.Date(2026, 5, 6, 0, 0, 0, 0, time.UTC)
	made := must(telemetry.Verify(l.Ctx, l.Table, l.Worker, id, first, l.Now()))
	say(made.Count+made.Busy, "aggregates of %s: %v", id, made.List)
	hours := make(map[string]int64)
	for _, p := range []telemetry.Period{telemetry.Hourly, telemetry.Daily} {
		for a, err := range telemetry.AggregatesByTime.All(l.Ctx, l.Table, telemetry.AggregatesIn{DeviceID: id, Period: p}) {
			l.Must(err)
			switch {
			case a.Day == l.Now().Format(time.DateOnly):
			case p == telemetry.Hourly:
				hours[a.Day] += a.Readings
			default:
				hours[a.Start] -= a.Readings
			}
		}
	}
	for day, n := range hours {
		say(int(n), "readings more in the hours of %s than in the day %s", id, day)
	}
}

// TestAnythingMissed lets changes expire at random during all kinds of writes, repairs the gaps,
// and compares everything derived with the facts.
func TestAnythingMissed(t *testing.T) {
	seeds := []uint64{17800242414983267936, 546051311254618090, rand.Uint64(), rand.Uint64()}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := newLife(t, seed)
			l.live(100)
			l.Drain()
			for range 2 {
				l.away = true
				l.live(150)
				l.miss()
				l.away = false
				l.live(30)
				l.repairGaps()
			}
			l.upkeep()
			if wrong := l.wrong(); len(wrong) > 0 {
				t.Errorf("not repaired at %v: %q", l.Now(), wrong)
			}
		})
	}
}

// repairGaps repairs the gaps, and is killed at times.
func (l *life) repairGaps() {
	l.Helper()
	if o := must(fold.Read(l.Ctx, l.Table, products.Group)); o.OpenGaps() == 0 {
		l.Fatal("nothing was missed: the test shows nothing")
	}
	for deaths := 0; ; deaths++ {
		m := gaprepair.Repairer{Table: l.Table, Folded: l.Worker, Logger: slog.New(slog.DiscardHandler)}
		if deaths < 6 && l.random.IntN(4) > 0 {
			m.Folded = &perishable{w: l.Worker, waits: l.random.IntN(60)}
		}
		err := m.Run(l.Ctx)
		if err == nil {
			break
		}
		if !errors.Is(err, errDied) {
			l.Fatal(err)
		}
		if l.random.IntN(2) == 0 {
			l.live(5)
		}
	}
	gaps := must(fold.Read(l.Ctx, l.Table, products.Group)).Gaps
	if slices.ContainsFunc(gaps, func(m fold.Gap) bool { return m.Repaired.IsZero() }) {
		l.Errorf("not repaired: %+v", gaps)
	}
}

// perishable is a worker that fails after some waits.
type perishable struct {
	w     *fold.Worker
	waits int
}

func (p *perishable) Drain(ctx context.Context) error {
	if p.waits--; p.waits < 0 {
		return errDied
	}
	return p.w.Drain(ctx)
}
