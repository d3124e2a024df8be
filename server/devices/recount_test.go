package devices_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/maintenance"
	"github.com/onefold/onefold/telemetry/presence"
)

// TestRecount has devices live for a day and a half, and recounts from what they sent, reading by reading, what a server shows of them:
// who is online, which alerts there are, what was measured in ten minutes, hours and days. Devices send one by one and in bursts,
// again and late, with nulls, stop for hours or for good, and their past is imported meanwhile. A seed is
// a day and a half.
func TestRecount(t *testing.T) {
	for seed := range seeds.Each(t, 2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { recount(t, seed) })
	}
}

const (
	stepOfDay = 10 * time.Minute
	stepsADay = 36 * 6
)

func recount(t *testing.T, seed uint64) {
	d := newDays(t, rand.New(rand.NewPCG(seed, 0)))
	for n := range stepsADay {
		for _, g := range d.gadgets {
			d.step(g, n)
		}
		d.look()
		d.Advance(stepOfDay)
	}
	d.Advance(48 * time.Hour)
	d.upkeep()
	for _, g := range d.gadgets {
		d.compareLatest(g)
		d.compareAlerts(g)
		for _, p := range []telemetry.Period{telemetry.TenMinutes, telemetry.Hourly, telemetry.Daily} {
			d.compareAggregates(g, p)
		}
	}
}

// days is a server, and what its devices are known to have sent.
type days struct {
	*works
	*enginetest.DB
	random  *rand.Rand
	zone    *time.Location
	gadgets []*gadget
	silent  bool // the fleet
}

// gadget is a device, how it behaves, and all that it sent.
type gadget struct {
	id      string
	every   int // steps between two uploads
	burst   int // readings in one
	lines   bool
	imports bool
	messy   bool   // sends again, late and with nulls
	off     [2]int // steps between which it is off
	seq     int64
	heat    int64

	sent    []*reported
	arrived []time.Time // of readings that are a sign of life, each time once
	called  time.Time   // since when it is offline; zero: it is not
}

// reported is a reading as it was sent and stored.
type reported struct {
	at     time.Time
	seq    *int64
	values map[string]string // decimals; others are texts
	null   bool
}

// again reports whether another reading is the same one: by its time, or by its number within ten minutes of it.
func (r *reported) again(o *reported) bool {
	if r.at.Equal(o.at) && (r.seq == nil) == (o.seq == nil) && (r.seq == nil || *r.seq == *o.seq) {
		return true
	}
	return r.seq != nil && o.seq != nil && *r.seq == *o.seq && r.at.Sub(o.at).Abs() <= 10*time.Minute
}

func newDays(t *testing.T, r *rand.Rand) *days {
	t.Helper()
	db := enginetest.New(t, enginetest.At(time.Date(2026, 3, 28, 6, 0, 0, 0, time.UTC))) // the night has 23 hours
	d := &days{works: worksOf(servertest.On(t, db, nil)), DB: db, random: r}
	ctx := t.Context()
	var err error
	d.zone, err = time.LoadLocation("Europe/Berlin")
	servertest.Must(t, err)
	_, err = telemetry.UpdateFleet(ctx, d.Table, "plant", func(f *telemetry.Fleet) error { f.TenMinutes = true; return nil })
	servertest.Must(t, err)
	_, err = telemetry.PutProfile(ctx, d.Table, telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: "gadget"}, FleetID: "plant"})
	servertest.Must(t, err)
	of := telemetry.RuleKey{Scope: telemetry.ForProfile, ScopeID: "gadget"}
	for _, rule := range []telemetry.Rule{
		{RuleKey: of, NoData: true, For: 3600}, {RuleKey: of, Metric: "temp", Raise: "100", Clear: "95"},
	} {
		rule.RuleID, rule.FleetID, rule.Severity = map[bool]string{true: "gone", false: "hot"}[rule.NoData], "plant", telemetry.Critical
		_, err = alerts.CreateRule(ctx, d.Table, rule)
		servertest.Must(t, err)
	}
	season := r.IntN(stepsADay)
	for i := range 9 {
		g := &gadget{
			id: fmt.Sprint("g", i), every: 1 + r.IntN(3), burst: 1 + r.IntN(5), lines: r.IntN(4) == 0, imports: r.IntN(2) == 0, messy: r.IntN(2) == 0,
			off: [2]int{stepsADay, stepsADay}, heat: 90,
		}
		switch r.IntN(6) {
		case 0: // never on
			g.off[0] = 0
		case 1, 2: // for a season, with others
			g.off[0] = season
		case 3: // comes back
			g.off[0] = r.IntN(stepsADay)
			g.off[1] = g.off[0] + r.IntN(60)
		}
		_, err := telemetry.CreateDevice(ctx, d.Table, telemetry.NewDevice{ID: g.id, FleetID: "plant", ProfileID: "gadget"})
		servertest.Must(t, err)
		d.gadgets = append(d.gadgets, g)
	}
	return d
}

