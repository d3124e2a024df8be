package block_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/internal/block"
)

// Whatever is encoded is decoded again, bit by bit, and equal facts make equal bytes.
func TestAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := anyThings(t)
		body, err := things.Append([]byte("before"), facts)
		if err != nil {
			t.Fatal(err)
		}
		if string(body[:6]) != "before" {
			t.Fatalf("%q stands before the body", body[:6])
		}
		got, err := things.Decode(make([]thing, 1), body[6:])
		if err != nil {
			t.Fatal(err)
		}
		if want := append([]string{said(thing{})}, allSaid(facts)...); !slices.Equal(allSaid(got), want) {
			t.Fatalf("read\n%q\nwritten\n%q", allSaid(got), want)
		}
		again, err := things.Append(nil, got[1:])
		if err != nil || string(again) != string(body[6:]) {
			t.Fatalf("the same facts make other bytes: %x, not %x, %v", again, body[6:], err)
		}
		if info, err := block.Inspect(body[6:]); err != nil || info.Facts != len(facts) || info.Kind != 't' {
			t.Fatalf("inspected: %+v, %v", info, err)
		}
	})
}

// A reader that asks for some columns gets only those.
func TestSomeColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := anyThings(t)
		body, err := things.Append(nil, facts)
		if err != nil {
			t.Fatal(err)
		}
		got, err := things.Decode(nil, body, 2, 200)
		if err != nil {
			t.Fatal(err)
		}
		var want []thing
		for i := range facts {
			want = append(want, thing{Text: facts[i].Text, Map: facts[i].Map})
		}
		if !slices.Equal(allSaid(got), allSaid(want)) {
			t.Fatalf("read\n%q\nwanted\n%q", allSaid(got), allSaid(want))
		}
	})
}

// The parts contain all facts in order. Each has at most the target size, unless it is a single
// fact.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := anyThings(t)
		target := rapid.IntRange(0, 4000).Draw(t, "target")
		var got []thing
		for part, err := range things.Split(facts, target) {
			if err != nil {
				t.Fatal(err)
			}
			if len(part.Body) > target && len(part.Facts) > 1 {
				t.Fatalf("%d facts take %d bytes, more than %d", len(part.Facts), len(part.Body), target)
			}
			before := len(got)
			if got, err = things.Decode(got, part.Body); err != nil {
				t.Fatal(err)
			}
			if len(got)-before != len(part.Facts) {
				t.Fatalf("%d facts were read of %d", len(got)-before, len(part.Facts))
			}
		}
		if !slices.Equal(allSaid(got), allSaid(facts)) {
			t.Fatal("the parts are not the whole")
		}
	})
}

// Many facts make few bodies, all close to the target size, and no fact is tried many times.
func TestSplitMany(t *testing.T) {
	facts := slices.Concat(madeUp(t, 20_000, busy), make([]event, 10_000))
	const target = 64 << 10
	var sizes []int
	for part, err := range webEvents.Split(facts, target) {
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(part.Body))
		if len(part.Facts) > block.MaxFacts || len(part.Body) > target {
			t.Errorf("%d facts of %d bytes", len(part.Facts), len(part.Body))
		}
	}
	if len(sizes) > 16 {
		t.Errorf("%d parts: %v", len(sizes), sizes)
	}
}

// A fact that is too large is separated from its neighbours, which are stored.
func TestSplitTooLarge(t *testing.T) {
	facts := someThings(30)
	facts[10].Text = label(noise(200_000)) // a block of its own
	facts[20].Text = label(noise(block.MaxBody))
	facts[25].List = make([]string, 1<<18+1)
	stored, refused := 0, []string{}
	for part, err := range things.Split(facts, 64<<10) {
		if err != nil {
			if !errors.Is(err, block.ErrTooLarge) || len(part.Facts) != 1 || part.Body != nil {
				t.Errorf("%d facts, %d bytes: %v", len(part.Facts), len(part.Body), err)
			}
			refused = append(refused, part.Facts[0].ID)
			continue
		}
		stored += len(part.Facts)
		if len(part.Body) > 64<<10 && part.Facts[0].ID != facts[10].ID {
			t.Errorf("%d facts take %d bytes", len(part.Facts), len(part.Body))
		}
	}
	if stored != 28 || !slices.Equal(refused, []string{facts[20].ID, facts[25].ID}) {
		t.Errorf("%d stored, %q refused", stored, refused)
	}
	for range things.Split(facts, 100) {
		break
	}
}

// noise returns an incompressible text.
func noise(n int) string {
	b, x := make([]byte, n), uint64(1)
	for i := range b {
		x = x*6364136223846793005 + 1442695040888963407
		b[i] = byte(x >> 56)
	}
	return string(b)
}

func TestTooLarge(t *testing.T) {
	for name, facts := range map[string][]thing{
		"facts":    make([]thing, block.MaxFacts+1),
		"bytes":    {{Text: label(make([]byte, block.MaxBytes+1))}},
		"elements": {{List: make([]string, 1<<18+1)}},
		"shared":   slices.Repeat([]thing{{List: make([]string, 1<<10)}}, 300), // stored once, but read 300 times
	} {
		if body, err := things.Append([]byte("x"), facts); !errors.Is(err, block.ErrTooLarge) || string(body) != "x" {
			t.Errorf("%s: %d bytes, %v", name, len(body), err)
		}
	}
	most := make([]thing, block.MaxFacts)
	if got, err := things.Decode(nil, appended(t, things, most)); err != nil || len(got) != block.MaxFacts {
		t.Errorf("%d facts, %v", len(got), err)
	}
}

// Times are decoded in UTC, with millisecond precision.
func TestTimes(t *testing.T) {
	at := time.Date(2026, 5, 12, 16, 0, 0, 250_999_999, time.FixedZone("", 7200))
	got, err := things.Decode(nil, appended(t, things, []thing{{At: at}, {}}))
	if err != nil || got[0].At != time.Date(2026, 5, 12, 14, 0, 0, 250_000_000, time.UTC) || !got[1].At.IsZero() {
		t.Errorf("read %v, %v", got, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	facts := someThings(200)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 50 {
				some := facts[n*10 : 60+n*20]
				body, err := things.Append(nil, some)
				if err != nil {
					t.Error(err)
				}
				if got, err := things.Decode(nil, body); err != nil || !slices.Equal(allSaid(got), allSaid(some)) {
					t.Errorf("read something else: %v", err)
				}
			}
		})
	}
	all.Wait()
}
