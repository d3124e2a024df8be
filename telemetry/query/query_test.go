package query

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
)

// world is a fleet of four devices. Only two have a profile, so their metrics have other kinds.
type world struct {
	*foldtest.World
	c    *telemetry.Collector
	zone calendar.Zone
}

var devices = []telemetry.NewDevice{
	{ID: "a", FleetID: "plant", ProfileID: "meter", Type: "pump", Tags: []string{"north", "wet"}},
	{ID: "b", FleetID: "plant", ProfileID: "meter", Type: "fan", Tags: []string{"north"}},
	{ID: "c", FleetID: "plant", Type: "fan"},
	{ID: "d", FleetID: "plant", Tags: []string{"wet"}},
}

func newWorld(t *testing.T, zone string, at time.Time) *world {
	t.Helper()
	w := &world{World: foldtest.NewWorld(t, foldtest.Setup{
		Schema: telemetry.Schema, Group: telemetry.FoldGroup, At: at, Engine: engine.Options{StreamShards: 2, RollEvery: 500},
		Folds: func(t *table.Table) []*fold.Fold {
			return telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(t)})
		},
	})}
	w.c = telemetry.NewCollector(w.Table, telemetry.CollectorOptions{})
	_, err := telemetry.CreateFleet(w.Ctx, w.Table, telemetry.NewFleet{ID: "plant", TimeZone: zone, Limits: telemetry.Limits{PerMinute: 1_000_000}})
	w.Must(err)
	w.zone, err = calendar.LoadZone(zone)
	w.Must(err)
	_, err = telemetry.PutProfile(w.Ctx, w.Table, telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: "meter"}, FleetID: "plant", Metrics: []telemetry.MetricDef{
		{Name: "pulses", Kind: telemetry.Counter}, {Name: "mode", Kind: telemetry.State},
	}})
	w.Must(err)
	for _, d := range devices {
		_, err := telemetry.CreateDevice(w.Ctx, w.Table, d)
		w.Must(err)
	}
	return w
}

func number(text string) telemetry.Value {
	v, err := telemetry.Number(text)
	if err != nil {
		panic(err)
	}
	return v
}

// values returns random values: of a gauge, a counter with resets, a state, and now a number, now a
// text under the same name.
func values(r *rand.Rand, pulses *int) telemetry.Values {
	v := telemetry.Values{}
	if r.IntN(10) > 0 {
		v["temp"] = number(fmt.Sprintf("%d.%02d", r.IntN(40)-10, r.IntN(100)))
	}
	if r.IntN(3) > 0 {
		if *pulses += r.IntN(20); r.IntN(15) == 0 {
			*pulses = r.IntN(5)
		}
		v["pulses"] = number(fmt.Sprint(*pulses))
	}
	if r.IntN(3) == 0 {
		v["mode"] = number(fmt.Sprint(r.IntN(3)))
	}
	switch r.IntN(4) {
	case 0:
		v["any"] = telemetry.Text([]string{"on", "off", "7"}[r.IntN(3)])
	case 1:
		v["any"] = telemetry.Bool(r.IntN(2) == 0)
	case 2:
		v["any"] = number(fmt.Sprint(r.IntN(100)))
	}
	return v
}

