package readings

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onefold/onefold/internal/block"
	"github.com/onefold/onefold/table"
)

// Sample is the value of one metric in a reading. Several million are read per second, so it is
// small and has no allocations of its own.
type Sample struct {
	At    int64 // by the device's clock, epoch milliseconds
	Value Value // zero: the reading lacks the metric
	life  int64 // seconds from the second of At until the reading expires; 0: never
	unread
}

// unread receives columns that samples ignore.
type unread struct{ flag bool }

// Samples yields one sample for each reading that All would yield, in the same order, at a fraction
// of the cost: at least atOnce at a time, if there are as many, in a slice that is valid until the
// next ones.
func (in In) Samples(ctx context.Context, t *table.Table, metric string, atOnce int) iter.Seq2[[]Sample, error] {
	return func(yield func([]Sample, error) bool) {
		buffer := sampleBuffers.Get().(*[]Sample)
		s := sampler{reader: reader{In: in, ctx: ctx, t: t, now: t.Now()}, metric: metric, atOnce: atOnce, yield: yield, ready: *buffer}
		err := s.run()
		if s.hand(); !s.stopped && err != nil {
			yield(nil, fmt.Errorf("readings of device %q: %w", in.DeviceID, err))
		}
		if *buffer = s.ready[:0]; cap(s.ready) <= maxSampleBuffer {
			clear(s.ready[:cap(s.ready)]) // it must not retain texts
			sampleBuffers.Put(buffer)
		}
	}
}

// sampleBuffers are reused unless they have grown beyond maxSampleBuffer samples, which is 200 KB.
var sampleBuffers = sync.Pool{New: func() any { return new([]Sample) }}

const maxSampleBuffer = 4096

// sampler reads samples. It decodes no reading, unless two have the same millisecond: only their
// names tell which is first, or that they are one.
type sampler struct {
	reader
	metric string
	atOnce int
	yield  func([]Sample, error) bool

	blocks []Block  // with readings of the device
	later  []Sample // sorted remainder of the samples in blocks
	ready  []Sample // to be yielded next
}

func (s *sampler) run() error {
	if err := s.inBlocks(); err != nil {
		return err
	}
	for parts, err := range s.hours() {
		if err == nil {
			err = s.hour(parts)
		}
		if err != nil || s.stopped {
			return err
		}
	}
	s.ready = append(s.ready, s.later...)
	return nil
}

// hand yields the samples that are ready.
func (s *sampler) hand() {
	if !s.stopped && len(s.ready) > 0 {
		s.stopped = !s.yield(s.ready, nil)
	}
	s.ready = s.ready[:0]
}

// inBlocks reads the samples in blocks.
func (s *sampler) inBlocks() error {
	var spare []blockSample
	for b, err := range s.waitingBlocks(s.ctx, s.t) {
		if err != nil {
			return err
		}
		n := len(s.later)
		if s.later, spare, err = b.samplesOf(s.later, s.DeviceID, s.metric, spare); err != nil && !s.Partial {
			return err
		}
		if len(s.later) > n {
			s.blocks = append(s.blocks, b)
		}
	}
	s.later = slices.DeleteFunc(s.later, s.unwanted())
	if !inOrder(s.later) {
		all, err := s.readings()
		if err != nil {
			return err
		}
		s.later = s.appendSamples(s.later[:0], all)
	}
	return nil
}

// inOrder sorts samples by time. It reports false if two have the same time.
func inOrder(all []Sample) bool {
	byTime := func(a, b Sample) int { return cmp.Compare(a.At, b.At) }
	if !slices.IsSortedFunc(all, byTime) {
		slices.SortFunc(all, byTime)
	}
	for i := 1; i < len(all); i++ {
		if all[i].At == all[i-1].At {
			return false
		}
	}
	return true
}

// readings returns the readings in blocks, sorted.
func (s *sampler) readings() (all []Reading, err error) {
	if s.waiting == nil {
		s.waiting, err = s.selected(func(yield func(Block, error) bool) {
			for _, b := range s.blocks {
				if !yield(b, nil) {
					return
				}
			}
		}, s.now)
	}
	return s.waiting, err
}

// appendSamples appends the samples of readings.
func (s *sampler) appendSamples(to []Sample, all []Reading) []Sample {
	for i := range all {
		to = append(to, Sample{At: all[i].At.UnixMilli(), Value: all[i].Values[s.metric]})
	}
	return to
}

// unwanted returns a function that reports whether a sample is expired or not in the range.
func (s *sampler) unwanted() func(Sample) bool {
	from, to, now := int64(math.MinInt64), int64(math.MaxInt64), s.now.Unix()
	if !s.From.IsZero() {
		from = ceilMilli(s.From)
	}
	if !s.To.IsZero() {
		to = ceilMilli(s.To)
	}
	return func(one Sample) bool {
		return one.At < from || one.At >= to || one.life != 0 && secondOf(time.UnixMilli(one.At))+one.life <= now
	}
}

// ceilMilli returns a time in epoch milliseconds, rounded up.
func ceilMilli(at time.Time) int64 { return at.Add(time.Millisecond - 1).UnixMilli() }

