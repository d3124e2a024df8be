package ingeststate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var start = time.Date(2026, 4, 20, 14, 0, 0, 0, time.UTC)

type values = map[string]int

func newSender(perMinute int, metrics map[string]int64) *State {
	s := new(State)
	s.Limit(perMinute)
	s.Load(metrics)
	return s
}

func TestAllow(t *testing.T) {
	s := newSender(60, map[string]int64{})
	for n := range 60 {
		if _, ok := s.Allow(start); !ok {
			t.Fatalf("reading %d is too fast", n)
		}
	}
	if after, ok := s.Allow(start); ok || after != time.Second {
		t.Errorf("one more: %s", after)
	}
	s.Limit(60) // the same limit as before: earlier requests count
	if _, ok := s.Allow(start); ok {
		t.Error("setting the same limit forgets")
	}
	if _, ok := s.Allow(start.Add(time.Second)); !ok {
		t.Error("a second later")
	}
	s.Limit(120)
	if _, ok := s.Allow(start.Add(time.Second)); !ok {
		t.Error("with another limit")
	}
}

func TestRecordMetrics(t *testing.T) {
	var s State
	if s.Loaded() {
		t.Error("it has learned nothing")
	}
	s.Load(map[string]int64{"a": 1})
	s.Load(map[string]int64{"x": 1, "y": 1})
	const day = 24 * 60 * 60 * 1000
	for i, c := range []struct {
		at     int64
		values values
		excess string
	}{
		{1, values{"a": 0, "b": 0}, "[]"},
		{2, values{"b": 0, "e": 0, "c": 0, "d": 0}, "[d e]"}, // the first ones by name are accepted
		{3, values{"d": 0}, "[d]"},                           // rejected ones are not remembered
		{4, values{"a": 0, "b": 0, "c": 0}, "[]"},
		{day + 4, values{"d": 0}, "[d]"},                          // one day later they still count
		{day + 5, values{"d": 0, "a": 0, "e": 0, "b": 0}, "[e]"},  // a moment later they no longer do
		{-5 * day, values{"p": 0, "q": 0, "r": 0, "s": 0}, "[s]"}, // values of a distant time count separately
		{day + 6, values{"a": 0, "b": 0, "d": 0}, "[]"},
	} {
		if excess := fmt.Sprint(RecordMetrics(&s, c.at, c.values, 3)); excess != c.excess {
			t.Errorf("%d: %v: %s are too many, want %s", i, c.values, excess, c.excess)
		}
	}
	if excess := RecordMetrics(&s, day+7, values{"a": 0, "d": 0}, 1); len(excess) > 0 { // after the limit was lowered, known ones are still accepted
		t.Errorf("%s", excess)
	}
	for i := range 1000 {
		RecordMetrics(&s, int64(i)*2*day, values{fmt.Sprint(i): 0}, 3)
	}
	if n := len(s.metrics); n > leastKept+1 {
		t.Errorf("%d metrics are remembered", n)
	}
}

// However a device sends and repeats, a status that follows the loud readings lags by no more than
// the given time.
func TestQuiet(t *testing.T) {
	const every = time.Minute
	for range 50 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			s := newSender(1e6, map[string]int64{})
			now, heard, status := start, map[string]int64{}, map[string]int64{}
			followed := 0
			var contact time.Time // when a loud reading last showed that the device is there
			for range 300 {
				now = now.Add(time.Duration(r.IntN(20_000)) * time.Millisecond)
				at := now.Add(-time.Duration(r.IntN(2)*r.IntN(300_000)) * time.Millisecond).UnixMilli()
				reading := values{}
				for range 1 + r.IntN(3) {
					reading[fmt.Sprint(r.IntN(4))] = 0
				}
				RecordMetrics(s, at, reading, 10)
				past := r.IntN(4) == 0
				loud := !Quiet(s, at, reading, now, every, past)
				if r.IntN(4) == 0 { // it was stored already
					ClearReported(s, reading)
					continue
				}
				if loud && !past {
					contact = now
				}
				if !past && now.Sub(contact) >= every {
					t.Fatalf("the status was told of the device %s ago", now.Sub(contact))
				}
				if loud {
					followed++
				}
				for name := range reading {
					heard[name] = max(heard[name], at)
					if loud {
						status[name] = max(status[name], at)
					}
					if behind := heard[name] - status[name]; behind >= every.Milliseconds() {
						t.Fatalf("metric %s is %d ms behind", name, behind)
					}
				}
				if loud && Quiet(s, at, reading, now, every, past) && newest(s, at, reading) {
					t.Fatal("a reading that is sent again is quiet")
				}
			}
			if followed == 300 {
				t.Error("no reading is quiet")
			}
		})
	}
}

// newest reports whether a reading was the last to update the status for one of its metrics.
func newest(s *State, at int64, reading values) bool {
	for name := range reading {
		if s.metrics[name].reported == at {
			return true
		}
	}
	return false
}
