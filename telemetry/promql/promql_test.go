package promql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	prometheus "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

var devices = []telemetry.NewDevice{
	{ID: "a", FleetID: "plant", Type: "pump", Name: "Pump A", Tags: []string{"north", "wet"}},
	{ID: "b", FleetID: "plant", Type: "fan", Tags: []string{"north"}},
	{ID: "c", FleetID: "plant"},
}

func newWorld(t *testing.T, at time.Time) *foldtest.World {
	t.Helper()
	w := foldtest.NewWorld(t, foldtest.Setup{
		Schema: telemetry.Schema, Group: telemetry.FoldGroup, At: at, Engine: engine.Options{StreamShards: 1},
		Folds: func(t *table.Table) []*fold.Fold {
			return telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(t)})
		},
	})
	for _, fleet := range []string{"plant", "other"} {
		_, err := telemetry.CreateFleet(w.Ctx, w.Table, telemetry.NewFleet{ID: fleet, TimeZone: "Europe/Berlin", Limits: telemetry.Limits{PerMinute: 1_000_000}})
		w.Must(err)
	}
	for _, d := range append(devices, telemetry.NewDevice{ID: "theirs", FleetID: "other"}) {
		_, err := telemetry.CreateDevice(w.Ctx, w.Table, d)
		w.Must(err)
	}
	return w
}

