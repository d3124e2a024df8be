package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/bucket"
	"github.com/onefold/onefold/telemetry/internal/counterseries"
	"github.com/onefold/onefold/telemetry/internal/figures"
	"github.com/onefold/onefold/telemetry/internal/lttb"
	"github.com/onefold/onefold/telemetry/internal/metric"
	"github.com/onefold/onefold/telemetry/readings"
)

// Raw is the resolution of unaggregated readings.
const Raw Period = "raw"

// Fill is how to fill gaps.
type Fill string

// The fills. Points that were filled in are marked.
const (
	FillNone     Fill = ""         // no point
	FillNull     Fill = "null"     // a point without value
	FillPrevious Fill = "previous" // the previous value
	FillLinear   Fill = "linear"   // linear interpolation of numbers
)

// SeriesIn selects one metric of a device in [From, To).
type SeriesIn struct {
	DeviceID, Metric string
	From, To         time.Time
	Resolution       Period // "": the finest with at most MaxPoints points
	MaxPoints        int    // default 500, at most 10,000
	Fill             Fill
}

// Series is a curve of readings, or of aggregates of one period.
type Series struct {
	DeviceID   string     `json:"deviceId"`
	Metric     string     `json:"metric"`
	Kind       MetricKind `json:"kind,omitempty"`
	Resolution Period     `json:"resolution"`
	// Thinned means that points were dropped, such that the shape of the curve is preserved.
	Thinned bool    `json:"thinned,omitempty"`
	Points  []Point `json:"points"`
}

// Point is one point of a series.
type Point struct {
	At time.Time `json:"at"` // of a reading, or start of a bucket
	// Value is the value to draw: the reading; or for a bucket the mean of a gauge, the increase of
	// a counter, the last state. It is the zero Value if unknown.
	Value    Value    `json:"value"`
	Filled   bool     `json:"filled,omitempty"`
	Figures  *Figures `json:"figures,omitempty"`  // if a bucket
	Coverage float64  `json:"coverage,omitempty"` // if a bucket: readings received / expected, at most 1; 0: unknown
}

const (
	defaultPoints = 500
	maxPoints     = 10_000
	maxRead       = 200_000 // readings read for one series
	maxRange      = 50 * 366 * 24 * time.Hour
)

// ErrRange is returned for an invalid time range, or one too long for its resolution.
var ErrRange = errors.New("telemetry: range")

// ReadSeries reads a curve. Errors: ErrRange, ErrInvalid, table.ErrNotFound for an unknown device.
func ReadSeries(ctx context.Context, t *table.Table, in SeriesIn) (Series, error) {
	s := Series{DeviceID: in.DeviceID, Metric: in.Metric}
	r, err := newSeriesReader(ctx, t, &in)
	if err == nil {
		if s.Resolution = in.Resolution; s.Resolution == "" {
			err = r.finest(ctx, &s)
		} else {
			err = r.read(ctx, &s)
		}
	}
	if err != nil {
		return s, fmt.Errorf("telemetry: series of device %q: %w", shorten(in.DeviceID), err)
	}
	r.fill(&s)
	r.thin(&s)
	return s, nil
}

// seriesReader reads one series.
type seriesReader struct {
	t     *table.Table
	in    SeriesIn
	fleet Fleet
	zone  calendar.Zone
	every time.Duration // expected interval of readings by the profile; 0: unknown
}

func newSeriesReader(ctx context.Context, t *table.Table, in *SeriesIn) (*seriesReader, error) {
	switch {
	case !in.From.Before(in.To) || in.To.Sub(in.From) > maxRange:
		return nil, fmt.Errorf("%w: from %s to %s: want up to 50 years", ErrRange, in.From.Format(time.RFC3339), in.To.Format(time.RFC3339))
	case in.Fill != FillNone && in.Fill != FillNull && in.Fill != FillPrevious && in.Fill != FillLinear:
		return nil, fmt.Errorf("%w: fill %q: use null, previous or linear", ErrInvalid, shorten(string(in.Fill)))
	case in.Resolution != "" && in.Resolution != Raw && in.Resolution != TenMinutes && in.Resolution != Hourly && in.Resolution != Daily:
		return nil, fmt.Errorf("%w: resolution %q: use raw, 10min, hourly or daily", ErrInvalid, shorten(string(in.Resolution)))
	case !metric.Valid(in.Metric):
		return nil, fmt.Errorf("%w: metric %q", ErrInvalid, shorten(in.Metric))
	}
	if in.MaxPoints <= 0 {
		in.MaxPoints = defaultPoints
	}
	in.MaxPoints = max(min(in.MaxPoints, maxPoints), 3)
	d, err := GetDevice(ctx, t, in.DeviceID)
	if err != nil {
		return nil, err
	}
	r := &seriesReader{t: t, in: *in}
	if r.fleet, err = GetFleet(ctx, t, d.FleetID); err != nil {
		return nil, err
	}
	if r.zone, err = calendar.LoadZone(r.fleet.TimeZone); err != nil {
		return nil, err
	}
	r.every, err = profileEvery(ctx, t, &d)
	return r, err
}

