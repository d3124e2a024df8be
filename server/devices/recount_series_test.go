package devices_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/onefold/onefold/telemetry"
)

// curve is a request for a series.
type curve struct {
	*gadget
	metric     string
	from, to   time.Time
	resolution telemetry.Period // "": the server chooses
	most       int
	fill       telemetry.Fill
}

func (c *curve) String() string {
	return fmt.Sprintf("%s %s from %s to %s, %q, %d points, fill %q", c.id, c.metric, c.from.Format(time.RFC3339Nano), c.to.Format(time.RFC3339Nano), c.resolution, c.most, c.fill)
}

// shownPoint is a point of a response.
type shownPoint struct {
	At       time.Time
	Value    json.RawMessage
	Filled   bool
	Figures  *telemetry.Figures
	Coverage float64
}

func (p *shownPoint) String() string {
	return fmt.Sprintf("%s %s, filled: %v, coverage %v, %+v", p.At, p.Value, p.Filled, p.Coverage, p.Figures)
}

// compareSeries compares the whole curves of metrics in each resolution, and some random requests.
func (d *days) compareSeries(g *gadget) {
	d.Helper()
	all := g.metrics()
	d.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, metric := range last(all, 1+18/len(d.gadgets)) {
		for _, p := range []telemetry.Period{telemetry.Raw, telemetry.TenMinutes, telemetry.Hourly, telemetry.Daily} {
			d.compareCurve(&curve{gadget: g, metric: metric, from: d.Now().Add(-28 * 24 * time.Hour), to: d.Now(), resolution: p, most: 10_000})
		}
		for range 3 {
			d.compareCurve(d.someCurve(g, metric))
		}
	}
}

func (d *days) someCurve(g *gadget, metric string) *curve {
	r := d.random
	c := &curve{gadget: g, metric: metric, most: 3 + r.IntN(30<<r.IntN(6))}
	c.to = d.Now().Add(-time.Duration(r.Int64N(int64(48 * time.Hour)))).Truncate(time.Millisecond)
	if r.IntN(2) == 0 {
		c.to = d.Now()
	}
	c.from = c.to.Add(-time.Duration(1 + r.Int64N(int64(time.Hour)<<r.IntN(9)))).Truncate(time.Millisecond)
	if all := g.points(metric); r.IntN(4) == 0 && len(all) > 0 { // at a reading
		if at := all[r.IntN(len(all))].at; at.Before(c.to) {
			c.from = at
		}
	}
	c.resolution = []telemetry.Period{"", "", telemetry.Raw, telemetry.TenMinutes, telemetry.Hourly, telemetry.Daily}[r.IntN(6)]
	if n := len(c.readings()); r.IntN(2) == 0 && n > 3 { // as many as there are, or one less
		c.most = n - r.IntN(2)
	} else if n := len(d.inRange(c, telemetry.Hourly)); r.IntN(2) == 0 && n > 3 {
		c.most = min(n-r.IntN(2), 10_000)
	}
	c.fill = []telemetry.Fill{telemetry.FillNone, telemetry.FillNull, telemetry.FillPrevious, telemetry.FillLinear}[r.IntN(4)]
	return c
}

func (d *days) compareCurve(c *curve) {
	d.Helper()
	if !c.from.Before(c.to) {
		return
	}
	query := url.Values{
		"metric": {c.metric}, "from": {c.from.Format(time.RFC3339Nano)}, "to": {c.to.Format(time.RFC3339Nano)}, "maxPoints": {strconv.Itoa(c.most)},
	}
	if c.resolution != "" {
		query.Set("resolution", string(c.resolution))
	}
	if c.fill != "" {
		query.Set("fill", string(c.fill))
	}
	var got struct {
		Kind       telemetry.MetricKind
		Resolution telemetry.Period
		Thinned    bool
		Points     []shownPoint
	}
	d.answer("/devices/"+c.id+"/series?"+query.Encode(), &got)
	if want := d.resolutionOf(c); got.Resolution != want {
		d.Fatalf("%s: it is %s, want %s", c, got.Resolution, want)
	}
	var want []wantedPoint
	if got.Resolution == telemetry.Raw {
		want = c.readings()
	} else {
		want = d.drawn(c, got.Resolution)
	}
	if got.Kind != "" && got.Kind != kindOf(c.metric) {
		d.Errorf("%s: it is a %s", c, got.Kind)
	}
	if len(want) > c.most != got.Thinned || len(got.Points) != min(len(want), c.most) {
		d.Fatalf("%s: %d points, thinned: %v; want %d, of which not all may be there", c, len(got.Points), got.Thinned, len(want))
	}
	d.comparePoints(c, got.Points, want)
}