// step lets a device do what it does at a time.
func (d *days) step(g *gadget, n int) {
	d.Helper()
	on := n < g.off[0] || n >= g.off[1]
	if on && n%g.every == 0 {
		d.send(g, d.measure(g, d.Now(), time.Duration(g.every)*stepOfDay), false)
	}
	if on && g.messy && len(g.sent) > 0 && d.random.IntN(4) == 0 {
		again := g.sent[d.random.IntN(len(g.sent))]
		d.send(g, []*reported{again}, false)
		if again.seq != nil { // the clock of a device that sends the same number again has been set meanwhile
			moved := *again
			moved.at = again.at.Add(time.Duration(d.random.Int64N(int64(20*time.Minute))) - 10*time.Minute).Truncate(time.Millisecond)
			d.send(g, []*reported{&moved}, false)
		}
	}
	if on && g.messy && d.random.IntN(6) == 0 {
		d.send(g, d.measure(g, d.Now().Add(-time.Duration(d.random.Int64N(int64(6*time.Hour)))), time.Minute), false)
	}
	if g.imports && d.random.IntN(12) == 0 {
		d.send(g, d.measure(g, d.Now().Add(-time.Duration(d.random.Int64N(int64(20*24*time.Hour)))), 5*time.Hour), true)
	}
}

// measure makes up as many readings as the device sends at once, up to a time.
func (d *days) measure(g *gadget, to time.Time, span time.Duration) (all []*reported) {
	for i := range g.burst {
		at := to.Add(-span * time.Duration(g.burst-1-i) / time.Duration(g.burst)).Truncate(time.Millisecond).UTC()
		at = at.Add(-time.Duration(d.random.IntN(1000)) * time.Millisecond)
		if len(all) > 0 && d.random.IntN(8) == 0 {
			at = all[len(all)-1].at // of one millisecond
		}
		g.heat = max(80, min(110, g.heat+int64(d.random.IntN(9))-4))
		r := &reported{at: at, values: map[string]string{"temp": fmt.Sprintf("%d.%02d", g.heat, d.random.IntN(100))}}
		if g.lines {
			r.values = map[string]string{"env.temp": r.values["temp"]}
		} else if d.random.IntN(3) == 0 {
			r.values["mode"] = []string{"idle", "run"}[d.random.IntN(2)]
		}
		crowded := slices.ContainsFunc(slices.Concat(g.sent, all), func(r *reported) bool { return r.at.Equal(at) })
		if g.lines && crowded {
			continue // a line of the same millisecond replaces nothing, and has no number that would order it
		}
		if !g.lines && (crowded || d.random.IntN(2) == 0) {
			g.seq++
			seq := g.seq
			r.seq = &seq
		}
		r.null = !g.lines && g.messy && d.random.IntN(8) == 0
		all = append(all, r)
	}
	return all
}