// profileEvery returns the expected interval of a device by its profile; 0: unknown.
func profileEvery(ctx context.Context, t *table.Table, d *Device) (time.Duration, error) {
	if d.ProfileID == "" {
		return 0, nil
	}
	p, err := ProfileByID.Get(ctx, t, ProfileIn{d.ProfileID})
	if errors.Is(err, table.ErrNotFound) {
		return 0, nil
	}
	return time.Duration(p.Every) * time.Second, err
}

// EveryOf returns a device's expected interval by its profile or estimated from readings, or 0.
func EveryOf(ctx context.Context, t *table.Table, d *Device) (time.Duration, error) {
	every, err := profileEvery(ctx, t, d)
	if every > 0 || err != nil {
		return every, err
	}
	s, err := StatusByID.Get(ctx, t, DeviceIn{d.DeviceID})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return 0, err
	}
	return s.Interval(), nil
}

func (r *seriesReader) read(ctx context.Context, s *Series) error {
	if s.Resolution == Raw {
		return r.readings(ctx, s)
	}
	buckets, err := r.starts(s.Resolution)
	if err != nil {
		return err
	}
	return r.buckets(ctx, s, buckets)
}

// readings reads the unaggregated readings that are not retracted.
func (r *seriesReader) readings(ctx context.Context, s *Series) error {
	looked, err := r.raw(ctx, s, maxRead, maxRead)
	if err == nil && looked > maxRead {
		err = fmt.Errorf("%w: more than %d readings: use a shorter range or a coarser resolution", ErrRange, maxRead)
	}
	return err
}

// pointsAtOnce is for how many points memory is allocated at a time: a day of minutes and more.
const pointsAtOnce = 2000

// raw appends the readings that are not retracted, as points, until there are more than most, or
// until more than mostLooked readings were read, with or without a value of the metric. It returns
// how many were read.
func (r *seriesReader) raw(ctx context.Context, s *Series, most, mostLooked int) (looked int, err error) {
	retractions, err := RetractionsOfDevice.Collect(ctx, r.t, DeviceIn{r.in.DeviceID})
	if err != nil {
		return 0, err
	}
	of := readings.In{FleetID: r.fleet.FleetID, DeviceID: r.in.DeviceID, From: r.in.From, To: r.in.To, Partial: true}
	for some, err := range of.Samples(ctx, r.t, r.in.Metric, min(most+1, pointsAtOnce)) {
		if err != nil {
			return looked, err
		}
		s.Points = slices.Grow(s.Points, min(len(some), most+1-len(s.Points)))
		for i := range some {
			if looked++; looked > mostLooked {
				return looked, nil
			}
			at := time.UnixMilli(some[i].At).UTC()
			if some[i].Value.IsZero() || Retracted(retractions, at, r.in.Metric) {
				continue
			}
			if s.Points = append(s.Points, Point{At: at, Value: some[i].Value}); len(s.Points) > most {
				return looked, nil
			}
		}
	}
	return looked, nil
}

// Retracted reports whether values of a metric at a time are retracted.
func Retracted(retractions []Retraction, at time.Time, metric string) bool {
	for i := range retractions {
		if w := &retractions[i]; w.covers(at) && (len(w.Metrics) == 0 || slices.Contains(w.Metrics, metric)) {
			return true
		}
	}
	return false
}

// bucketAt is the name and time range of a bucket.
type bucketAt struct {
	name       string
	start, end time.Time
}

