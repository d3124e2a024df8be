package dedup_test

import (
	"testing"
	"time"

	"github.com/onefold/onefold/telemetry/internal/dedup"
)

func TestFind(t *testing.T) {
	at := func(d time.Duration, sum string) dedup.Reading {
		return dedup.Reading{At: d.Milliseconds(), Sum: sum}
	}
	all := dedup.All{at(0, "a"), at(30*time.Hour, "b")}
	for _, c := range []struct {
		in   dedup.Reading
		want time.Duration
		ok   bool
	}{
		{at(0, "a"), 0, true}, {at(0, "b"), 0, true}, {at(dedup.Near, "b"), 0, true}, {at(-dedup.Near, "b"), 0, true},
		{at(dedup.Near+time.Millisecond, "b"), 0, false}, {at(dedup.Far, "a"), 0, true}, {at(dedup.Far+time.Millisecond, "a"), 0, false},
		{at(30*time.Hour, "a"), 30 * time.Hour, true}, {at(20*time.Hour, "b"), 30 * time.Hour, true}, {at(60*time.Hour, "b"), 0, false},
	} {
		if got, ok := all.Find(c.in); ok != c.ok || ok && got.At != c.want.Milliseconds() {
			t.Errorf("%+v: %+v, %v", c.in, got, ok)
		}
	}
}

// The number of remembered readings is limited, and adding one does not change the others.
func TestWith(t *testing.T) {
	var all dedup.All
	for n := range int64(20) {
		before := len(all)
		next := all.With(dedup.Reading{At: n * 1e9})
		if len(all) != before || next[len(next)-1].At != n*1e9 || len(next) > 8 {
			t.Fatalf("%d: %v became %v", n, all, next)
		}
		all = next
	}
	if all[0].At != 12e9 {
		t.Errorf("the oldest is %v", all[0])
	}
}
