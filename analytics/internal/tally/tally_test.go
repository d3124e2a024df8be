package tally

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/analytics/internal/vitals"
)

// bounded is a limited set of values, as items hold it.
type bounded struct {
	Values Values
	Other  Count
	Full   bool
}

func (b *bounded) merge(o *bounded) {
	Bounded{Values: &b.Values, Other: &b.Other, Full: &b.Full}.Merge(o.Values)
}

func drawDeltas(t *rapid.T, names int) []*bounded {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
	deltas := make([]*bounded, rapid.IntRange(1, 6).Draw(t, "deltas"))
	for i := range deltas {
		deltas[i] = &bounded{}
		for range r.IntN(names) {
			deltas[i].Values.Add(fmt.Sprintf("/page/%04d", r.IntN(names)), Count{PageViews: int64(r.IntN(5) - 2), Visits: int64(r.IntN(3) - 1), Events: int64(r.IntN(2)), Revenue: []string{"", "1.5", "-0.25"}[r.IntN(3)]})
		}
	}
	return deltas
}

func mergeAll(deltas []*bounded) *bounded {
	b := &bounded{}
	for _, d := range deltas {
		b.merge(d)
	}
	return b
}

func TestMergesInAnyOrderWhileThereIsRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deltas := drawDeltas(t, 60)
		want := mergeAll(deltas)
		got := mergeAll(rapid.Permutation(deltas).Draw(t, "order"))
		if !maps.Equal(got.Values, want.Values) || got.Other != want.Other || got.Full {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
	})
}

// TestFullSetAddsUp checks that the values and the rest add up to everything that was counted, even
// if there is no room. Once a value has a place, its count is never divided between that place and
// the rest.
func TestFullSetAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deltas := drawDeltas(t, 3000)
		b := &bounded{}
		var total Count
		for _, d := range deltas {
			had := maps.Clone(b.Values)
			wasFull := b.Full
			b.merge(d)
			total = total.Plus(d.Values.Sum())
			for v, c := range had {
				if wasFull && b.Values[v] != c.Plus(d.Values[v]) {
					t.Fatalf("%s: %v, was %v, delta %v", v, b.Values[v], c, d.Values[v])
				}
			}
			if len(b.Values) > MaxValues {
				t.Fatalf("%d values", len(b.Values))
			}
		}
		if got := b.Values.Sum().Plus(b.Other); got != total {
			t.Fatalf("sum %v, want %v", got, total)
		}
	})
}

func TestFullSetKeepsTheGreatest(t *testing.T) {
	var d bounded
	for i := range 3000 {
		d.Values.Add(fmt.Sprintf("/%04d", i), Count{PageViews: int64(i)})
	}
	b := mergeAll([]*bounded{&d})
	if len(b.Values) != MaxValues || b.Values["/2999"].PageViews != 2999 || b.Values["/0005"] != (Count{}) || !b.Full {
		t.Fatalf("%d values, full %v", len(b.Values), b.Full)
	}
}

func TestEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOfN(rapid.String(), rapid.Custom(func(t *rapid.T) Count {
			var c Count
			for _, n := range c.numbers() {
				*n = rapid.Int64().Draw(t, "n")
			}
			c.Revenue = rapid.SampledFrom([]string{"", "9.99", "-1"}).Draw(t, "revenue")
			if rapid.Bool().Draw(t, "measured") {
				c.Vitals = vitals.Of(vitals.LCP, 1200).Plus(vitals.Of(vitals.CLS, rapid.Float64Range(0, 1).Draw(t, "cls")), -1)
			}
			return c
		}), 0, 40).Draw(t, "values")
		av, err := Values(want).MarshalDynamoDBAttributeValue()
		if err != nil {
			t.Fatal(err)
		}
		var got Values
		if err := got.UnmarshalDynamoDBAttributeValue(av); err != nil || !maps.Equal(got, Values(want)) {
			t.Fatalf("%v: got %v, want %v", err, got, want)
		}
		if broken := av.(*types.AttributeValueMemberB).Value; len(broken) > 1 {
			err := got.UnmarshalDynamoDBAttributeValue(&types.AttributeValueMemberB{Value: broken[:len(broken)-1]})
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("cut short: %v", err)
			}
		}
	})
}

// Values in the previous format can be read.
func TestPreviousFormat(t *testing.T) {
	var got Values
	err := got.UnmarshalDynamoDBAttributeValue(&types.AttributeValueMemberB{Value: []byte{1, 0, 1, 'a', 2, 4, 6, 1, 1, 'b', 2, 0, 0}})
	want := Values{"a": {PageViews: 1, Visits: 2, Events: 3}, "ab": {PageViews: 1}}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzStoredValues(f *testing.F) {
	f.Add([]byte{1, 0, 1, 'a', 2, 0, 0})
	f.Add([]byte{1, 1, 1, 'a', 1})
	f.Add([]byte{2, 0, 1, 'a', 0x81, 2, 1, 1, '5'})
	f.Add([]byte{2, 0, 1, 'a', 0x80, 4, 4, 1, 1, 48, 2})
	f.Fuzz(func(_ *testing.T, b []byte) {
		var v Values
		_ = v.UnmarshalDynamoDBAttributeValue(&types.AttributeValueMemberB{Value: b}) // must not panic
	})
}