// starts returns the buckets of a range in order, beginning with the bucket that contains From.
func (r *seriesReader) starts(p Period) (all []bucketAt, err error) {
	if p == TenMinutes {
		for at := parseBucket(tenMinutesOf(r.in.From.UnixMilli(), r.zone.Minutes(r.in.From))); at.Before(r.in.To); at = at.Add(p.width()) {
			if all = append(all, bucketAt{at.UTC().Format(calendar.HourLayout), at, at.Add(p.width())}); len(all) > maxRead {
				return nil, fmt.Errorf("%w: more than %d buckets", ErrRange, maxRead)
			}
		}
		return all, nil
	}
	first, last := r.zone.Day(r.in.From), r.zone.Day(r.in.To.Add(-1))
	for _, day := range calendar.Days(first, last) {
		if p == Daily {
			start, end, err := r.zone.Bounds(day)
			if err != nil {
				return nil, err
			}
			all = append(all, bucketAt{day, start, end})
			continue
		}
		hours, err := r.zone.Hours(day)
		if err != nil {
			return nil, err
		}
		for _, name := range hours {
			if start := parseBucket(name); start.Add(time.Hour).After(r.in.From) && start.Before(r.in.To) {
				all = append(all, bucketAt{name, start, start.Add(time.Hour)})
			}
		}
		if len(all) > maxRead {
			return nil, fmt.Errorf("%w: more than %d buckets", ErrRange, maxRead)
		}
	}
	return all, nil
}

func parseBucket(name string) time.Time {
	k := AggregateKey{Start: name, Period: Hourly}
	return k.startOf()
}

