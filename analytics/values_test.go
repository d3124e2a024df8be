package analytics

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

func drawDeltas(t *rapid.T, names int) []*Breakdown {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
	deltas := make([]*Breakdown, rapid.IntRange(1, 6).Draw(t, "deltas"))
	for i := range deltas {
		deltas[i] = &Breakdown{}
		for range r.IntN(names) {
			deltas[i].Values.Add(fmt.Sprintf("/page/%04d", r.IntN(names)), Count{int64(r.IntN(5) - 2), int64(r.IntN(3) - 1), int64(r.IntN(2))})
		}
	}
	return deltas
}

func mergeAll(deltas []*Breakdown) *Breakdown {
	b := &Breakdown{}
	for _, d := range deltas {
		b.merge(d)
	}
	return b
}

func TestBreakdownMergesInAnyOrderWhileThereIsRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deltas := drawDeltas(t, 60)
		want := mergeAll(deltas)
		got := mergeAll(rapid.Permutation(deltas).Draw(t, "order"))
		if !maps.Equal(got.Values, want.Values) || got.Other != want.Other || got.Full {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
	})
}

// TestFullBreakdownAddsUp: whatever finds no room, values and rest are the sum of all that was counted, and a count is
// never divided between a value's place and the rest once it has one.
func TestFullBreakdownAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deltas := drawDeltas(t, 3000)
		b := &Breakdown{}
		var total Count
		for _, d := range deltas {
			had := maps.Clone(b.Values)
			wasFull := b.Full
			b.merge(d)
			total = total.plus(d.Values.Sum())
			for v, c := range had {
				if wasFull && b.Values[v] != c.plus(d.Values[v]) {
					t.Fatalf("%s: %v, was %v, delta %v", v, b.Values[v], c, d.Values[v])
				}
			}
			if len(b.Values) > maxValues {
				t.Fatalf("%d values", len(b.Values))
			}
		}
		if got := b.Values.Sum().plus(b.Other); got != total {
			t.Fatalf("sum %v, want %v", got, total)
		}
	})
}

func TestFullBreakdownKeepsTheGreatest(t *testing.T) {
	var d Breakdown
	for i := range 3000 {
		d.Values.Add(fmt.Sprintf("/%04d", i), Count{PageViews: int64(i)})
	}
	b := mergeAll([]*Breakdown{&d})
	if len(b.Values) != maxValues || b.Values["/2999"].PageViews != 2999 || b.Values["/0005"] != (Count{}) || !b.Full {
		t.Fatalf("%d values, full %v", len(b.Values), b.Full)
	}
}

func TestBreakdownIsBoundedInBytes(t *testing.T) {
	var d Breakdown
	d.BreakdownKey = BreakdownKey{"site", Hour, ByPage, "2026-05-12T12:00:00Z"}
	for i := range 1000 {
		d.Values.Add(fmt.Sprintf("/%0511d", i), Count{1 << 50, 1 << 50, 1 << 50})
	}
	b := mergeAll([]*Breakdown{&d})
	b.BreakdownKey = d.BreakdownKey
	if size := len(b.Values) * maxPath; size > maxValueBytes {
		t.Fatalf("%d bytes of values", size)
	}
	if _, err := Breakdowns.Encode(b); err != nil {
		t.Fatal(err)
	}
	if b.Values.Sum().plus(b.Other) != d.Values.Sum() {
		t.Fatal("counts were lost")
	}
}

func TestValuesEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOfN(rapid.String(), rapid.Custom(func(t *rapid.T) Count {
			return Count{rapid.Int64().Draw(t, "v"), rapid.Int64().Draw(t, "s"), rapid.Int64().Draw(t, "e")}
		}), 0, 40).Draw(t, "values")
		av, err := Values(want).MarshalDynamoDBAttributeValue()
		if err != nil {
			t.Fatal(err)
		}
		var got Values
		if err := got.UnmarshalDynamoDBAttributeValue(av); err != nil || !maps.Equal(got, Values(want)) {
			t.Fatalf("%v: got %v, want %v", err, got, want)
		}
		broken := bytesOf(av)
		if len(broken) > 1 {
			err := got.UnmarshalDynamoDBAttributeValue(&types.AttributeValueMemberB{Value: broken[:len(broken)-1]})
			if !errors.Is(err, ErrValues) {
				t.Fatalf("cut short: %v", err)
			}
		}
	})
}

func FuzzStoredValues(f *testing.F) {
	f.Add([]byte{1, 0, 1, 'a', 2, 0, 0}, true)
	f.Add([]byte{1, 1, 1, 'a', 1}, false)
	f.Fuzz(func(_ *testing.T, b []byte, values bool) {
		av := &types.AttributeValueMemberB{Value: b}
		if values {
			var v Values
			_ = v.UnmarshalDynamoDBAttributeValue(av) // must not panic
			return
		}
		var v Visits
		_ = v.UnmarshalDynamoDBAttributeValue(av)
	})
}
