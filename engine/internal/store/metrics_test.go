package store

import (
	"slices"
	"testing"
	"time"
)

func TestLatency(t *testing.T) {
	var l latency
	for _, took := range []time.Duration{0, 250 * time.Microsecond, 251 * time.Microsecond, 10 * time.Second, 11 * time.Second} {
		l.add(took)
	}
	h := l.read()
	at := func(bound time.Duration) uint64 { return h.Counts[slices.Index(h.Bounds, bound)] }
	if !slices.IsSorted(h.Bounds) || at(250*time.Microsecond) != 2 || at(500*time.Microsecond) != 3 || at(2500*time.Millisecond) != 3 || at(10*time.Second) != 4 || h.Count != 5 || h.Sum != 21*time.Second+501*time.Microsecond {
		t.Errorf("got %+v", h)
	}
}

func TestStalls(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	s := stalls{now: func() time.Time { return now }}
	tells := func(times int64, took time.Duration, stalling bool) {
		t.Helper()
		if gotTimes, gotTook, got := s.read(); gotTimes != times || gotTook != took || got != stalling {
			t.Errorf("got %d %v %v, want %d %v %v", gotTimes, gotTook, got, times, took, stalling)
		}
	}
	s.end() // end without a stall
	tells(0, 0, false)
	s.begin()
	now = now.Add(time.Second)
	tells(1, time.Second, true)
	now = now.Add(time.Second)
	s.end()
	now = now.Add(time.Hour)
	tells(1, 2*time.Second, false)
	s.begin()
	now = now.Add(time.Second)
	tells(2, 3*time.Second, true)
}