// buckets reads the aggregates of a range. Increases and states continue across buckets.
func (r *seriesReader) buckets(ctx context.Context, s *Series, all []bucketAt) error {
	if len(all) == 0 {
		return nil
	}
	stored, before, err := r.stored(ctx, s.Resolution, all)
	if err != nil {
		return err
	}
	for _, b := range all {
		a := stored[b.name]
		if a == nil {
			if r.in.Fill != FillNone {
				s.Points = append(s.Points, Point{At: b.start})
			}
			continue
		}
		p := Point{At: b.start}
		for i := range a.Metrics {
			if m := &a.Metrics[i]; m.Name == r.in.Metric {
				f := figures.Of(m)
				run, known := m.Whole()
				if f.Partial = !known; known {
					f.AddRun(run, before, b.start, earlier(b.end, r.t.Now()))
					before = run
				}
				p.Figures, p.Value, s.Kind = &f, drawn(m, &f), f.Kind
			}
		}
		if p.Figures != nil || r.in.Fill != FillNone {
			s.Points = append(s.Points, p)
		}
	}
	r.cover(s, all)
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// cover sets the coverage of buckets: received readings divided by those expected until now. The
// expected number follows from the profile, or else is the median of all buckets.
func (r *seriesReader) cover(s *Series, all []bucketAt) {
	var counts []int64
	for _, p := range s.Points {
		if p.Figures != nil {
			counts = append(counts, p.Figures.Count)
		}
	}
	if len(counts) == 0 {
		return
	}
	slices.Sort(counts)
	for i := range s.Points {
		p := &s.Points[i]
		for !all[0].start.Equal(p.At) {
			all = all[1:]
		}
		width := all[0].end.Sub(p.At) // days have 23 to 25 hours
		each := float64(counts[len(counts)/2])
		if r.every > 0 {
			each = float64(width) / float64(r.every)
		}
		over := earlier(all[0].end, r.t.Now()).Sub(p.At)
		if p.Figures != nil && over > 0 {
			p.Coverage = min(float64(p.Figures.Count)/max(each*float64(over)/float64(width), 1), 1)
		}
	}
}

// drawn returns the value to draw for a bucket. A state is drawn in the type in which it was sent.
func drawn(m *bucket.Metric, f *Figures) Value {
	text := f.Mean
	switch f.Kind {
	case Counter:
		text = f.Increase
	case State:
		return StateOf(m.Last)
	}
	v, err := Number(text)
	if err != nil {
		return Value{} // a counter whose increase is unknown
	}
	return v
}

// Counters and states continue from the last bucket before a range, if it is within the 18 tens of
// minutes, 24 hours or seven days before.
var lookBack = map[Period]time.Duration{TenMinutes: 3 * time.Hour, Hourly: 24 * time.Hour}

const lookBackDays = 7

// stored reads the aggregates of buckets, by name, and the metric's run in the last bucket before
// them. Days without a roll-up are computed from hours; unknown tracks are derived from readings.
func (r *seriesReader) stored(ctx context.Context, p Period, all []bucketAt) (found map[string]*Aggregate, before counterseries.Run, err error) {
	first, last := &all[0], &all[len(all)-1]
	from := first.start.Add(-lookBack[p]).UTC().Format(calendar.HourLayout)
	if p == Daily {
		from = calendar.ShiftDay(first.name, -lookBackDays)
	}
	found = make(map[string]*Aggregate, len(all))
	for a, err := range AggregatesByTime.All(ctx, r.t, AggregatesIn{r.in.DeviceID, p, from, last.name + "~"}) {
		if err == nil && p != Daily {
			err = settleHour(ctx, r.t, &a, false)
		}
		if err != nil {
			return nil, before, err
		}
		found[a.Start] = &a
	}
	if p == Daily {
		if err := r.openDays(ctx, found, from, last.name); err != nil {
			return nil, before, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if name >= first.name {
			break
		}
		for i := range found[name].Metrics {
			m := &found[name].Metrics[i]
			if run, known := m.Whole(); known && m.Name == r.in.Metric {
				before = run
			}
		}
	}
	return found, before, nil
}

// openDays computes the days that may not be rolled up yet: from two days ago to tomorrow.
func (r *seriesReader) openDays(ctx context.Context, found map[string]*Aggregate, from, to string) error {
	today := r.zone.Day(r.t.Now())
	for _, name := range calendar.Days(max(from, calendar.ShiftDay(today, -2)), min(to, calendar.ShiftDay(today, 1))) {
		day, err := dayOfHours(ctx, r.t, r.zone, r.in.DeviceID, name, false)
		if err != nil {
			return err
		}
		if day.Readings > 0 {
			found[name] = &day
		}
	}
	return nil
}

// fill fills points without a value.
func (r *seriesReader) fill(s *Series) {
	if r.in.Fill != FillPrevious && r.in.Fill != FillLinear {
		return
	}
	last := -1
	for i := range s.Points {
		if s.Points[i].Value.IsZero() {
			if r.in.Fill == FillPrevious && last >= 0 {
				s.Points[i].Value, s.Points[i].Filled = s.Points[last].Value, true
			}
			continue
		}
		if r.in.Fill == FillLinear && last >= 0 {
			interpolate(s.Points[last : i+1])
		}
		last = i
	}
}

// interpolate puts points on the line between the first and the last, if these are numbers.
func interpolate(points []Point) {
	a, b := points[0], points[len(points)-1]
	state := func(p *Point) bool { return !p.Value.IsNumber() || p.Figures != nil && p.Figures.Kind == State }
	if state(&a) || state(&b) {
		return
	}
	from, to := a.Value.Float(), b.Value.Float()
	for i := 1; i < len(points)-1; i++ {
		part := float64(points[i].At.Sub(a.At)) / float64(b.At.Sub(a.At))
		v, err := Number(strconv.FormatFloat(from+(to-from)*part, 'g', 12, 64))
		if err == nil {
			points[i].Value, points[i].Filled = v, true
		}
	}
}

// thin drops points so that the shape of the curve is preserved with MaxPoints points.
func (r *seriesReader) thin(s *Series) {
	if len(s.Points) <= r.in.MaxPoints {
		return
	}
	curve := make([]lttb.Point, len(s.Points))
	for i, p := range s.Points {
		curve[i] = lttb.Point{X: float64(p.At.UnixMilli() - s.Points[0].At.UnixMilli()), Y: p.Value.Float()}
	}
	chosen := lttb.Thin(curve, r.in.MaxPoints)
	points := make([]Point, len(chosen))
	for i, n := range chosen {
		points[i] = s.Points[n]
	}
	s.Points, s.Thinned = points, true
}

// FiguresOf returns the figures of an aggregate's metrics. Increases are those within the bucket.
func FiguresOf(a *Aggregate) []Figures {
	all := make([]Figures, len(a.Metrics))
	start := a.startOf()
	for i := range a.Metrics {
		m := &a.Metrics[i]
		all[i] = figures.Of(m)
		run, known := m.Whole()
		if all[i].Partial = !known; known {
			all[i].AddRun(run, counterseries.Run{}, start, time.UnixMilli(m.Last.At))
		}
	}
	return all
}
