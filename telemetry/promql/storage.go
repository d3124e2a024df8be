package promql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	prometheus "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/readings"
)

// storage is the storage of one query: the series of a fleet.
type storage struct {
	e       *Engine
	ctx     context.Context
	fleetID string
	read    atomic.Int64 // samples read
	failed  atomic.Bool  // the store failed

	known   []series // all series of the fleet, once they were read; nil if there are too many to keep
	waiting func() (*readings.Waiting, error)
}

func (e *Engine) newStorage(ctx context.Context, fleetID string) *storage {
	s := &storage{e: e, ctx: ctx, fleetID: fleetID}
	s.waiting = sync.OnceValues(func() (*readings.Waiting, error) { return readings.ReadWaiting(ctx, e.t, fleetID) })
	return s
}

// keep is how many series a query keeps for its next selector, as a multiple of what one may match. A
// fleet with more is read again for each selector.
const keep = 5

// each calls use for the series that any of the selectors matches. It ends with the first error.
func (s *storage) each(use func(series) error, either ...[]*labels.Matcher) error {
	matching := func(one *series) error {
		if err := s.ctx.Err(); err != nil { // a regular expression may take long for each series
			return err
		}
		if slices.ContainsFunc(either, one.matches) {
			return use(*one)
		}
		return nil
	}
	for i := range s.known {
		if err := matching(&s.known[i]); err != nil {
			return err
		}
	}
	if s.known != nil {
		return nil
	}
	kept, all := []series{}, true
	err := s.all(func(one series) error {
		if all = all && len(kept) < keep*s.e.o.MaxSeries; all {
			kept = append(kept, one)
		} else {
			kept = nil
		}
		return matching(&one)
	})
	if err == nil {
		s.known = kept
	}
	return err
}

