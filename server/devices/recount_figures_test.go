package devices_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/telemetry"
)

// place is the order of a reading among those of its device: by its time, its number, and a hash of
// its values or its session.
type place struct {
	at  time.Time
	nth int64 // 0: it has no number
	tie uint64
}

func (p place) compare(o place) int {
	return cmp.Or(p.at.Compare(o.at), cmp.Compare(p.nth, o.nth), cmp.Compare(p.tie, o.tie))
}

// point is a value of one metric, as in JSON.
type point struct {
	place
	value string
}

func (p point) String() string {
	return fmt.Sprintf("%s=%s (%d, %x)", p.at.UTC().Format("02T15:04:05.000"), p.value, p.nth, p.tie)
}

// steps returns points in the order in which a counter processes them: those within a millisecond
// without numbers by size.
func steps(points []point) []point {
	return slices.SortedStableFunc(slices.Values(points), func(a, b point) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.nth, b.nth), number(a.value).Cmp(number(b.value)))
	})
}

// lastOf returns the point from which the next bucket's increase or states continue.
func lastOf(metric string, points []point) *point {
	if kindOf(metric) == telemetry.Counter {
		points = steps(points)
	}
	return &points[len(points)-1]
}

// points returns all values of a metric that count, in order.
func (g *gadget) points(metric string) []point {
	return slices.DeleteFunc(slices.Clone(g.measured(metric)), func(p point) bool { return g.void(metric, p.at) })
}

// measured returns all values of a metric, in order.
func (g *gadget) measured(metric string) []point {
	all, known := g.ordered[metric]
	if known {
		return all
	}
	for _, r := range g.sent {
		if v, there := r.values[metric]; there {
			all = append(all, point{r.place(), v})
		}
	}
	slices.SortStableFunc(all, func(a, b point) int { return a.compare(b.place) })
	if g.ordered == nil {
		g.ordered = map[string][]point{}
	}
	g.ordered[metric] = all
	return all
}

