package devices_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/maintenance"
	"github.com/onefold/onefold/telemetry/presence"
)

// TestRecount simulates devices for ten to thirty hours, and recomputes from what they sent,
// reading by reading, what a server shows: who is online, alerts, aggregates of ten minutes, hours
// and days, their curves, and lists. Devices send one by one and in bursts, again and late, with
// nulls, tags and without times; they restart their counters, and stop for hours or for good.
// Meanwhile their history is imported, and readings are retracted and restored. A seed draws one of
// the lives, which take about equally long, and checks some of what is shown at a time.
func TestRecount(t *testing.T) {
	if testing.Short() {
		t.Skip("the time to recount a day and a half of devices is missing: leave -short out")
	}
	for seed := range seeds.Each(t, 2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { recount(t, seed) })
	}
}

const stepOfDay = 10 * time.Minute

// lives are combinations of a number of steps and of devices.
var lives = []struct{ steps, gadgets int }{{10 * 6, 9}, {15 * 6, 6}, {30 * 6, 3}}

func recount(t *testing.T, seed uint64) {
	d := newDays(t, rand.New(rand.NewPCG(seed, 0)))
	for n := range d.steps {
		for _, g := range d.gadgets {
			d.step(g, n)
		}
		if n == d.steps/2 {
			d.rename("grade")
		}
		d.look(d.random.IntN(3) == 0)
		g := d.gadgets[d.random.IntN(len(d.gadgets))]
		if all := g.metrics(); len(all) > 0 {
			d.compareCurve(d.someCurve(g, all[d.random.IntN(len(all))]))
		}
		d.Advance(stepOfDay)
	}
	d.Advance(48 * time.Hour)
	d.maintenance()
	for _, g := range d.gadgets {
		d.compareList(g)
		d.compareLatest(g)
		d.compareAlerts(g)
		for _, p := range []telemetry.Period{telemetry.TenMinutes, telemetry.Hourly, telemetry.Daily} {
			d.compareAggregates(g, p)
		}
		d.compareSeries(g)
		d.compareRetractions(g)
	}
}

// days is a server, and what its devices are known to have sent.
type days struct {
	*works
	*enginetest.DB
	random  *rand.Rand
	zone    *time.Location
	steps   int
	gadgets []*gadget
	silent  bool // the fleet
	doubted bool // retractions changed, and days are not recomputed yet

	properties []string // tags that describe devices
}

func newDays(t *testing.T, r *rand.Rand) *days {
	t.Helper()
	life := lives[r.IntN(len(lives))]
	start := time.Date(2026, 3, 28, 6+r.IntN(18), 0, 0, 0, time.UTC) // the day after has 23 hours
	db := enginetest.New(t, enginetest.At(start))
	d := &days{works: worksOf(servertest.On(t, db, nil)), DB: db, random: r, steps: life.steps}
	ctx := t.Context()
	var err error
	d.zone, err = time.LoadLocation("Europe/Berlin")
	servertest.Must(t, err)
	_, err = telemetry.UpdateFleet(ctx, d.Table, "plant", func(f *telemetry.Fleet) error { f.TenMinutes = true; return nil })
	servertest.Must(t, err)
	d.addProfile("gadget", 0)
	d.addProfile("paced", pace)
	d.rename("driver")
	season := r.IntN(d.steps)
	for i := range life.gadgets {
		d.addGadget(i, season)
	}
	return d
}

// pace is the interval of gadgets in their profile.
const pace = 25 * time.Minute

// addProfile creates a profile and its rules.
func (d *days) addProfile(id string, every time.Duration) {
	d.Helper()
	p := telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: id}, FleetID: "plant", Every: int(every / time.Second)}
	for name, kind := range kinds {
		p.Metrics = append(p.Metrics, telemetry.MetricDef{Name: name, Kind: kind})
	}
	_, err := telemetry.PutProfile(d.Context(), d.Table, p)
	servertest.Must(d.T, err)
	of := telemetry.RuleKey{Scope: telemetry.ForProfile, ScopeID: id}
	for _, rule := range []telemetry.Rule{
		{RuleKey: of, NoData: true, For: 3600}, {RuleKey: of, Metric: "temp", Raise: "100", Clear: "95"},
	} {
		rule.RuleID, rule.FleetID, rule.Severity = map[bool]string{true: "gone", false: "hot"}[rule.NoData], "plant", telemetry.Critical
		_, err = alerts.CreateRule(d.Context(), d.Table, rule)
		servertest.Must(d.T, err)
	}
}

func (d *days) maintenance() {
	d.Helper()
	ctx := d.Context()
	servertest.Must(d.T, d.Worker.Drain(ctx))
	for again := true; again; again, d.doubted = d.doubted, false { // days follow the hours that a retraction has changed
		_, err := maintenance.Run(ctx, d.Table, d.Worker)
		servertest.Must(d.T, err)
		servertest.Must(d.T, d.Worker.Drain(ctx))
	}
	_, err := presence.Sweep(ctx, d.Table, time.Time{})
	servertest.Must(d.T, err)
	servertest.Must(d.T, alerts.Sweep(ctx, d.Table, time.Time{}))
	servertest.Must(d.T, d.Worker.Drain(ctx))
}

// answer decodes the response to a reader of the fleet.
func (d *days) answer(path string, into any) {
	d.Helper()
	status, body := d.Get("/api/v1/fleets/plant"+path, bearer(d.keys[accounts.Read])...)
	if status != http.StatusOK {
		d.Fatalf("%s: %d %s", path, status, body)
	}
	servertest.Must(d.T, json.Unmarshal([]byte(body), into))
}
