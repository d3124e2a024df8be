package readings

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/onefold/onefold/internal/block"
	"github.com/onefold/onefold/table"
)

// Sample is the value of one metric in a reading.
type Sample struct {
	At    time.Time // by the device's clock, in milliseconds
	Value Value     // zero: the reading lacks the metric
}

// Samples yields one sample for each reading that All would yield, in the same order, at a fraction
// of the cost.
func (in In) Samples(ctx context.Context, t *table.Table, metric string) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		r := reader{In: in, ctx: ctx, t: t, now: t.Now()}
		r.yield = func(one Reading, err error) bool { return yield(Sample{one.At, one.Values[metric]}, err) }
		r.samples = &sampler{metric: metric, yield: yield}
		if err := r.run(); err != nil {
			yield(Sample{}, fmt.Errorf("readings of device %q: %w", in.DeviceID, err))
		}
	}
}

// sampler yields the samples of hours that need no merging.
type sampler struct {
	metric string
	yield  func(Sample, error) bool
	buffer []stored
}

// stored is one metric of a reading in a segment. Several million are read per second, so it is
// small and has no allocations of its own.
type stored struct {
	at    int64 // epoch milliseconds
	life  int64 // seconds from the second of at until expiry; 0: never
	value Value
	unread
}

// unread receives columns that samples ignore.
type unread struct{ flag bool }

// sampleColumns decodes the columns of a segment, like segmentColumns.
var sampleColumns = block.New('s',
	block.Int(columnAt, func(s *stored) *int64 { return &s.at }),
	block.TextOf(3, noText, func(*stored, string) {}),
	block.IntOf(4, noInt, func(*stored, int64) {}),
	block.TextOf(5, noText, func(*stored, string) {}),
	block.IntOf(6, noInt, func(*stored, int64) {}),
	block.Int(7, func(s *stored) *int64 { return &s.life }),
	block.IntOf(8, noInt, func(*stored, int64) {}),
	noFlag(9), noFlag(10), noFlag(11), noFlag(12), noFlag(13),
	noNames(14), noNames(15), noNames(16),
	block.Cells(17, func(*stored, func(block.Cell)) {}, func(s *stored, _ int, c block.Cell) { s.value = Value{valueForm(c.Kind), c.Text} }),
)

func noText(*stored) string { return "" }

func noInt(*stored) int64 { return 0 }

func noFlag(number byte) block.Column[stored] {
	return block.Bool(number, func(s *stored) *bool { return &s.flag })
}

// noNames is a column of lists of texts that are skipped.
func noNames(number byte) block.Column[stored] {
	return block.Nested(number, func(*block.Writer, *stored) {}, func(r *block.Reader, _ *stored) {
		for range r.Count() {
			r.Text()
		}
	})
}

// hour yields the samples of an hour with one segment. It reports whether to continue. Error:
// ErrDamaged, before any sample is yielded.
func (p *sampler) hour(r *reader, s *Segment, start time.Time) (on bool, err error) {
	all, err := sampleColumns.DecodeSome(p.buffer[:0], s.Body, block.Want[stored]{Name: p.metric})
	if err != nil {
		return true, s.damaged(err)
	}
	p.buffer = all
	from, to := start.UnixMilli(), start.Add(time.Hour).UnixMilli()
	for i := range all {
		if at := all[i].at; at < from || at >= to {
			return true, s.damaged(fmt.Errorf("reading of %s is out of order", time.UnixMilli(at).UTC().Format(time.RFC3339)))
		}
	}
	now := r.now.Unix()
	for i := range all {
		one := &all[i]
		at := time.UnixMilli(one.at).UTC()
		if one.life != 0 && secondOf(at)+one.life <= now || !r.asks(at) {
			continue
		}
		if !p.yield(Sample{at, one.value}, nil) {
			return false, nil
		}
	}
	return true, nil
}