// fill sends readings: several in a millisecond, retracted ones, texts between numbers.
func fill(w *foldtest.World, r *rand.Rand, from, to time.Time) {
	w.Helper()
	c := telemetry.NewCollector(w.Table, telemetry.CollectorOptions{})
	var all []telemetry.Incoming
	total := 0
	for _, id := range []string{"a", "b", "c", "theirs"} {
		for at := from; at.Before(to); at = at.Add(time.Duration(r.IntN(240)) * time.Second) {
			total += r.IntN(9)
			v := telemetry.Values{}
			for name, text := range map[string]string{"temp": fmt.Sprint(r.IntN(400)), "pulses": fmt.Sprint(total), "cpu.idle{cpu=0,host=x}": fmt.Sprint(r.IntN(100)), "cpu.idle{cpu=1}": fmt.Sprint(r.IntN(100))} {
				if v[name], _ = telemetry.Number(text); r.IntN(4) == 0 {
					delete(v, name)
				}
			}
			switch r.IntN(3) {
			case 0:
				v["door"] = telemetry.Bool(r.IntN(2) == 0)
			case 1:
				v["temp"] = telemetry.Text("broken")
			}
			all = append(all, telemetry.Incoming{DeviceID: id, At: at, Values: v, Imported: true})
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for n := range 3 {
		_, err := c.Ingest(w.Ctx, all[n*len(all)/3:(n+1)*len(all)/3])
		w.Must(err)
		if n == 1 {
			_, err := telemetry.MoveReadings(w.Ctx, w.Table)
			w.Must(err)
		}
	}
	_, err := telemetry.Retract(w.Ctx, w.Table, telemetry.Retraction{RetractionKey: telemetry.RetractionKey{DeviceID: "b"}, From: from.Add(time.Hour), To: from.Add(80 * time.Minute), Metrics: []string{"temp"}})
	w.Must(err)
	w.Drain()
}

// list is a naive storage.
func list(w *foldtest.World) prometheus.Queryable {
	w.Helper()
	type known struct {
		labels labels.Labels
		all    []chunks.Sample
	}
	series := map[string]*known{}
	for _, d := range devices {
		retractions, err := telemetry.RetractionsOfDevice.Collect(w.Ctx, w.Table, telemetry.DeviceIn{DeviceID: d.ID})
		w.Must(err)
		all, err := telemetry.ReadingsIn{DeviceID: d.ID}.Collect(w.Ctx, w.Table)
		w.Must(err)
		for _, r := range all {
			for metric, v := range r.Values {
				if v.IsText() || telemetry.Retracted(retractions, r.At, metric) {
					continue
				}
				m := map[string]string{"__name__": metric, "device": d.ID, "device_name": d.Name, "type": d.Type}
				if len(d.Tags) > 0 {
					m["tags"] = "," + strings.Join(d.Tags, ",") + ","
				}
				switch metric {
				case "cpu.idle{cpu=0,host=x}":
					m["__name__"], m["cpu"], m["host"] = "cpu.idle", "0", "x"
				case "cpu.idle{cpu=1}":
					m["__name__"], m["cpu"] = "cpu.idle", "1"
				}
				key := d.ID + metric
				if series[key] == nil {
					b := labels.NewScratchBuilder(len(m))
					for name, value := range m {
						if value != "" {
							b.Add(name, value)
						}
					}
					b.Sort()
					series[key] = &known{labels: b.Labels()}
				}
				k := series[key]
				if n := len(k.all); n > 0 && k.all[n-1].T() == r.At.UnixMilli() {
					k.all = k.all[:n-1]
				}
				k.all = append(k.all, &sample{r.At.UnixMilli(), v.Float()})
			}
		}
	}
	return prometheus.QueryableFunc(func(mint, maxt int64) (prometheus.Querier, error) {
		return &prometheus.MockQuerier{SelectMockFunction: func(_ bool, hints *prometheus.SelectHints, matchers ...*labels.Matcher) prometheus.SeriesSet {
			var entries []prometheus.Series
			for _, k := range series {
				match := true
				for _, m := range matchers {
					match = match && m.Matches(k.labels.Get(m.Name))
				}
				if match {
					entries = append(entries, prometheus.NewListSeries(k.labels, k.all))
				}
			}
			return &seriesSet{entries: entries}
		}}, nil
	})
}

// Every result equals that of Prometheus' engine over a list of all samples.
func TestResultsEqualThoseOfAList(t *testing.T) { seeds.Run(t, 2, resultsOfList) }

func resultsOfList(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	to := time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)
	from := to.Add(-5 * time.Hour)
	w := newWorld(t, to)
	fill(w, r, from, to)
	e := New(w.Table, Options{})
	oracle := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: parser.NewParser(parser.Options{}),
		NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 }})
	reference := list(w)
	queries := []string{
		"1+1", "temp", `{"cpu.idle"}`, `{"cpu.idle",cpu="1"}`, `sum by (type) (temp)`, `rate(pulses[10m])`, `increase(pulses[1h] offset 30m)`, `avg_over_time(temp[15m])`,
		`max by (device) (temp) - min by (device) (temp)`, `{tags=~".*,north,.*"}`, `topk(2, temp)`, `quantile(0.9, temp)`, `count_over_time(door[1h])`, `last_over_time(temp[2h])`,
		`sum(rate(pulses[5m])) / count(pulses)`, `temp > 200`, `absent(nothing)`, `max_over_time(rate(pulses[5m])[30m:])`, `temp @ end()`, `histogram_quantile(0.9, temp)`, `label_replace(temp, "x", "$1", "device", "(.*)")`, `{device!=""}`, `stddev_over_time({"cpu.idle"}[20m])`,
	}
	results := 0
	for _, text := range queries {
		at := from.Add(time.Duration(r.IntN(300)) * time.Minute)
		step := time.Duration(30+r.IntN(900)) * time.Second
		want := func(q promql.Query, err error) string {
			t.Helper()
			w.Must(err)
			result := q.Exec(w.Ctx)
			w.Must(result.Err)
			return encoded(t, Answer{Type: result.Value.Type(), Result: result.Value})
		}
		got, err := e.Instant(w.Ctx, "plant", text, at, 0)
		w.Must(err)
		if have, wanted := encoded(t, got), want(oracle.NewInstantQuery(w.Ctx, reference, nil, text, at)); !same(text, have, wanted) {
			t.Errorf("%s at %s: %s\nwant %s", text, at, have, wanted)
		}
		got, err = e.Range(w.Ctx, "plant", text, from, to, step, 0)
		w.Must(err)
		have, wanted := encoded(t, got), want(oracle.NewRangeQuery(w.Ctx, reference, nil, text, from, to, step))
		if have != wanted {
			t.Errorf("%s every %s: %.2000s\nwant %.2000s", text, step, have, wanted)
		}
		results += strings.Count(have, `"metric"`)
	}
	if results < 30 {
		t.Errorf("only %d series", results)
	}
}

// same compares results. The order of an instant vector is that of the storage.
func same(query, a, b string) bool {
	return a == b || !strings.Contains(query, "topk") && sorted(a) == sorted(b)
}

