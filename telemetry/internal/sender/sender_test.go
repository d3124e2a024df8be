package sender

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var start = time.Date(2026, 4, 20, 14, 0, 0, 0, time.UTC)

type values = map[string]int

func newSender(perMinute int, metrics map[string]int64) *Sender {
	s := new(Sender)
	s.Limit(perMinute)
	s.Learn(metrics)
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
	s.Limit(60) // as before: what was taken counts
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

func TestMeet(t *testing.T) {
	var s Sender
	if s.Learned() {
		t.Error("it has learned nothing")
	}
	s.Learn(map[string]int64{"a": 1})
	s.Learn(map[string]int64{"x": 1, "y": 1})
	for _, c := range []struct {
		values values
		would  int
		ok     bool
	}{
		{values{"a": 0, "b": 0}, 2, true},
		{values{"b": 0, "c": 0, "d": 0}, 4, false},
		{values{"c": 0}, 3, true}, // of what was refused nothing is remembered
		{values{"d": 0}, 4, false},
		{values{"a": 0, "b": 0, "c": 0}, 3, true},
	} {
		if would, ok := Meet(&s, c.values, 3); would != c.would || ok != c.ok {
			t.Errorf("%v: %d, %t", c.values, would, ok)
		}
	}
	if would, ok := Meet(&s, values{"a": 0}, 1); !ok { // the limit came down: what is known is still taken
		t.Errorf("%d", would)
	}
}

// However a device sends, and sends again, a status that follows the loud readings is behind by no more than the time.
func TestQuiet(t *testing.T) {
	const every = time.Minute
	for range 50 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			s := newSender(1e6, map[string]int64{})
			now, heard, status := start, map[string]int64{}, map[string]int64{}
			followed := 0
			var contact time.Time // when the status was told last that the device is there
			for range 300 {
				now = now.Add(time.Duration(r.IntN(20_000)) * time.Millisecond)
				at := now.Add(-time.Duration(r.IntN(2)*r.IntN(300_000)) * time.Millisecond).UnixMilli()
				reading := values{}
				for range 1 + r.IntN(3) {
					reading[fmt.Sprint(r.IntN(4))] = 0
				}
				Meet(s, reading, 10)
				past := r.IntN(4) == 0
				loud := !Quiet(s, at, reading, now, every, past)
				if r.IntN(4) == 0 { // it was there already
					Untell(s, reading)
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

// newest reports whether a reading is the last that was told of one of its metrics.
func newest(s *Sender, at int64, reading values) bool {
	for name := range reading {
		if s.metrics[name] == at {
			return true
		}
	}
	return false
}