// history sends the readings of a few days: in bursts, with gaps, repeated, in any order.
func (w *world) history(r *rand.Rand, from, to time.Time) {
	w.Helper()
	var all []telemetry.Incoming
	for _, d := range devices {
		pulses := 0
		for at, n := from, 0; at.Before(to) && n < 400; n++ {
			if step := r.IntN(20); step < 16 {
				at = at.Add(time.Duration(r.IntN(20*60*1000)) * time.Millisecond)
			} else if step == 16 {
				at = at.Add(time.Duration(r.IntN(9)) * time.Hour)
			} else if step == 17 {
				at = at.Truncate(time.Hour).Add(time.Hour) // exactly at the start of an hour
			} // otherwise in the same millisecond
			if v := values(r, &pulses); len(v) > 0 && at.Before(to) {
				one := telemetry.Incoming{DeviceID: d.ID, At: at, Values: v, Imported: r.IntN(2) == 0}
				if seq := int64(n); r.IntN(3) == 0 {
					one.Seq = &seq
				}
				all = append(all, one)
			}
		}
	}
	dense := from.Add(time.Duration(r.IntN(60)) * time.Hour) // more values than a sketch or a track keeps exactly
	for i := range []int{90, 90, 90, 800}[r.IntN(4)] {
		all = append(all, telemetry.Incoming{DeviceID: "a", At: dense.Add(time.Duration(i) * 4 * time.Second), Imported: true, Values: telemetry.Values{
			"temp": number(fmt.Sprint(i * 7 % 97)), "pulses": number(fmt.Sprint(i % 300)), "mode": number(fmt.Sprint(i % 5)),
		}})
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for len(all) > 0 {
		n := min(1+r.IntN(200), len(all))
		if _, err := w.c.Ingest(w.Ctx, slices.Clone(all[:n])); err != nil {
			w.Fatal(err)
		}
		all = all[n-min(n-1, r.IntN(3)):] // some are sent again
		switch r.IntN(8) {
		case 0:
			w.Drain()
			_, err := telemetry.MoveReadings(w.Ctx, w.Table)
			w.Must(err)
		case 1:
			w.Drain()
		}
	}
	w.Drain()
}

// retract retracts a random range of a device, in some metrics, and lifts another time.
func (w *world) retract(r *rand.Rand, from, to time.Time) {
	w.Helper()
	d := devices[r.IntN(len(devices))].ID
	start := from.Add(time.Duration(r.Int64N(int64(to.Sub(from)))))
	n := telemetry.Retraction{RetractionKey: telemetry.RetractionKey{DeviceID: d}, From: start, To: start.Add(time.Duration(1+r.IntN(600)) * time.Minute)}
	if r.IntN(2) == 0 {
		n.Metrics = []string{"temp", "pulses"}
	}
	made, err := telemetry.Retract(w.Ctx, w.Table, n)
	w.Must(err)
	for range 2 {
		_, err = telemetry.ApplyRetractions(w.Ctx, w.Table, w.Worker, d)
		w.Must(err)
		w.Advance(telemetry.SettingsNotice)
	}
	if r.IntN(3) == 0 {
		w.Must(telemetry.Lift(w.Ctx, w.Table, made.RetractionKey))
		for range 2 {
			_, err = telemetry.ApplyRetractions(w.Ctx, w.Table, w.Worker, d)
			w.Must(err)
			w.Advance(telemetry.SettingsNotice)
		}
	}
	w.Drain()
}

// naive computes the rows of a query from all raw readings, in one pass over a list.
type naive struct {
	*world
	in  Request
	now time.Time
	all map[string][]sample // by device, in order
}

type sample struct {
	telemetry.Reading
	v      telemetry.Value
	named  bool // a state
	number decimalsum.Decimal
}

func (w *world) naive(in Request) *naive {
	n := &naive{world: w, in: in, now: w.Now(), all: map[string][]sample{}}
	for _, d := range devices {
		retractions, err := telemetry.RetractionsOfDevice.Collect(w.Ctx, w.Table, telemetry.DeviceIn{DeviceID: d.ID})
		w.Must(err)
		all, err := telemetry.ReadingsIn{DeviceID: d.ID}.Collect(w.Ctx, w.Table)
		w.Must(err)
		for _, r := range all {
			v, there := r.Values[in.Metric]
			if !there || telemetry.Retracted(retractions, r.At, in.Metric) || r.At.Before(in.From.Add(-lookBack)) || !r.At.Before(in.To) {
				continue
			}
			s := sample{Reading: r, v: v, named: !v.IsNumber() || slices.Contains(r.States, in.Metric)}
			if !s.named {
				s.number, err = decimalsum.Parse(v.String())
				w.Must(err)
			}
			n.all[d.ID] = append(n.all[d.ID], s)
		}
	}
	return n
}

// before orders the numbers of a counter: by value if sequence numbers do not order a millisecond.
func counted(a, b sample) int {
	x, y := a.Place(), b.Place()
	x.Tie, y.Tie = 0, 0
	if c := x.Compare(y); c != 0 {
		return c
	}
	return a.number.Cmp(&b.number)
}

// change returns what a device contributes of a function that depends on order.
func (n *naive) change(id string, s span) (d decimalsum.Decimal, ok bool) {
	numbers := slices.DeleteFunc(slices.Clone(n.all[id]), func(x sample) bool { return x.named || !x.At.Before(s.to) })
	if n.in.Function != Derivative {
		slices.SortStableFunc(numbers, counted)
	}
	first := slices.IndexFunc(numbers, func(x sample) bool { return !x.At.Before(s.from) })
	if first < 0 {
		return d, false
	}
	from := max(first-1, 0)
	last := len(numbers) - 1
	thousand := decimalsum.Of(1000)
	if n.in.Function == Derivative {
		ms := numbers[last].At.Sub(numbers[from].At).Milliseconds()
		if ms == 0 {
			return d, false
		}
		return decimalsum.Mean(numbers[last].number.Minus(numbers[from].number).Times(thousand), ms), true
	}
	for i := from + 1; i <= last; i++ {
		if x, y := numbers[i-1].number, numbers[i].number; y.Cmp(&x) < 0 {
			d = d.Plus(y)
		} else {
			d = d.Plus(y.Minus(x))
		}
	}
	return d, n.in.Function != Rate || n.now.After(s.from)
}

// lasted returns how long each state of a device lasted.
func (n *naive) lasted(id string, s span, states map[string]int64) {
	named := slices.DeleteFunc(slices.Clone(n.all[id]), func(x sample) bool { return !x.named })
	for i, x := range named {
		end := n.now
		if i+1 < len(named) && named[i+1].At.Before(s.to) {
			end = named[i+1].At
		}
		from, to := x.At, earlier(end, s.to)
		if i+1 == len(named) || !named[i+1].At.Before(s.to) {
			to = earlier(n.now, s.to)
		}
		if from.Before(s.from) {
			from = s.from
		}
		if x.At.Before(s.to) && from.Before(to) {
			states[x.v.String()] += to.Sub(from).Milliseconds()
		}
	}
}

func (n *naive) groups() map[string][]string {
	all := map[string][]string{}
	for _, d := range devices {
		if len(n.in.Devices) > 0 && !slices.Contains(n.in.Devices, d.ID) || n.in.Tag != "" && !slices.Contains(d.Tags, n.in.Tag) || n.in.Profile != "" && d.ProfileID != n.in.Profile {
			continue
		}
		names := map[GroupBy][]string{ByNothing: {""}, ByDevice: {d.ID}, ByTag: d.Tags, ByProfile: {d.ProfileID}, ByType: {d.Type}}[n.in.GroupBy]
		if len(names) == 0 {
			names = []string{""}
		}
		for _, name := range names {
			all[name] = append(all[name], d.ID)
		}
	}
	return all
}

// rows returns the rows as texts.
func (n *naive) rows(steps []span) (rows []string) {
	for name, ids := range n.groups() {
		for _, s := range steps {
			for _, text := range n.figures(ids, s) {
				rows = append(rows, fmt.Sprintf("%s|%s|%s", name, s.from.Format(time.RFC3339Nano), text))
			}
		}
	}
	slices.Sort(rows)
	return rows
}

// figures returns the figures of a step: one, or one for each state.
func (n *naive) figures(ids []string, s span) (texts []string) {
	var changes []decimalsum.Decimal
	states := map[string]int64{}
	var within []sample
	for _, id := range ids {
		if d, ok := n.change(id, s); ok {
			changes = append(changes, d)
		}
		n.lasted(id, s, states)
		for _, x := range n.all[id] {
			if !x.At.Before(s.from) && x.At.Before(s.to) {
				within = append(within, x)
			}
		}
	}
	switch n.in.Function {
	case Durations:
		for name, ms := range states {
			texts = append(texts, name+"|"+decimalsum.Mean(decimalsum.Of(ms), 1000).String())
		}
		return texts
	case Increase, Rate, Derivative:
		var sum decimalsum.Decimal
		for _, d := range changes {
			sum = sum.Plus(d)
		}
		switch {
		case n.in.Function == Derivative && len(changes) > 0:
			sum = decimalsum.Mean(sum, int64(len(changes)))
		case n.in.Function == Rate && len(changes) > 0:
			sum = decimalsum.Mean(sum.Times(decimalsum.Of(1000)), earlier(s.to, n.now).Sub(s.from).Milliseconds())
		}
		if len(changes) > 0 {
			texts = []string{"|" + sum.String()}
		}
		return texts
	}
	if text, ok := pooled(n.in.Function, within); ok {
		return []string{"|" + text}
	}
	return nil
}

// pooled returns a figure of all values of a step.
func pooled(f Function, all []sample) (string, bool) {
	slices.SortStableFunc(all, func(a, b sample) int {
		if c := a.Place().Compare(b.Place()); c != 0 {
			return c
		}
		return strings.Compare(a.DeviceID, b.DeviceID)
	})
	switch {
	case len(all) == 0:
		return "", false
	case f == Count:
		return fmt.Sprint(len(all)), true
	case f == First:
		return all[0].v.String(), true
	case f == Last:
		return all[len(all)-1].v.String(), true
	}
	var numbers []decimalsum.Decimal
	var sum, squares decimalsum.Decimal
	for _, x := range all {
		if !x.named {
			numbers = append(numbers, x.number)
			sum, squares = sum.Plus(x.number), squares.Plus(x.number.Times(x.number))
		}
	}
	slices.SortFunc(numbers, func(a, b decimalsum.Decimal) int { return a.Cmp(&b) })
	n := int64(len(numbers))
	if n == 0 {
		return "", false
	}
	switch f {
	case Minimum:
		return numbers[0].String(), true
	case Maximum:
		return numbers[n-1].String(), true
	case Sum:
		return sum.String(), true
	case Average:
		return decimalsum.Mean(sum, n).String(), true
	case Deviation:
		return decimalsum.Deviation(sum, squares, n).String(), true
	}
	at := 0 // the least value that so many percent do not exceed
	for float64(at+1) < f.percent()/100*float64(n)-1e-9 {
		at++
	}
	return numbers[at].String(), true
}

// texts returns the rows of a result, sorted.
func texts(rows []Row) []string {
	all := make([]string, len(rows))
	for i, r := range rows {
		all[i] = fmt.Sprintf("%s|%s|%s|%s", r.Group, r.At.Format(time.RFC3339Nano), r.State, r.Value.String())
	}
	slices.Sort(all)
	return all
}

// Every figure equals that of a naive computation over all raw readings: at clock changes, with gaps,
// retractions, repetitions, readings in any order and metrics that are now a number, now a state.
func TestFiguresEqualThoseOfRawReadings(t *testing.T) { seeds.Run(t, 2, figuresOfRaw) }

func figuresOfRaw(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	zones := map[string]string{ // each near a clock change, if the zone has any
		"Europe/Berlin": "2026-10-25T00:00:00Z", "America/New_York": "2026-03-08T06:00:00Z", "Australia/Lord_Howe": "2026-04-04T14:00:00Z", "Asia/Kolkata": "2026-05-12T00:00:00Z",
	}
	names := []string{"America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Europe/Berlin"}
	zone := names[r.IntN(len(names))]
	change, err := time.Parse(time.RFC3339, zones[zone])
	if err != nil {
		t.Fatal(err)
	}
	from, to := change.Add(-40*time.Hour), change.Add(30*time.Hour)
	w := newWorld(t, zone, to.Add(time.Duration(r.IntN(5000)-2500)*time.Second))
	w.history(r, from, earlier(to, w.Now()))
	for range 2 {
		w.retract(r, from, to)
	}
	used := map[string]int{}
	for range 120 {
		in := randomRequest(r, from, to)
		got, err := Do(w.Ctx, w.Table, in)
		if errors.Is(err, ErrTooMuch) {
			continue
		}
		if err != nil {
			t.Fatalf("%s %+v: %v", zone, in, err)
		}
		used["aggregates"] += got.Aggregates
		used["readings"] += got.Readings
		steps, err := in.steps(w.zone, defaultLimits.steps)
		w.Must(err)
		want, have := w.naive(in).rows(steps), texts(got.Rows)
		if !slices.Equal(want, have) {
			t.Fatalf("%s %+v, now %s:\n%s", zone, in, w.Now(), differences(want, have))
		}
	}
	if used["aggregates"] == 0 || used["readings"] == 0 {
		t.Errorf("queries used %v, want both", used)
	}
}

func differences(want, have []string) string {
	var b strings.Builder
	for _, line := range want {
		if !slices.Contains(have, line) {
			fmt.Fprintln(&b, "missing", line)
		}
	}
	for _, line := range have {
		if !slices.Contains(want, line) {
			fmt.Fprintln(&b, "wrong  ", line)
		}
	}
	return b.String()
}

func randomRequest(r *rand.Rand, from, to time.Time) Request {
	width := to.Sub(from)
	start := from.Add(time.Duration(r.Int64N(int64(width)))).Truncate(time.Millisecond)
	if r.IntN(2) == 0 {
		start = start.Truncate(30 * time.Minute)
	}
	in := Request{
		FleetID: "plant", Metric: []string{"temp", "pulses", "mode", "any"}[r.IntN(4)], Function: append(slices.Clone(functions), "p50", "p95", "p100", "p0.5")[r.IntN(len(functions)+4)],
		From: start, To: start.Add(time.Duration(1 + r.Int64N(int64(width)))).Truncate(time.Millisecond),
		Step:    []string{StepHour, StepDay, StepAll, "1h", "2h30m", "10m", "90m", "24h"}[r.IntN(8)],
		GroupBy: []GroupBy{ByNothing, ByDevice, ByTag, ByProfile, ByType}[r.IntN(5)],
	}
	if !in.From.Before(in.To) {
		in.To = in.From.Add(time.Second)
	}
	switch r.IntN(5) {
	case 0:
		in.Devices = []string{"a", "c", "a"}
	case 1:
		in.Tag = "north"
	case 2:
		in.Profile = "meter"
	}
	if r.IntN(4) == 0 {
		in.Source = RawReadings
	}
	return in
}

// A figure that needs readings which are no longer kept is an error, not a guess. The others remain.
func TestExpiredReadings(t *testing.T) {
	at := time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)
	w := newWorld(t, "Europe/Berlin", at)
	var all []telemetry.Incoming
	for i := range 100 {
		all = append(all, telemetry.Incoming{DeviceID: "c", At: at.Add(time.Duration(i-200) * time.Second), Values: telemetry.Values{"temp": number(fmt.Sprint(i))}})
	}
	_, err := w.c.Ingest(w.Ctx, all)
	w.Must(err)
	w.Drain()
	in := Request{FleetID: "plant", Metric: "temp", From: at.Add(-time.Hour), To: at, Step: StepHour}
	for _, expired := range []bool{false, true} {
		if expired {
			w.Advance(40 * 24 * time.Hour)
		}
		for f, want := range map[Function]string{Average: "49.5", Last: "99", Derivative: "1", "p50": "49", Increase: "99", Rate: "0.0275"} {
			in.Function = f
			got, err := Do(w.Ctx, w.Table, in)
			if expired && (f == "p50" || f == Increase || f == Rate) {
				if !errors.Is(err, ErrExpired) {
					t.Errorf("%s: %v, %v", f, got.Rows, err)
				}
				continue
			}
			if err != nil || len(got.Rows) != 1 || got.Rows[0].Value.String() != want {
				t.Errorf("%s, expired %v: %+v, %v, want %s", f, expired, got.Rows, err, want)
			}
		}
	}
}

