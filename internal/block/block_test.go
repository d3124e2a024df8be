package block_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/onefold/onefold/internal/block"
)

// A block of simulated traffic is about as small as when the format was designed. Few facts belong
// to one visit: only on a busy site do more arrive together than one request brings.
func TestSizes(t *testing.T) {
	few, many := madeUp(t, 3000, quiet), madeUp(t, 6000, busy)
	for _, c := range []struct {
		facts  int
		of     []event
		before float64 // bytes per event
	}{{1, few, 171}, {3, few, 65}, {10, few, 53}, {30, few, 41}, {100, many, 34}, {500, many, 30}} {
		bytes, events := 0, 0
		for facts := range slices.Chunk(c.of, c.facts) {
			if len(facts) < c.facts || c.facts == 3 && facts[0].Visitor != facts[2].Visitor {
				continue
			}
			bytes += len(appended(t, webEvents, facts))
			events += len(facts)
		}
		each := float64(bytes) / float64(events)
		t.Logf("%d facts: %.1f bytes each", c.facts, each)
		if each > 1.3*c.before {
			t.Errorf("%d facts take %.1f bytes each, much more than %.0f", c.facts, each, c.before)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	facts := madeUp(t, 1000, busy)
	body := appended(t, webEvents, facts)
	got, err := webEvents.Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, facts) {
		t.Error("the facts that were read are not those that were written")
	}
}

func appended[T any](t testing.TB, s *block.Schema[T], facts []T) []byte {
	t.Helper()
	body, err := s.Append(nil, facts)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func BenchmarkAppend(b *testing.B) {
	facts := madeUp(b, 500, busy)
	for _, n := range []int{1, 10, 100, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			var body []byte
			for b.Loop() {
				var err error
				if body, err = webEvents.Append(body[:0], facts[:n]); err != nil {
					b.Fatal(err)
				}
			}
			perFact(b, n, len(body))
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	facts := madeUp(b, 500, busy)
	for _, only := range []struct {
		name    string
		columns []byte
	}{{"all", nil}, {"two", []byte{1, 7}}} {
		for _, n := range []int{1, 10, 100, 500} {
			body := appended(b, webEvents, facts[:n])
			b.Run(fmt.Sprintf("%s/%d", only.name, n), func(b *testing.B) {
				b.ReportAllocs()
				var out []event
				for b.Loop() {
					var err error
					if out, err = webEvents.Decode(out[:0], body, only.columns...); err != nil {
						b.Fatal(err)
					}
				}
				perFact(b, n, len(body))
			})
		}
	}
}

func perFact(b *testing.B, n, bytes int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/fact")
	b.ReportMetric(float64(bytes)/float64(n), "bytes/fact")
}