// comparePoints compares points with the expected ones, of which some may have been left out, but
// not the ends.
func (d *days) comparePoints(c *curve, got []shownPoint, want []wantedPoint) {
	d.Helper()
	thinned := len(got) < len(want)
	if n := len(got); thinned && (!got[0].At.Equal(want[0].at) || !got[n-1].At.Equal(want[len(want)-1].at)) {
		d.Errorf("%s: an end of the curve is missing: %v to %v", c, got[0].At, got[n-1].At)
	}
	for i := range got {
		if !thinned {
			if wrong := want[i].differs(&got[i]); wrong != "" {
				d.Fatalf("%s: point %d is %s: %s; want %s", c, i, &got[i], wrong, &want[i])
			}
			continue
		}
		at := slices.IndexFunc(want, func(w wantedPoint) bool { return w.at.Equal(got[i].At) && w.differs(&got[i]) == "" })
		if at < 0 {
			d.Fatalf("%s: point %d is %s: there is none, or the order is wrong", c, i, &got[i])
		}
		want = want[at+1:]
	}
}

// resolutionOf returns the finest resolution with at most the wanted number of points. Nothing
// expires during a test.
func (d *days) resolutionOf(c *curve) telemetry.Period {
	if c.resolution != "" {
		return c.resolution
	}
	if len(c.readings()) <= c.most {
		return telemetry.Raw
	}
	for _, p := range []telemetry.Period{telemetry.TenMinutes, telemetry.Hourly} {
		if len(d.inRange(c, p)) <= c.most {
			return p
		}
	}
	return telemetry.Daily
}

// inRange returns the buckets of a curve's range, without points.
func (d *days) inRange(c *curve, p telemetry.Period) (all []*bucket) {
	for at := c.from; at.Before(c.to); {
		b := d.bucketAt(p, at)
		all, at = append(all, b), b.end
	}
	return all
}

// wantedPoint is an expected point.
type wantedPoint struct {
	at     time.Time
	value  string // "": none
	filled bool
	about  bool // the value is rounded
	*bucket
	before   *point
	until    time.Time
	coverage float64
}

func (w *wantedPoint) String() string {
	text := fmt.Sprintf("%s %s filled: %v, coverage %v", w.at, w.value, w.filled, w.coverage)
	if w.bucket != nil {
		text += fmt.Sprintf(", of %v after %v", w.points, w.before)
	}
	return text
}

// readings returns the points of a curve that is not made of buckets.
func (c *curve) readings() (all []wantedPoint) {
	for _, p := range c.points(c.metric) {
		if !p.at.Before(c.from) && p.at.Before(c.to) {
			all = append(all, wantedPoint{at: p.at, value: p.value})
		}
	}
	return all
}

// goesOn reports whether increases and states of a curve that begins with a bucket continue from an
// earlier one.
func (b *bucket) goesOn(p telemetry.Period, earlier *bucket, zone *time.Location) bool {
	since := map[telemetry.Period]time.Time{
		telemetry.TenMinutes: b.start.Add(-3 * time.Hour), telemetry.Hourly: b.start.Add(-24 * time.Hour), telemetry.Daily: b.start.In(zone).AddDate(0, 0, -7),
	}
	return !earlier.start.Before(since[p])
}

