package devicesim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/devicesim"
)

func messages(t *testing.T, o devicesim.Options) []devicesim.Message {
	t.Helper()
	s, err := devicesim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(s.Messages())
}

type measured struct {
	device string
	n      int64
}

// Whatever the faults, every reading of the clean series occurs once, as it was measured, or is
// marked as refused.
func TestFaultsSpareTheSeries(t *testing.T) {
	o := devicesim.Options{Seed: 7, Devices: 6, Length: 48 * time.Hour}
	clean := map[measured]devicesim.Message{}
	for _, m := range messages(t, o) {
		if m.Fault != "" || m.Fate != devicesim.Counts {
			t.Fatalf("a clean message has the fault %q", m.Fault)
		}
		clean[measured{m.Device, m.N}] = m
	}
	o.Rate = 0.11
	seen := map[measured]bool{}
	faults := map[devicesim.Fault]int{}
	var last time.Time
	for _, m := range messages(t, o) {
		if m.Arrives.Before(last) {
			t.Fatalf("%s arrives before what was told first", m.Device)
		}
		last = m.Arrives
		faults[m.Fault]++
		if m.Fate == devicesim.Repeats || m.Fault == devicesim.SameTime || m.Fault == devicesim.FoundInADrawer {
			continue
		}
		k := measured{m.Device, m.N}
		if seen[k] {
			t.Fatalf("%v is there twice", k)
		}
		seen[k] = true
		if was := clean[k]; m.Fate == devicesim.Counts && !slices.Equal(m.Values, was.Values) {
			t.Errorf("%v measured %v, not %v", k, m.Values, was.Values)
		}
	}
	if len(seen) != len(clean) {
		t.Errorf("%d readings of %d", len(seen), len(clean))
	}
	for _, f := range devicesim.Faults {
		if faults[f] == 0 {
			t.Errorf("nothing went wrong by %q", f)
		}
	}
}

// Equal options give equal messages, so that failures can be reproduced.
func TestTheSameEachTime(t *testing.T) {
	o := devicesim.Options{Seed: 3, Rate: 0.2}
	text := func() string {
		var b []byte
		for _, m := range messages(t, o) {
			b = append(m.AppendJSON(b), '\n')
			b = append(m.AppendLine(b, "m"), '\n')
			b = append(m.AppendCSV(b), '\n')
		}
		return string(b)
	}
	one := text()
	if text() != one {
		t.Error("two runs differ")
	}
	if o.Seed++; text() == one {
		t.Error("the seed changes nothing")
	}
}

func TestNewestFirst(t *testing.T) {
	o := devicesim.Options{Devices: 1, Rate: 0.05, Faults: []devicesim.Fault{devicesim.WasOffline}}
	backwards := 0
	var before devicesim.Message
	for _, m := range messages(t, o) {
		if m.At.Before(before.At) && m.Fault == devicesim.WasOffline && before.Fault == devicesim.WasOffline {
			backwards++
		}
		before = m
	}
	if backwards == 0 {
		t.Error("who was offline sends the oldest first")
	}
}

func TestRefusesOptions(t *testing.T) {
	for _, o := range []devicesim.Options{
		{Devices: -1}, {Devices: 2_000_000}, {Every: time.Millisecond}, {Rate: 1.5}, {Faults: []devicesim.Fault{"gremlins"}},
	} {
		if _, err := devicesim.New(o); err == nil || !strings.Contains(err.Error(), "use ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