// metrics returns the names of everything that a device measured.
func (g *gadget) metrics() []string {
	names := map[string]bool{}
	for _, r := range g.sent {
		for name := range r.values {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// bucket has the points of one metric between two times.
type bucket struct {
	start, end time.Time
	points     []point
}

// bucketAt returns the bucket of a time.
func (d *days) bucketAt(p telemetry.Period, at time.Time) *bucket {
	local := at.In(d.zone)
	width := map[telemetry.Period]time.Duration{telemetry.TenMinutes: 10 * time.Minute, telemetry.Hourly: time.Hour}[p]
	if width == 0 {
		y, m, day := local.Date()
		return &bucket{start: time.Date(y, m, day, 0, 0, 0, 0, d.zone), end: time.Date(y, m, day+1, 0, 0, 0, 0, d.zone)}
	}
	start := at.Truncate(width) // the zone is whole hours from UTC
	return &bucket{start: start, end: start.Add(width)}
}

// buckets divides points, which are in order.
func (d *days) buckets(p telemetry.Period, points []point) (all []*bucket) {
	for _, one := range points {
		if len(all) == 0 || !one.at.Before(all[len(all)-1].end) {
			all = append(all, d.bucketAt(p, one.at))
		}
		last := all[len(all)-1]
		last.points = append(last.points, one)
	}
	return all
}

// compareAggregates recounts what a device sent, bucket by bucket.
func (d *days) compareAggregates(g *gadget, p telemetry.Period) {
	d.Helper()
	want := map[string]*bucket{}
	for _, metric := range g.metrics() {
		for _, b := range d.buckets(p, g.points(metric)) {
			start := b.start.UTC().Format(time.RFC3339)
			if p == telemetry.Daily {
				start = b.start.Format(time.DateOnly)
			}
			want[start+" "+metric] = b
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
				f := &a.Metrics[i]
				key := a.Start + " " + f.Metric
				if b := want[key]; b == nil {
					d.Errorf("%s, %s %s: %+v, want nothing", g.id, p, key, f)
				} else if wrong := b.differs(f, nil, b.points[len(b.points)-1].at); wrong != "" {
					d.Errorf("%s, %s %s: %s: %+v, of %v", g.id, p, key, wrong, f, b.points)
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

// differs names a figure that does not match the points. before is the last point before them, if
// it counts, and the last state lasts until a time.
func (b *bucket) differs(f *telemetry.Figures, before *point, until time.Time) string {
	first, last := b.points[0], b.points[len(b.points)-1]
	kind := kindOf(f.Metric)
	switch {
	case f.Kind != kind:
		return fmt.Sprintf("it is a %s", kind)
	case f.Count != int64(len(b.points)):
		return fmt.Sprintf("there are %d", len(b.points))
	case f.Partial:
		return "partial"
	case !f.FirstAt.Equal(first.at) || !f.LastAt.Equal(last.at):
		return "the times are wrong"
	case !sameText(f.First, first.value) || !sameText(f.Last, last.value):
		return fmt.Sprintf("first is %s, last %s", first.value, last.value)
	}
	if kind == telemetry.State {
		return b.lastedDiffers(f, before, until)
	}
	wrong := b.sumsDiffer(f)
	switch {
	case wrong != "":
	case kind == telemetry.Gauge:
		wrong = b.percentilesDiffer(f)
	default:
		wrong = b.increaseDiffers(f, before)
	}
	return wrong
}

// sameValue compares values in JSON. A text is never a number.
func sameValue(a, b string) bool {
	x, y := number(a), number(b)
	return a == b || x != nil && y != nil && x.Cmp(y) == 0
}

// sameText reports whether a text is that of a value in JSON.
func sameText(text, value string) bool { return text == textOf(value) || sameValue(text, value) }

// textOf returns the text of a value in JSON; numbers in their shortest form.
func textOf(value string) string {
	var text string
	switch {
	case json.Unmarshal([]byte(value), &text) == nil:
		return text
	case strings.Contains(value, "."):
		return strings.TrimRight(strings.TrimRight(value, "0"), ".")
	}
	return value
}

// number parses a decimal, or returns nil.
func number(s string) *big.Rat {
	if v, ok := new(big.Rat).SetString(s); ok {
		return v
	}
	return nil
}

// numbers returns the values sorted by size.
func (b *bucket) numbers() (all []*big.Rat) {
	for _, p := range b.points {
		all = append(all, number(p.value))
	}
	slices.SortFunc(all, (*big.Rat).Cmp)
	return all
}

func (b *bucket) sumsDiffer(f *telemetry.Figures) string {
	all := b.numbers()
	n := big.NewRat(int64(len(all)), 1)
	sum, squares := new(big.Rat), new(big.Rat)
	for _, v := range all {
		sum.Add(sum, v)
		squares.Add(squares, new(big.Rat).Mul(v, v))
	}
	mean := new(big.Rat).Quo(sum, n)
	variance := new(big.Rat).Sub(squares.Quo(squares, n), new(big.Rat).Mul(mean, mean))
	deviation := number(f.Deviation)
	switch {
	case !near(number(f.Sum), sum, 0):
		return "the sum is " + sum.FloatString(6)
	case !near(number(f.Min), all[0], 0) || !near(number(f.Max), all[len(all)-1], 0):
		return "the least or the greatest is wrong"
	case !near(number(f.Mean), mean, 1e-18):
		return "the mean is " + mean.FloatString(20)
	case deviation == nil || deviation.Sign() < 0 || !near(deviation.Mul(deviation, deviation), variance, 1e-17):
		return "the variance is " + variance.FloatString(20)
	}
	return ""
}

// near compares two numbers, one of which was rounded, with a relative tolerance.
func near(got, want *big.Rat, part float64) bool {
	if got == nil {
		return false
	}
	apart := new(big.Rat).Sub(got, want)
	allowed := new(big.Rat).Mul(new(big.Rat).SetFloat64(part), want)
	return apart.Abs(apart).Cmp(allowed.Abs(allowed)) <= 0
}

// percentilesDiffer compares percentiles with the least values that so many percent are at or
// below.
func (b *bucket) percentilesDiffer(f *telemetry.Figures) string {
	all := b.numbers()
	different := len(slices.CompactFunc(slices.Clone(all), func(a, b *big.Rat) bool { return a.Cmp(b) == 0 }))
	part := f.PercentileError
	if few := different <= 64; few != f.Exact || few && part != 0 || !few && (part <= 0 || part > 0.01) {
		return fmt.Sprintf("there are %d values", different)
	}
	for percent, got := range map[int]string{50: f.P50, 90: f.P90, 95: f.P95, 99: f.P99} {
		want := all[(len(all)*percent+99)/100-1]
		if !near(number(got), want, part*1.0001) {
			return fmt.Sprintf("the percentile %d is %s", percent, want.FloatString(6))
		}
	}
	return ""
}

// grown returns the increase of a counter since the previous point. A value below the previous one
// counts as a whole.
func (b *bucket) grown(before *point) (increase *big.Rat, resets int64) {
	increase = new(big.Rat)
	for _, p := range steps(b.points) {
		to, from := number(p.value), new(big.Rat)
		if before != nil {
			if from = number(before.value); to.Cmp(from) < 0 {
				from, resets = new(big.Rat), resets+1
			}
			increase.Add(increase, new(big.Rat).Sub(to, from))
		}
		before = &p
	}
	return increase, resets
}

func (b *bucket) increaseDiffers(f *telemetry.Figures, before *point) string {
	increase, resets := b.grown(before)
	if !near(number(f.Increase), increase, 0) || f.Resets != resets {
		return fmt.Sprintf("it grew by %s with %d resets", increase.FloatString(3), resets)
	}
	if before == nil {
		before = &b.points[0]
	}
	took := b.points[len(b.points)-1].at.Sub(before.at).Milliseconds()
	if took == 0 {
		if f.Rate != "" {
			return "no time passed"
		}
		return ""
	}
	rate := new(big.Rat).Mul(increase, big.NewRat(1000, took))
	if !near(number(f.Rate), rate, 1e-18) {
		return "the rate is " + rate.FloatString(20)
	}
	return ""
}

// lastedDiffers adds up how long states lasted. A state from before the bucket lasts from its
// start.
func (b *bucket) lastedDiffers(f *telemetry.Figures, before *point, until time.Time) string {
	way := b.points
	if before != nil {
		way = append([]point{{place{at: b.start}, before.value}}, way...)
	}
	want := map[string]int64{}
	for i, p := range way {
		end := until
		if i+1 < len(way) {
			end = way[i+1].at
		}
		want[textOf(p.value)] += end.Sub(p.at).Milliseconds()
	}
	got := map[string]int64{}
	for name, seconds := range f.Lasted {
		got[name] = int64(seconds*1000 + 0.5)
	}
	nothing := func(_ string, ms int64) bool { return ms == 0 }
	maps.DeleteFunc(got, nothing)
	if maps.DeleteFunc(want, nothing); !maps.Equal(got, want) {
		return fmt.Sprintf("states lasted %v", want)
	}
	return ""
}
