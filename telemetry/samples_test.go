package telemetry

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/telemetry/readings"
)

// Samples are those of the readings, whatever is in blocks and in segments: readings of one
// millisecond, readings that are in several items, expired ones, and damaged items, which are the
// same errors.
func TestSamplesAreThoseOfReadings(t *testing.T) {
	seeds.Run(t, 40, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
		w.device("d2")
		d, err := GetDevice(w.Ctx, w.Table, "d1")
		w.Must(err)
		spread := []time.Duration{time.Millisecond, time.Second, time.Minute}[r.IntN(3)]
		for range 3 {
			storeAnywhere(w, r, spread)
			if r.IntN(2) == 0 {
				_, err := MoveReadingsOf(w.Ctx, w.Table, &d)
				w.Must(err)
			}
		}
		storeAnywhere(w, r, spread)
		sameSamples(w, r)
		damageAny(w, r)
		sameSamples(w, r)
	})
}

// storeAnywhere stores blocks of readings of three hours, at times that are multiples of spread
// after a few others.
func storeAnywhere(w *world, r *rand.Rand, spread time.Duration) {
	w.Helper()
	for range r.IntN(6) {
		var all []Reading
		for range 1 + r.IntN(12) {
			at := w.Now().Add(-time.Duration(r.IntN(3)) * time.Hour).Add(time.Duration(r.IntN(60)) * spread)
			one := Reading{Key: ReadingKey{DeviceID: fmt.Sprint("d", 1+r.IntN(2)), At: at}, FleetID: "plant", Arrived: w.Now().UnixMilli() + r.Int64N(3), Values: Values{}}
			for _, name := range []string{"temp", "door", "level"}[r.IntN(3):] {
				one.Values[name] = []Value{num(w.T, fmt.Sprint(r.IntN(4))), num(w.T, "-0.05"), Text("open"), Bool(true)}[r.IntN(4)]
			}
			if one.Disc = readings.Unnumbered(one.Values, 0); r.IntN(3) == 0 {
				one.Disc = fmt.Sprintf("%012d", r.IntN(3))
			}
			if r.IntN(3) > 0 {
				one.ExpiresAt = w.Now().Add(time.Duration(r.IntN(20)-2) * time.Minute).Truncate(time.Second)
			}
			all = append(all, one)
		}
		blocks, err := readings.Pack(all, w.Now())
		w.Must(err)
		for i := range blocks {
			w.Must(readings.Blocks.Create(w.Ctx, w.Table, &blocks[i]))
		}
	}
}

// damageAny flips a byte of a block, of a segment, or of nothing.
func damageAny(w *world, r *rand.Rand) {
	w.Helper()
	blocks, err := readings.WaitingBlocks.Collect(w.Ctx, w.Table, readings.ShardIn{FleetID: "plant", Shard: readings.ShardOf("d1")})
	w.Must(err)
	segments, err := readings.SegmentsByHour.Collect(w.Ctx, w.Table, readings.SegmentsIn{DeviceID: "d1"})
	w.Must(err)
	if len(blocks) > 0 && r.IntN(2) == 0 {
		bad := blocks[r.IntN(len(blocks))]
		bad.Body[r.IntN(len(bad.Body))] ^= 0x10
		w.Must(readings.Blocks.Delete(w.Ctx, w.Table, bad.BlockKey))
		w.Must(readings.Blocks.Create(w.Ctx, w.Table, &bad))
	}
	if len(segments) > 0 && r.IntN(2) == 0 {
		bad := segments[r.IntN(len(segments))]
		bad.Body[r.IntN(len(bad.Body))] ^= 0x10
		w.Must(readings.Segments.Delete(w.Ctx, w.Table, bad.SegmentKey))
		w.Must(readings.Segments.Create(w.Ctx, w.Table, &bad))
	}
}

// sameSamples reads ranges as readings and as samples.
func sameSamples(w *world, r *rand.Rand) {
	w.Helper()
	for range 6 {
		in := readings.In{FleetID: "plant", DeviceID: fmt.Sprint("d", 1+r.IntN(2)), Partial: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			in.From = w.Now().Add(-time.Duration(r.Int64N(int64(3 * time.Hour))))
		}
		if r.IntN(2) == 0 {
			in.To = w.Now().Add(time.Duration(r.Int64N(int64(2*time.Hour))) - 2*time.Hour)
		}
		metric := []string{"temp", "door", "level", "other"}[r.IntN(4)]
		want, errWant := listed(in.All(w.Ctx, w.Table), func(one Reading) string { return fmt.Sprint(one.At.UnixMilli(), one.Values[metric]) })
		got, errGot := listed(flat(in.Samples(w.Ctx, w.Table, metric, 1+r.IntN(40))), func(one readings.Sample) string { return fmt.Sprint(one.At, one.Value) })
		if fmt.Sprint(got, errGot) != fmt.Sprint(want, errWant) {
			w.Fatalf("%+v, %s:\n%v, %v, not\n%v, %v", in, metric, got, errGot, want, errWant)
		}
	}
}

func listed[T any](all iter.Seq2[T, error], text func(T) string) (texts []string, err error) {
	for one, err := range all {
		if err != nil {
			return texts, err
		}
		texts = append(texts, text(one))
	}
	return texts, nil
}

// flat yields the elements of slices.
func flat[T any](all iter.Seq2[[]T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for some, err := range all {
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, one := range some {
				if !yield(one, nil) {
					return
				}
			}
		}
	}
}