// hour makes the samples ready that are in blocks and before the hour of the given parts, and then
// those of that hour.
func (s *sampler) hour(parts []Segment) error {
	start, err := time.Parse(hourLayout, parts[0].Hour)
	if err != nil {
		return parts[0].damaged(err)
	}
	from, to := start.UnixMilli(), start.Add(time.Hour).UnixMilli()
	s.ready = append(s.ready, s.until(from)...)
	before := len(s.ready)
	for i := range parts {
		if s.ready, err = parts[i].samples(s.ready, s.metric, from, to); err != nil && !s.Partial {
			s.ready = s.ready[:before]
			return err
		}
	}
	during := s.until(to)
	s.ready = append(s.ready, during...)
	if hour := s.ready[before:]; (len(parts) > 1 || len(during) > 0) && !inOrder(hour) {
		s.ready = s.ready[:before]
		err = s.exactly(parts, start)
	} else {
		s.ready, err = s.ready[:before+len(slices.DeleteFunc(hour, s.unwanted()))], nil
	}
	if err == nil && len(s.ready) >= s.atOnce {
		s.hand()
	}
	return err
}

// until takes the samples in blocks that are before a time, in epoch milliseconds.
func (s *sampler) until(at int64) (some []Sample) {
	n, _ := slices.BinarySearchFunc(s.later, at, func(one Sample, at int64) int { return cmp.Compare(one.At, at) })
	some, s.later = s.later[:n], s.later[n:]
	return some
}

// exactly makes the samples of an hour ready by decoding its readings.
func (s *sampler) exactly(parts []Segment, start time.Time) error {
	more, err := s.readings()
	if err != nil {
		return err
	}
	more = more[firstAt(more, start):firstAt(more, start.Add(time.Hour))]
	all, err := s.merged(parts, more)
	s.ready = s.appendSamples(s.ready, all)
	return err
}

// blockSample is a sample in a block.
type blockSample struct {
	device string
	Sample
}

// samplesOf appends the samples of a metric of one device. It decodes into spare. Errors:
// ErrDamaged.
func (b *Block) samplesOf(to []Sample, deviceID, metric string, spare []blockSample) ([]Sample, []blockSample, error) {
	found, spare, err := b.has(deviceID, spare)
	if err != nil || !found {
		return to, spare, err
	}
	is := func(s *blockSample) bool { return s.device == deviceID }
	spare, err = blockSamples.DecodeSome(spare[:0], b.Body, block.Want[blockSample]{Name: metric, Fact: is})
	if err != nil {
		return to, spare, b.damaged(err)
	}
	for i := range spare {
		if is(&spare[i]) {
			to = append(to, spare[i].Sample)
		}
	}
	return to, spare, nil
}

// has reports whether the block has readings of a device. It decodes only the sorted device column,
// into spare. Errors: ErrDamaged.
func (b *Block) has(deviceID string, spare []blockSample) (bool, []blockSample, error) {
	all, err := blockSamples.Decode(spare[:0], b.Body, columnDevice)
	if err != nil {
		return false, spare, b.damaged(err)
	}
	_, found := slices.BinarySearchFunc(all, deviceID, func(s blockSample, id string) int { return strings.Compare(s.device, id) })
	return found, all, nil
}

// samples appends the samples of a metric. from and to are the bounds of the hour, in epoch
// milliseconds. Errors: ErrDamaged.
func (s *Segment) samples(to []Sample, metric string, from, until int64) ([]Sample, error) {
	all, err := segmentSamples.DecodeSome(to, s.Body, block.Want[Sample]{Name: metric})
	if err != nil {
		return to, s.damaged(err)
	}
	for i := len(to); i < len(all); i++ {
		if at := all[i].At; at < from || at >= until {
			return to, s.damaged(fmt.Errorf("reading of %s is out of order", time.UnixMilli(at).UTC().Format(time.RFC3339)))
		}
	}
	return all, nil
}

// segmentSamples decodes the columns of a segment, like segmentColumns, and blockSamples those of a
// block, like blockColumns.
var (
	segmentSamples = block.New('s', sampleColumns(func(s *Sample) *Sample { return s })...)
	blockSamples   = block.New('r', append([]block.Column[blockSample]{
		block.Text(columnDevice, func(s *blockSample) *string { return &s.device }).Apart(),
		block.IntOf(columnMade, func(*blockSample) int64 { return 0 }, func(*blockSample, int64) {}),
	}, sampleColumns(func(s *blockSample) *Sample { return &s.Sample })...)...)
)

// sampleColumns are the columns of sampled readings.
func sampleColumns[T any](of func(*T) *Sample) []block.Column[T] {
	text := func(number byte) block.Column[T] {
		return block.TextOf(number, func(*T) string { return "" }, func(*T, string) {})
	}
	integer := func(number byte) block.Column[T] {
		return block.IntOf(number, func(*T) int64 { return 0 }, func(*T, int64) {})
	}
	flag := func(number byte) block.Column[T] {
		return block.Bool(number, func(s *T) *bool { return &of(s).flag })
	}
	names := func(number byte) block.Column[T] {
		return block.Nested(number, func(*block.Writer, *T) {}, func(r *block.Reader, _ *T) {
			for range r.Count() {
				r.Text()
			}
		})
	}
	return []block.Column[T]{
		block.Int(columnAt, func(s *T) *int64 { return &of(s).At }), text(3), integer(4), text(5), integer(6),
		block.Int(7, func(s *T) *int64 { return &of(s).life }), integer(8),
		flag(9), flag(10), flag(11), flag(12), flag(13), names(14), names(15), names(16),
		block.Cells(17, func(*T, func(block.Cell)) {}, func(s *T, _ int, c block.Cell) { of(s).Value = Value{valueForm(c.Kind), c.Text} }),
	}
}