// send sends readings, and notes those that are stored.
func (d *days) send(g *gadget, all []*reported, imported bool) {
	d.Helper()
	if len(all) == 0 {
		return
	}
	if g.lines && !imported {
		d.write(g, all)
		return
	}
	body := make([]map[string]any, len(all))
	for i, r := range all {
		values := map[string]any{}
		for name, v := range r.values {
			if values[name] = json.RawMessage(v); name == "mode" {
				values[name] = v
			}
		}
		if r.null {
			values["x"] = nil
		}
		body[i] = map[string]any{"device": g.id, "at": r.at, "values": values}
		if r.seq != nil {
			body[i]["seq"] = *r.seq
		}
	}
	text, err := json.Marshal(body)
	servertest.Must(d.T, err)
	path, key := "/api/readings", d.keys[accounts.Ingest]
	if imported {
		path, key = "/api/v1/fleets/plant/import", d.keys[accounts.Write]
	}
	status, answer := d.Post(path, string(text), bearer(key)...)
	if status != http.StatusAccepted {
		d.Fatalf("%s: %d %s", path, status, answer)
	}
	var became struct{ Outcomes []telemetry.Outcome }
	servertest.Must(d.T, json.Unmarshal([]byte(answer), &became))
	for i, o := range became.Outcomes {
		switch there := slices.ContainsFunc(g.sent, all[i].again); {
		case o.Status == telemetry.Rejected:
			d.Fatalf("%s at %s: %+v", g.id, all[i].at, o)
		case o.Status == telemetry.Duplicate != there:
			d.Fatalf("%s at %s is %s; was there: %v", g.id, all[i].at, o.Status, there)
		case o.Status == telemetry.Stored || o.Status == telemetry.StoredLate:
			d.note(g, all[i], imported)
		}
	}
}

// write sends readings as line protocol.
func (d *days) write(g *gadget, all []*reported) {
	d.Helper()
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "env,device=%s temp=%s %d\n", g.id, r.values["env.temp"], r.at.UnixMilli())
	}
	status, answer := d.Post("/api/v2/write?bucket=plant&precision=ms", b.String(), bearer(d.keys[accounts.Ingest])...)
	if status != http.StatusNoContent {
		d.Fatalf("write: %d %s", status, answer)
	}
	for _, r := range all {
		if !slices.Contains(g.sent, r) {
			d.note(g, r, false)
		}
	}
}

func (d *days) note(g *gadget, r *reported, imported bool) {
	g.sent = append(g.sent, r)
	if now := d.Now(); !imported && now.Sub(r.at) <= time.Hour && !slices.Contains(g.arrived, now) {
		g.arrived = append(g.arrived, now)
	}
}

func (d *days) upkeep() {
	d.Helper()
	ctx := d.Context()
	servertest.Must(d.T, d.Worker.Drain(ctx))
	_, err := maintenance.Run(ctx, d.Table, d.Worker)
	servertest.Must(d.T, err)
	_, err = presence.Sweep(ctx, d.Table, time.Time{})
	servertest.Must(d.T, err)
	servertest.Must(d.T, alerts.Sweep(ctx, d.Table, time.Time{}))
	servertest.Must(d.T, d.Worker.Drain(ctx))
}

// answer is that of a question of somebody who may read the fleet.
func (d *days) answer(path string, into any) {
	d.Helper()
	status, body := d.Get("/api/v1/fleets/plant"+path, bearer(d.keys[accounts.Read])...)
	if status != http.StatusOK {
		d.Fatalf("%s: %d %s", path, status, body)
	}
	servertest.Must(d.T, json.Unmarshal([]byte(body), into))
}

// shownDevice is what a list says of a device.
type shownDevice struct {
	ID, Connectivity string
	LastSeen         time.Time
	Latest           map[string]struct {
		At    time.Time
		Value any
	}
}

// look does the upkeep, and compares who is online, and who is called silent, with what was sent.
func (d *days) look() {
	d.Helper()
	d.upkeep()
	var list struct{ Devices []shownDevice }
	d.answer("/devices?limit=1000", &list)
	var open struct {
		Alerts []struct{ Device, Rule string }
	}
	d.answer("/alerts?state=open&limit=1000", &open)
	var board struct {
		ByConnectivity map[string]int
		Silence        *struct{ Devices, Of int }
	}
	d.answer("/board", &board)
	shown, gone := map[string]shownDevice{}, map[string]bool{}
	for _, s := range list.Devices {
		shown[s.ID] = s
	}
	for _, a := range open.Alerts {
		gone[a.Device] = gone[a.Device] || a.Rule == "gone" || a.Rule == alerts.SilenceRule
	}
	want := map[string]int{"never": 2} // d1 and d2
	for _, g := range d.gadgets {
		is, silent := d.presence(g)
		want[is]++
		if s := shown[g.id]; s.Connectivity != strings.TrimPrefix(is, "never") || is != "never" && !s.LastSeen.Equal(g.arrived[len(g.arrived)-1]) {
			d.Fatalf("at %s %s is %q, last seen %s; it is %s: it was heard of at %v", d.Now(), g.id, s.Connectivity, s.LastSeen, is, last(g.arrived, 24))
		}
		if gone[g.id] != silent {
			d.Fatalf("at %s %s is silent: %v; alert: %v; it was heard of at %v", d.Now(), g.id, silent, gone[g.id], last(g.arrived, 3))
		}
	}
	if maps.DeleteFunc(board.ByConnectivity, func(_ string, n int) bool { return n == 0 }); !maps.Equal(board.ByConnectivity, want) {
		d.Fatalf("at %s the board counts %v, want %v", d.Now(), board.ByConnectivity, want)
	}
	d.silent = d.fleetSilent(want["online"])
	if d.silent != (board.Silence != nil) || d.silent != gone[alerts.FleetDevice("plant")] {
		d.Fatalf("at %s the fleet is silent: %v; the board says %+v, alert %v", d.Now(), d.silent, board.Silence, gone[alerts.FleetDevice("plant")])
	}
}

