package episode_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/internal/recorded"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/episode"
)

// episodes runs the machine on points.
func episodes(l *episode.Levels, points []episode.Point) (all []episode.Episode, m episode.Machine) {
	for i := range points {
		if e := m.Step(l, &points[i]); e != nil {
			all = append(all, *e)
		}
	}
	if m.Phase == episode.Firing {
		all = append(all, m.Episode)
	}
	return all, m
}

// oracle finds episodes by their definition and looks at the whole series for each one. It shares
// no code with the machine.
func oracle(l *episode.Levels, points []episode.Point) (all []episode.Episode) {
	above := func(i int, level *decimalsum.Decimal) bool {
		c := points[i].Value.Cmp(level)
		return c > 0 && !l.Below || c < 0 && l.Below
	}
	for start := 0; start < len(points); start++ {
		if !above(start, &l.Raise) {
			continue
		}
		fired := start
		for fired < len(points) && above(fired, &l.Raise) && points[fired].At-points[start].At < l.For {
			fired++
		}
		if fired == len(points) {
			return all
		}
		if !above(fired, &l.Raise) {
			start = fired
			continue
		}
		e := episode.Episode{First: points[start].Key, Fired: points[fired].At, Last: points[fired].Key, Value: points[fired].Value}
		end := fired + 1
		for ; end < len(points); end++ {
			if above(end, &l.Clear) {
				e.Last, e.Value = points[end].Key, points[end].Value
			} else if points[end].At-e.Last.At >= l.KeepFor && points[end].At > e.First.At {
				e.Resolved = points[end].At
				break
			}
		}
		e.Peak = points[start].Value
		for i := start; i < min(end, len(points)); i++ {
			if above(i, &e.Peak) && (above(i, &l.Clear)) {
				e.Peak = points[i].Value
			}
		}
		all, start = append(all, e), end
	}
	return all
}

func TestMachineMatchesDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := episode.Levels{Cmp: (*decimalsum.Decimal).Cmp,
			Below: rapid.Bool().Draw(t, "below"), Raise: decimalsum.Of(10), Clear: decimalsum.Of(8),
			For: rapid.Int64Range(0, 5).Draw(t, "for"), KeepFor: rapid.Int64Range(0, 5).Draw(t, "keep"),
		}
		if l.Below {
			l.Clear = decimalsum.Of(12)
		}
		var points []episode.Point
		at := int64(0)
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			p := episode.Point{Value: decimalsum.Of(rapid.Int64Range(6, 14).Draw(t, "value"))}
			if at += rapid.Int64Range(0, 3).Draw(t, "step"); len(points) > 0 && points[len(points)-1].At == at {
				p.Disc = points[len(points)-1].Disc + "a"
			}
			p.At = at
			points = append(points, p)
		}
		got, _ := episodes(&l, points)
		want := oracle(&l, points)
		if len(got) != len(want) {
			t.Fatalf("%d episodes, want %d", len(got), len(want))
		}
		for i := range got {
			if show(got[i]) != show(want[i]) || i > 0 && got[i].First.At <= got[i-1].First.At {
				t.Errorf("episode %d is %s, want %s", i, show(got[i]), show(want[i]))
			}
		}
	})
}

func show(e episode.Episode) string {
	return strings.Join([]string{
		time.UnixMilli(e.First.At).String(), e.First.Disc, time.UnixMilli(e.Fired).String(), time.UnixMilli(e.Last.At).String(), e.Last.Disc,
		time.UnixMilli(e.Resolved).String(), e.Value.String(), e.Peak.String(),
	}, " ")
}

func TestMachineTemperature(t *testing.T) {
	points := machineTemperature(t)
	l := episode.Levels{Cmp: (*decimalsum.Decimal).Cmp, Raise: decimalsum.Of(100), Clear: decimalsum.Of(97), For: 15 * 60_000, KeepFor: 30 * 60_000}
	got, m := episodes(&l, points)
	breaching := 0
	for i := range points {
		if l.Breaches(&points[i].Value) {
			breaching++
		}
	}
	if len(got) != 17 || breaching != 1586 || m.Phase != episode.Idle {
		t.Errorf("%d episodes of %d breaching readings, ending %q; want 17 of 1586, idle", len(got), breaching, m.Phase)
	}
}

// machineTemperature returns the real series as points.
func machineTemperature(t *testing.T) (points []episode.Point) {
	t.Helper()
	for _, r := range recorded.Temperatures(t) {
		v, err := decimalsum.Parse(r.Value)
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, episode.Point{Key: episode.Key{At: r.At.UnixMilli(), Disc: r.Value}, Value: v})
	}
	if len(points) != 22695 {
		t.Fatalf("%d readings", len(points))
	}
	return points
}