// all calls use for the series of all devices: the metrics of which each has a latest value.
func (s *storage) all(use func(series) error) error {
	ask := telemetry.LabelIn{FleetID: s.fleetID, Kind: telemetry.ByFleet, Value: telemetry.Any}
	for cursor := ""; ; {
		page, err := telemetry.ListDevices(s.ctx, s.e.t, ask, cursor, 1000)
		if err != nil {
			return s.fail(err)
		}
		keys := make([]telemetry.StatusKey, len(page.Items))
		byID := make(map[string]*telemetry.Device, len(page.Items))
		for i := range page.Items {
			keys[i].DeviceID = page.Items[i].DeviceID
			byID[page.Items[i].DeviceID] = &page.Items[i]
		}
		statuses, err := telemetry.Statuses.GetMany(s.ctx, s.e.t, keys)
		if err != nil {
			return s.fail(err)
		}
		for i := range statuses {
			for metric := range statuses[i].Values {
				if err := use(seriesOf(byID[statuses[i].DeviceID], metric)); err != nil {
					return err
				}
			}
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

// selected returns the series that any of the selectors matches, sorted by labels.
func (s *storage) selected(either ...[]*labels.Matcher) (found []series, err error) {
	err = s.each(func(one series) error {
		if found = append(found, one); len(found) > s.e.o.MaxSeries {
			return fmt.Errorf("%w: the selector matches more than %d series: add labels to it", ErrTooMuch, s.e.o.MaxSeries)
		}
		return nil
	}, either...)
	slices.SortFunc(found, func(a, b series) int { return labels.Compare(a.labels, b.labels) })
	return found, err
}

// values returns the values of a label of the series that any of the selectors matches.
func (s *storage) values(name string, either ...[]*labels.Matcher) ([]string, error) {
	values := map[string]bool{}
	err := s.each(func(one series) error {
		if v := one.labels.Get(name); v != "" {
			values[v] = true
		}
		return nil
	}, either...)
	return slices.Sorted(maps.Keys(values)), err
}

// names returns the names of the labels of the series that any of the selectors matches.
func (s *storage) names(either ...[]*labels.Matcher) ([]string, error) {
	names := map[string]bool{}
	err := s.each(func(one series) error {
		one.labels.Range(func(l labels.Label) { names[l.Name] = true })
		return nil
	}, either...)
	return slices.Sorted(maps.Keys(names)), err
}

func (s *storage) fail(err error) error {
	if s.ctx.Err() == nil {
		s.failed.Store(true)
	}
	return err
}

// Querier implements storage.Queryable of Prometheus.
func (s *storage) Querier(mint, maxt int64) (prometheus.Querier, error) {
	return &querier{s, mint, maxt}, nil
}

// querier reads samples in [mint, maxt].
type querier struct {
	*storage
	mint, maxt int64
}

// concurrency is how many series are read at a time.
const concurrency = 8

// Select reads the samples of the series that match.
func (q *querier) Select(ctx context.Context, _ bool, hints *prometheus.SelectHints, matchers ...*labels.Matcher) prometheus.SeriesSet {
	from, to := q.mint, q.maxt
	if hints != nil {
		from, to = max(from, hints.Start), min(to, hints.End)
	}
	found, err := q.selected(matchers)
	if err != nil {
		return prometheus.ErrSeriesSet(err)
	}
	entries := make([]prometheus.Series, len(found))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(concurrency)
	for i := range found {
		work.Go(func() error {
			all, err := q.samples(ctx, &found[i], from, to)
			entries[i] = &prometheus.SeriesEntry{Lset: found[i].labels, SampleIteratorFn: func(chunkenc.Iterator) chunkenc.Iterator {
				return prometheus.NewListSeriesIterator(all)
			}}
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return prometheus.ErrSeriesSet(err)
	}
	return &seriesSet{entries: entries}
}

// seriesSet yields series that were read.
type seriesSet struct {
	entries []prometheus.Series
	next    int
}

func (s *seriesSet) Next() bool                        { s.next++; return s.next <= len(s.entries) }
func (s *seriesSet) At() prometheus.Series             { return s.entries[s.next-1] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// samples reads the numbers of a series in [from, to]; truth values are 1 and 0. Of several readings of
// a millisecond, the last counts.
func (q *querier) samples(ctx context.Context, one *series, from, to int64) (all samples, err error) {
	waiting, err := q.waiting()
	if err != nil {
		return nil, q.fail(err)
	}
	retractions, err := telemetry.RetractionsOfDevice.Collect(ctx, q.e.t, telemetry.DeviceIn{DeviceID: one.device})
	if err != nil {
		return nil, q.fail(err)
	}
	in := readings.In{FleetID: q.fleetID, DeviceID: one.device, From: time.UnixMilli(from), To: time.UnixMilli(to + 1), Partial: true, Waiting: waiting}
	for some, err := range in.Samples(ctx, q.e.t, one.metric, 1000) {
		if err != nil {
			return nil, q.fail(err)
		}
		if q.read.Add(int64(len(some))) > int64(q.e.o.MaxSamples) {
			return nil, fmt.Errorf("%w: the query reads more than %d samples: use a shorter range or fewer series", ErrTooMuch, q.e.o.MaxSamples)
		}
		for i := range some {
			v := &some[i].Value
			if v.IsZero() || v.IsText() || len(retractions) > 0 && telemetry.Retracted(retractions, time.UnixMilli(some[i].At), one.metric) {
				continue
			}
			if n := len(all); n > 0 && all[n-1].at == some[i].At {
				all = all[:n-1]
			}
			all = append(all, sample{some[i].At, v.Float()})
		}
	}
	return all, nil
}

// LabelValues returns the values of a label.
func (q *querier) LabelValues(_ context.Context, name string, _ *prometheus.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	all, err := q.values(name, matchers)
	return all, nil, err
}

// LabelNames returns the names of labels.
func (q *querier) LabelNames(_ context.Context, _ *prometheus.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	all, err := q.names(matchers)
	return all, nil, err
}

// Close does nothing.
func (q *querier) Close() error { return nil }

// samples are the samples of a series, by time.
type samples []sample

// Get returns a sample.
func (s samples) Get(i int) chunks.Sample { return &s[i] }

// Len returns how many there are.
func (s samples) Len() int { return len(s) }

type sample struct {
	at    int64 // epoch milliseconds
	value float64
}

func (s *sample) T() int64                      { return s.at }
func (s *sample) ST() int64                     { return 0 }
func (s *sample) F() float64                    { return s.value }
func (s *sample) H() *histogram.Histogram       { return nil }
func (s *sample) FH() *histogram.FloatHistogram { return nil }
func (s *sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s *sample) Copy() chunks.Sample           { c := *s; return &c }