// Parts of hours need readings, whatever the function, unless the hour has no value in the part.
func TestPartsOfExpiredHours(t *testing.T) {
	at := time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)
	w := newWorld(t, "Europe/Berlin", at)
	var all []telemetry.Incoming
	for i := range 20 { // from 10:20 to 10:39
		all = append(all, telemetry.Incoming{DeviceID: "c", At: at.Add(time.Duration(i-100) * time.Minute), Values: telemetry.Values{"temp": number(fmt.Sprint(i))}})
	}
	_, err := w.c.Ingest(w.Ctx, all)
	w.Must(err)
	w.Drain()
	clock := func(minutes int) time.Time {
		return at.Truncate(24 * time.Hour).Add(time.Duration(minutes) * time.Minute)
	}
	for _, c := range []struct {
		from, to int // minutes of the day
		step     string
		source   Source
		rows     int // while the readings are kept
		needs    bool
	}{
		{600, 660, "15m", Automatic, 2, true},
		{630, 720, StepHour, Automatic, 1, true},
		{570, 630, StepAll, Automatic, 1, true},
		{600, 720, StepHour, Automatic, 1, false},
		{600, 720, StepHour, RawReadings, 1, true},
		{600, 620, StepAll, Automatic, 0, false},
		{640, 700, "10m", Automatic, 0, false},
		{0, 600, "15m", Automatic, 0, false},
	} {
		in := Request{FleetID: "plant", Metric: "temp", Function: Count, From: clock(c.from), To: clock(c.to), Step: c.step, Source: c.source}
		if got, err := Do(w.Ctx, w.Table, in); err != nil || len(got.Rows) != c.rows {
			t.Errorf("%+v: %+v, %v", c, got.Rows, err)
		}
	}
	w.Advance(40 * 24 * time.Hour)
	for _, c := range []struct {
		f        Function
		from, to int
		step     string
		source   Source
		expired  bool
		rows     int
	}{
		{Count, 600, 660, "15m", Automatic, true, 0},
		{Count, 630, 720, StepHour, Automatic, true, 0},
		{Count, 570, 630, StepAll, Automatic, true, 0},
		{Count, 600, 720, StepHour, Automatic, false, 1},
		{Count, 600, 720, StepHour, RawReadings, true, 0},
		{Count, 600, 620, StepAll, Automatic, false, 0},
		{Count, 640, 700, "10m", Automatic, false, 0},
		{Count, 0, 600, "15m", Automatic, false, 0},
		{Derivative, 630 + 24*60, 720 + 24*60, StepHour, Automatic, true, 0}, // what precedes the range
		{Derivative, 660 + 24*60, 720 + 24*60, StepHour, Automatic, false, 0},
	} {
		in := Request{FleetID: "plant", Metric: "temp", Function: c.f, From: clock(c.from), To: clock(c.to), Step: c.step, Source: c.source}
		if got, err := Do(w.Ctx, w.Table, in); errors.Is(err, ErrExpired) != c.expired || err != nil && !c.expired || len(got.Rows) != c.rows {
			t.Errorf("%+v: %+v, %v", c, got.Rows, err)
		}
	}
}