// drawn returns the points of a curve that is made of buckets.
func (d *days) drawn(c *curve, p telemetry.Period) (all []wantedPoint) {
	measured := d.buckets(p, c.points(c.metric))
	first := d.bucketAt(p, c.from)
	for _, b := range d.inRange(c, p) {
		i := slices.IndexFunc(measured, func(m *bucket) bool { return m.start.Equal(b.start) })
		if i < 0 {
			if c.fill != telemetry.FillNone {
				all = append(all, wantedPoint{at: b.start})
			}
			continue
		}
		w := wantedPoint{at: b.start, bucket: measured[i], until: b.end}
		if d.Now().Before(w.until) {
			w.until = d.Now()
		}
		if i > 0 {
			if last := measured[i-1]; first.goesOn(p, last, d.zone) {
				w.before = lastOf(c.metric, last.points)
			}
		}
		all = append(all, w)
	}
	d.cover(c, all)
	fillIn(c, all)
	return all
}

// cover computes the share of expected readings: as the profile says, otherwise as many as most
// buckets have.
func (d *days) cover(c *curve, all []wantedPoint) {
	var counts []int
	for i := range all {
		if all[i].bucket != nil {
			counts = append(counts, len(all[i].points))
		}
	}
	slices.Sort(counts)
	for i := range all {
		w := &all[i]
		if w.bucket == nil {
			continue
		}
		expected := float64(counts[len(counts)/2])
		if c.paced > 0 {
			expected = float64(w.end.Sub(w.start)) / float64(c.paced)
		}
		if over := d.Now().Sub(w.start); over < w.end.Sub(w.start) {
			expected *= float64(over) / float64(w.end.Sub(w.start))
		}
		w.coverage = min(float64(len(w.points))/max(expected, 1), 1)
	}
}

// fillIn fills points without values. Values of buckets are not known before they are compared, so
// fillers refer to them.
func fillIn(c *curve, all []wantedPoint) {
	last := -1
	for i := range all {
		if all[i].bucket == nil {
			if c.fill == telemetry.FillPrevious && last >= 0 {
				all[i].value, all[i].filled = all[last].draw(c.metric), true
			}
			continue
		}
		if from, to := last, i; c.fill == telemetry.FillLinear && last >= 0 { // of numbers
			a, b := number(all[from].draw(c.metric)), number(all[to].draw(c.metric))
			for j := from + 1; j < to && kindOf(c.metric) != telemetry.State; j++ {
				part := big.NewRat(int64(all[j].at.Sub(all[from].at)), int64(all[to].at.Sub(all[from].at)))
				v := new(big.Rat).Sub(b, a)
				all[j].value, all[j].filled, all[j].about = v.Add(a, v.Mul(v, part)).FloatString(25), true, true
			}
		}
		last = i
	}
}

// draw returns the value of a bucket's point.
func (w *wantedPoint) draw(metric string) string {
	switch kindOf(metric) {
	case telemetry.State:
		return w.points[len(w.points)-1].value
	case telemetry.Counter:
		grown, _ := w.grown(w.before)
		return grown.RatString()
	}
	sum := new(big.Rat)
	for _, v := range w.numbers() {
		sum.Add(sum, v)
	}
	return sum.Quo(sum, big.NewRat(int64(len(w.points)), 1)).FloatString(25)
}

// differs describes how a point differs.
func (w *wantedPoint) differs(got *shownPoint) string {
	value := string(got.Value)
	switch {
	case !got.At.Equal(w.at) || got.Filled != w.filled || (got.Figures != nil) != (w.bucket != nil):
		return "it is another point"
	case w.bucket == nil && w.value == "":
		return map[bool]string{false: "it has a value"}[value == "null"]
	case w.bucket == nil && !w.about && sameValue(value, w.value):
		return ""
	case w.bucket == nil:
		return map[bool]string{false: "it has another value"}[near(number(value), number(w.value), 1e-9)]
	case math.Abs(got.Coverage-w.coverage) > 1e-9:
		return "the coverage is wrong"
	}
	drawn := map[telemetry.MetricKind]string{telemetry.Gauge: got.Figures.Mean, telemetry.Counter: got.Figures.Increase, telemetry.State: w.points[len(w.points)-1].value}
	if !sameValue(value, drawn[got.Figures.Kind]) {
		return "it draws another figure"
	}
	return w.bucket.differs(got.Figures, w.before, w.until)
}