func last[T any](all []T, n int) []T { return all[max(len(all)-n, 0):] }

// presence says whether a device is online, by the times at which it was heard of, and whether it has been silent for an hour.
func (d *days) presence(g *gadget) (connectivity string, silent bool) {
	if len(g.arrived) == 0 {
		return "never", false
	}
	recent := last(g.arrived, 24)
	var pauses []time.Duration
	for i := 1; i < len(recent); i++ {
		pauses = append(pauses, recent[i].Sub(recent[i-1]))
	}
	slices.Sort(pauses)
	usual := 15 * time.Minute
	if len(pauses) >= 2 { // four of five are no longer
		usual = pauses[int(float64(len(pauses))*0.8+0.999)-1]
	}
	since := d.Now().Sub(recent[len(recent)-1])
	silent = since >= time.Hour
	if since < max(3*usual, 90*time.Second) {
		g.called = time.Time{}
		return "online", silent
	}
	if g.called.IsZero() {
		g.called = d.Now()
	}
	return "offline", silent
}

// fleetSilent says whether most of the devices that were online fell silent at one time, within a day.
func (d *days) fleetSilent(online int) bool {
	recently := func(g *gadget) bool { return !g.called.IsZero() && d.Now().Sub(g.called) < 24*time.Hour }
	for _, at := range d.gadgets {
		n := 0
		for _, g := range d.gadgets {
			if recently(at) && recently(g) {
				then, heard := at.arrived[len(at.arrived)-1], g.arrived[len(g.arrived)-1]
				if !heard.After(then) && !then.After(g.called) {
					n++
				}
			}
		}
		if n >= 3 && n >= online {
			return true
		}
	}
	return false
}

// inOrder are all readings of a device by time.
func (g *gadget) inOrder() []*reported {
	number := func(r *reported) int64 {
		if r.seq == nil {
			return 0
		}
		return *r.seq
	}
	return slices.SortedFunc(slices.Values(g.sent), func(a, b *reported) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(number(a), number(b))) })
}

func (d *days) compareLatest(g *gadget) {
	d.Helper()
	var shown shownDevice
	d.answer("/devices/"+g.id, &shown)
	got, want := map[string]string{}, map[string]string{}
	for name, v := range shown.Latest {
		got[name] = fmt.Sprint(v.Value, " ", v.At.UnixMilli())
	}
	for _, r := range g.inOrder() {
		for name, v := range r.values {
			if f, err := strconv.ParseFloat(v, 64); err == nil {
				v = fmt.Sprint(f)
			}
			want[name] = fmt.Sprint(v, " ", r.at.UnixMilli())
		}
	}
	if !maps.Equal(got, want) {
		d.Errorf("%s: latest values are %v, want %v", g.id, got, want)
	}
}