// Every limit ends a query with an error that says how to narrow it.
func TestLimits(t *testing.T) {
	at := time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)
	w := newWorld(t, "Europe/Berlin", at)
	w.history(rand.New(rand.NewPCG(seeds.One(t), 0)), at.Add(-70*time.Hour), at)
	in := Request{FleetID: "plant", Metric: "temp", Function: Count, From: at.Add(-70 * time.Hour), To: at, Step: StepHour, GroupBy: ByDevice}
	for name, lower := range map[string]func(*limits){
		"devices": func(l *limits) { l.devices = 3 },
		"steps":   func(l *limits) { l.steps = 69 },
		"rows":    func(l *limits) { l.rows = 50 },
		"hours":   func(l *limits) { l.aggregates = 279 },
		"raw":     func(l *limits) { l.readings = 100; in.Source = RawReadings },
	} {
		l := defaultLimits
		lower(&l)
		if _, err := do(w.Ctx, w.Table, in, l); !errors.Is(err, ErrTooMuch) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		in.Source = Automatic
	}
	if got, err := do(w.Ctx, w.Table, in, limits{devices: 4, steps: 70, rows: 280, aggregates: 280}); err != nil || len(got.Rows) < 50 || got.Readings != 0 {
		t.Errorf("within the limits: %d rows, %v", len(got.Rows), err)
	}
}