func sorted(text string) string {
	var a struct{ Result []json.RawMessage }
	if json.Unmarshal([]byte(text), &a) != nil {
		return text
	}
	all := map[string]bool{}
	for _, one := range a.Result {
		all[string(one)] = true
	}
	b, err := json.Marshal(all)
	return fmt.Sprint(string(b), err)
}

func encoded(t *testing.T, a Answer) string {
	t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Queries are bounded: in samples, series, time and concurrency. Errors have the kinds of Prometheus.
func TestQueriesAreBounded(t *testing.T) {
	to := time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)
	from := to.Add(-5 * time.Hour)
	w := newWorld(t, to)
	fill(w, rand.New(rand.NewPCG(seeds.One(t), 0)), from, to)
	kind := func(o Options, ctx context.Context, text string) Kind {
		t.Helper()
		_, err := New(w.Table, o).Range(ctx, "plant", text, from, to, time.Minute, 0)
		var known *Error
		if !errors.As(err, &known) {
			t.Fatalf("%s: %v", text, err)
		}
		return known.Kind
	}
	canceled, cancel := context.WithCancel(w.Ctx)
	cancel()
	for _, c := range []struct {
		o    Options
		ctx  context.Context
		text string
		want Kind
	}{
		{Options{}, w.Ctx, "sum(", BadData},
		{Options{}, w.Ctx, "", BadData},
		{Options{}, w.Ctx, strings.Repeat("(", 10_000), BadData},
		{Options{MaxSamples: 100}, w.Ctx, `{device!=""}`, Execution},
		{Options{MaxSamples: 500}, w.Ctx, `vector(1) + on() group_left() temp{device="a"} or vector(2)`, Execution},
		{Options{MaxSeries: 3}, w.Ctx, `{device!=""}`, Execution},
		{Options{}, w.Ctx, `temp * on() temp`, Execution},
		{Options{Timeout: time.Nanosecond}, w.Ctx, "temp", Timeout},
		{Options{}, canceled, "temp", Canceled},
	} {
		if got := kind(c.o, c.ctx, c.text); got != c.want {
			t.Errorf("%.40s: %s, want %s", c.text, got, c.want)
		}
	}
}

// The labels of a metric are unambiguous: no two metrics of a device have the same.
func TestLabelsOfMetrics(t *testing.T) {
	d := &telemetry.Device{DeviceKey: telemetry.DeviceKey{DeviceID: "d"}, Tags: []string{"x"}}
	for metric, want := range map[string]string{
		"temp":                  `{__name__="temp", device="d", tags=",x,"}`,
		"cpu.idle{cpu=cpu0}":    `{__name__="cpu.idle", cpu="cpu0", device="d", tags=",x,"}`,
		"m{a=1,2,b=c=d}":        `{__name__="m", a="1,2", b="c=d", device="d", tags=",x,"}`,
		"m{device=sda}":         `{__name__="m", device="d", exported_device="sda", tags=",x,"}`,
		"m{exported_device=x}":  `{__name__="m{exported_device=x}", device="d", tags=",x,"}`,
		"m{a=1,a=2}":            `{__name__="m{a=1,a=2}", device="d", tags=",x,"}`,
		"m{b=1,a=2}":            `{__name__="m{b=1,a=2}", device="d", tags=",x,"}`,
		"m{a=}":                 `{__name__="m{a=}", device="d", tags=",x,"}`,
		"m{}":                   `{__name__="m{}", device="d", tags=",x,"}`,
		"{a=b}":                 `{__name__="{a=b}", device="d", tags=",x,"}`,
		"m{a=b":                 `{__name__="m{a=b", device="d", tags=",x,"}`,
		"Temperatur außen":      `{__name__="Temperatur außen", device="d", tags=",x,"}`,
		"m{Größe=1}":            `{"Größe"="1", __name__="m", device="d", tags=",x,"}`,
		"m{__name__=other,x=1}": `{__name__="m{__name__=other,x=1}", device="d", tags=",x,"}`,
	} {
		if got := seriesOf(d, metric).labels.String(); got != want {
			t.Errorf("%s: %s, want %s", metric, got, want)
		}
	}
}