// compareAlerts holds the alerts of a device against the episodes in which it was hot.
func (d *days) compareAlerts(g *gadget) {
	d.Helper()
	type episode struct{ Since, ResolvedAt time.Time }
	var want, got []episode
	fires := false
	for _, r := range g.inOrder() {
		v, there := r.values["temp"]
		if !there {
			continue
		}
		switch hot := number(d.T, v); {
		case !fires && hot.Cmp(big.NewRat(100, 1)) > 0:
			want, fires = append(want, episode{Since: r.at}), true
		case fires && hot.Cmp(big.NewRat(95, 1)) <= 0 && r.at.After(want[len(want)-1].Since): // no alert ends in the millisecond in which it began
			want[len(want)-1].ResolvedAt, fires = r.at, false
		}
	}
	for cursor := ""; ; {
		var page struct {
			Alerts []struct {
				episode
				Rule      string
				Withdrawn bool
			}
			Cursor string
		}
		d.answer("/alerts?state=all&limit=1000&device="+g.id+"&cursor="+url.QueryEscape(cursor), &page)
		for _, a := range page.Alerts {
			if a.Rule == "hot" && !a.Withdrawn {
				got = append(got, a.episode)
			}
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	slices.SortFunc(got, func(a, b episode) int { return a.Since.Compare(b.Since) })
	if !slices.Equal(got, want) {
		d.Errorf("%s: %d alerts %v\nwant %d %v", g.id, len(got), got, len(want), want)
	}
}

func number(t testing.TB, s string) *big.Rat {
	t.Helper()
	v, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("%q is no number", s)
	}
	return v
}

// compareAggregates adds up what a device sent, bucket by bucket.
func (d *days) compareAggregates(g *gadget, p telemetry.Period) {
	d.Helper()
	want := map[string]*added{}
	for _, r := range g.inOrder() {
		local := r.at.In(d.zone)
		start := local.Format(time.DateOnly)
		if p != telemetry.Daily {
			minutes := map[telemetry.Period]int{telemetry.Hourly: local.Minute(), telemetry.TenMinutes: local.Minute() % 10}[p]
			start = r.at.Truncate(time.Minute).Add(-time.Duration(minutes) * time.Minute).UTC().Format(time.RFC3339)
		}
		for name, v := range r.values {
			key := start + " " + name
			if want[key] == nil {
				want[key] = &added{}
			}
			want[key].add(d.T, name, v)
		}
	}
	for cursor := ""; ; {
		var page struct {
			Aggregates []struct {
				Start   string
				Metrics []telemetry.Figures
			}
			Cursor string
		}
		from := url.QueryEscape(d.Now().Add(-60 * 24 * time.Hour).Format(time.RFC3339))
		d.answer("/devices/"+g.id+"/aggregates?limit=1000&period="+string(p)+"&from="+from+"&cursor="+url.QueryEscape(cursor), &page)
		for _, a := range page.Aggregates {
			for i := range a.Metrics {
				key := a.Start + " " + a.Metrics[i].Metric
				if w := want[key]; w == nil || !w.same(&a.Metrics[i]) {
					d.Errorf("%s, %s %s: %+v, want %+v", g.id, p, key, a.Metrics[i], w)
				}
				delete(want, key)
			}
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	for key := range want {
		d.Errorf("%s, %s %s is missing", g.id, p, key)
	}
}

// added are the readings of one bucket and metric, in the order of time.
type added struct {
	count          int64
	first, last    string
	sum, low, high *big.Rat // nil: of texts
}

func (a *added) add(t testing.TB, metric, v string) {
	if a.count++; a.count == 1 {
		a.first = v
	}
	if a.last = v; metric == "mode" {
		return
	}
	n := number(t, v)
	if a.sum == nil {
		a.sum, a.low, a.high = new(big.Rat), n, n
	}
	a.sum.Add(a.sum, n)
	if n.Cmp(a.low) < 0 {
		a.low = n
	}
	if n.Cmp(a.high) > 0 {
		a.high = n
	}
}

func (a *added) same(f *telemetry.Figures) bool {
	equal := func(got string, want *big.Rat) bool {
		n, ok := new(big.Rat).SetString(got)
		return ok && n.Cmp(want) == 0
	}
	if f.Count != a.count {
		return false
	}
	if a.sum == nil {
		return f.First == a.first && f.Last == a.last
	}
	first, _ := new(big.Rat).SetString(a.first)
	last, _ := new(big.Rat).SetString(a.last)
	return equal(f.Sum, a.sum) && equal(f.Min, a.low) && equal(f.Max, a.high) && equal(f.First, first) && equal(f.Last, last)
}