// Labels of a fleet with more series than a query may read are listed, in the slots and the time of
// queries.
func TestLabelQueriesAreBounded(t *testing.T) {
	to := time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)
	w := newWorld(t, to)
	fill(w, rand.New(rand.NewPCG(seeds.One(t), 0)), to.Add(-time.Hour), to)
	asks := func(e *Engine, ctx context.Context) map[string]error {
		_, names := e.LabelNames(ctx, "plant", nil)
		_, values := e.LabelValues(ctx, "plant", "device", []string{`{device!=""}`, "temp"})
		_, series := e.Series(ctx, "plant", []string{`{device="a"}`, `{device="b"}`})
		return map[string]error{"names": names, "values": values, "series": series}
	}
	kind := func(err error) Kind {
		var known *Error
		if errors.As(err, &known) {
			return known.Kind
		}
		return ""
	}
	few := New(w.Table, Options{MaxSeries: 3})
	for what, err := range asks(few, w.Ctx) {
		if want := map[string]Kind{"series": Execution}[what]; kind(err) != want {
			t.Errorf("%s of many series: %v", what, err)
		}
	}
	if got, err := few.LabelValues(w.Ctx, "plant", "device", nil); err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("values: %v, %v", got, err)
	}
	for what, err := range asks(New(w.Table, Options{Timeout: time.Nanosecond}), w.Ctx) {
		if kind(err) != Timeout {
			t.Errorf("%s in no time: %v", what, err)
		}
	}
	full := New(w.Table, Options{Concurrent: 1})
	full.slots <- struct{}{}
	waiting, cancel := context.WithCancel(w.Ctx)
	cancel()
	for what, err := range asks(full, waiting) {
		if kind(err) != Canceled || !strings.Contains(err.Error(), "waiting") {
			t.Errorf("%s without a free slot: %v", what, err)
		}
	}
	if _, err := full.LabelNames(waiting, "plant", []string{"{"}); kind(err) != Canceled { // long regular expressions take time to compile
		t.Errorf("selectors are parsed without a free slot: %v", err)
	}
	full = New(w.Table, Options{Concurrent: 1, Timeout: time.Millisecond})
	full.slots <- struct{}{}
	if _, err := full.Instant(w.Ctx, "plant", "1", to, 0); kind(err) != Timeout {
		t.Errorf("a query without a free slot: %v", err)
	}
}

// Matching ends with the time of a query: a long regular expression takes long for each series.
func TestMatchingEndsInTime(t *testing.T) {
	to := time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC)
	w := newWorld(t, to)
	fill(w, rand.New(rand.NewPCG(seeds.One(t), 0)), to.Add(-time.Hour), to)
	ctx, cancel := context.WithCancel(w.Ctx)
	defer cancel()
	s := New(w.Table, Options{}).newStorage(ctx, "plant")
	for _, known := range []bool{false, true} {
		matched := 0
		err := s.each(func(series) error {
			if matched++; known {
				cancel()
			}
			return nil
		}, nil)
		if known != errors.Is(err, context.Canceled) || known != (matched == 1) {
			t.Errorf("canceled %v: %d series, %v", known, matched, err)
		}
	}
}

// Regular expressions that take much memory are refused before they are compiled; long lists are not.
func TestPatternsAreBounded(t *testing.T) {
	w := newWorld(t, time.Date(2026, 5, 12, 12, 0, 0, 0, time.UTC))
	e := New(w.Table, Options{})
	large := "(" + strings.Repeat("(a?){1000}", 10) + ")+"
	ids := make([]string, 4000)
	for i := range ids {
		ids[i] = fmt.Sprintf("device-%06d", i)
	}
	for text, refused := range map[string]bool{
		`{device=~"` + strings.Join(ids, "|") + `"}`:                                     false,
		`{device=~"a{3,7}.*", type=~"(x|y){2}"}`:                                         false,
		`{device="` + large + `"}`:                                                       false,
		`{` + strings.Repeat(`device=~"`+large+`",`, 4) + `}`:                            true,
		`label_replace(temp, "x", "$1", "device", "` + strings.Repeat(large, 4) + `")`:   true,
		`{` + strings.Repeat("type=~`"+strings.Repeat("(a{500}){2}", 10)+"`,", 11) + `}`: true,
	} {
		_, err := e.Instant(w.Ctx, "plant", text, w.Now(), 0)
		if errors.Is(err, ErrTooMuch) != refused {
			t.Errorf("%.60s: %v", text, err)
		}
		if _, err = e.Series(w.Ctx, "plant", []string{text}); text[0] == '{' && errors.Is(err, ErrTooMuch) != refused {
			t.Errorf("series %.60s: %v", text, err)
		}
	}
}
