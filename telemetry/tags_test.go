package telemetry

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/seeds"
)

// tagged is one reading with tags in the simple model.
type tagged struct {
	at     time.Time
	values map[string]string
}

// modelOfTags holds what is stored of readings with tags: at most a given number of metrics within
// a day.
type modelOfTags struct {
	properties []string
	most       int
	heard      map[string]time.Time // when each metric was last sent, by the device's clock
	stored     []tagged
}

// take returns the metrics of a reading that exceed the limit.
func (m *modelOfTags) take(in *Incoming) (excess []string) {
	values := map[string]string{}
	suffix := ""
	for _, tag := range slices.Sorted(maps.Keys(in.Tags)) {
		if slices.Contains(m.properties, tag) {
			values[tag] = in.Tags[tag]
		} else {
			suffix += "," + tag + "=" + in.Tags[tag]
		}
	}
	if suffix != "" {
		suffix = "{" + suffix[1:] + "}"
	}
	for name, v := range in.Values {
		values[name+suffix] = v.String()
	}
	near := func(name string) bool {
		at, known := m.heard[name]
		return known && at.Sub(in.At).Abs() <= 24*time.Hour
	}
	alive := 0
	for name := range m.heard {
		if near(name) {
			alive++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if near(name) {
			continue
		}
		if alive++; alive > m.most {
			excess = append(excess, name)
		}
	}
	for _, name := range excess {
		delete(values, name)
	}
	for name := range values {
		m.heard[name] = in.At
	}
	if len(values) > 0 {
		m.stored = append(m.stored, tagged{in.At, values})
	}
	return excess
}

// Readings have any tags, any time, and more metrics than the fleet allows. What is stored, shown
// and counted matches a simple model.
func TestTagsAndLimitsAgainstAModel(t *testing.T) {
	for seed := range seeds.Each(t, 6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			w := newWorld(t, "UTC", utc("2026-04-20T14:30"))
			m := modelOfTags{properties: []string{"driver", "fw"}, most: 4 + r.IntN(6), heard: map[string]time.Time{}}
			_, err := UpdateFleet(w.Ctx, w.Table, "plant", func(f *Fleet) error {
				f.PropertyTags, f.Limits.Metrics = m.properties, m.most
				return nil
			})
			w.Must(err)
			w.Advance(SettingsNotice)
			for n := range 150 {
				w.Advance(time.Duration(r.IntN(4)) * time.Hour)
				in := drawTagged(t, r, w.Now().Add(time.Duration(n)*time.Millisecond))
				all := len(in.Values)
				for _, tag := range m.properties {
					if _, there := in.Tags[tag]; there {
						all++
					}
				}
				excess := m.take(&in)
				got := w.ingest(in)[0]
				var omitted []string
				for _, o := range got.Omitted {
					omitted = append(omitted, o.Metric)
				}
				switch nothing := len(excess) == all; {
				case nothing && (got.Status != Rejected || got.Reason != TooManyMetrics):
					t.Fatalf("%d: nothing is left: %+v", n, got)
				case !nothing && (!slices.Equal(omitted, excess) || got.Status != Stored && got.Status != StoredLate):
					t.Fatalf("%d: %q was omitted, want %q: %+v", n, omitted, excess, got)
				}
			}
			w.Drain()
			w.Advance(48 * time.Hour) // the last day is over
			_, err = RollUp(w.Ctx, w.Table)
			w.Must(err)
			w.Drain()
			w.compareTagged(&m)
			found, err := Verify(w.Ctx, w.Table, w.Worker, "d1", utc("2026-04-18T00:00"), w.Now().Add(time.Hour))
			w.Must(err)
			if found.Count != 0 || found.Items == 0 {
				t.Errorf("verify found %+v", found)
			}
		})
	}
}

// drawTagged generates a reading of up to three values with up to three tags, up to 26 hours old.
func drawTagged(t *testing.T, r *rand.Rand, now time.Time) Incoming {
	in := send(now.Add(-time.Duration(r.IntN(26))*time.Hour), Values{})
	for range 1 + r.IntN(3) {
		in.Values[[]string{"temp", "load", "fuel", "idle"}[r.IntN(4)]] = num(t, fmt.Sprint(r.IntN(100)))
	}
	for _, tag := range []string{"fw", "driver", "wheel", "cpu"} {
		if r.IntN(3) == 0 {
			if in.Tags == nil {
				in.Tags = map[string]string{}
			}
			in.Tags[tag] = fmt.Sprint(tag, r.IntN(2))
		}
	}
	return in
}

// compareTagged compares readings, latest values and daily counts with those of a model.
func (w *world) compareTagged(m *modelOfTags) {
	w.T.Helper()
	lines := func(at time.Time, values map[string]string) string {
		return fmt.Sprintln(at.UnixMilli(), values)
	}
	var got, want []string
	for r, err := range (ReadingsIn{DeviceID: "d1"}).Back(w.Ctx, w.Table) {
		w.Must(err)
		values := map[string]string{}
		for name, v := range r.Values {
			values[name] = v.String()
		}
		got = append(got, lines(r.At, values))
	}
	latest, counts := map[string]tagged{}, map[string]int64{}
	for _, s := range m.stored {
		want = append(want, lines(s.at, s.values))
		for name, v := range s.values {
			counts[s.at.Format(time.DateOnly)+" "+name]++
			if was, there := latest[name]; !there || was.at.Before(s.at) {
				latest[name] = tagged{s.at, map[string]string{name: v}}
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.T.Fatalf("readings:\n%s\nwant:\n%s", strings.Join(got, ""), strings.Join(want, ""))
	}
	s, err := ReadStatus(w.Ctx, w.Table, "d1")
	w.Must(err)
	if len(s.Values) != len(latest) {
		w.T.Errorf("%d latest values, want %d", len(s.Values), len(latest))
	}
	for name, v := range latest {
		if got := s.Values[name]; got.Value.String() != v.values[name] || got.At != v.at.UnixMilli() {
			w.T.Errorf("latest %s: %+v, want %v", name, got, v)
		}
	}
	for _, day := range w.aggregates("d1", Daily) {
		for i := range day.Metrics {
			key := day.Start + " " + day.Metrics[i].Name
			if day.Metrics[i].Count != counts[key] {
				w.T.Errorf("%s: %d readings, want %d", key, day.Metrics[i].Count, counts[key])
			}
			delete(counts, key)
		}
	}
	if len(counts) > 0 {
		w.T.Errorf("no days of %v", counts)
	}
}

// If there are more metrics than a status has room for, it keeps those that were heard of last,
// whatever the order and grouping of readings.
func TestStatusKeepsNewestMetrics(t *testing.T) {
	r := rand.New(rand.NewPCG(seeds.One(t), 0))
	readings := make([]*Reading, 1500)
	for i := range readings {
		readings[i] = drawReading(r)
		readings[i].Values = Values{fmt.Sprint("m", r.IntN(1400)): num(t, fmt.Sprint(i)), fmt.Sprint("n", i): num(t, "1")}
	}
	encoded := func() []byte {
		whole := Status{StatusKey: StatusKey{"d"}}
		for rest := readings; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			part := Status{StatusKey: StatusKey{"d"}}
			for _, in := range rest[:n] {
				part.Add(in)
			}
			if rest = rest[n:]; r.IntN(2) == 0 {
				part.Finish()
			}
			if whole.Merge(&part); r.IntN(2) == 0 {
				whole.Finish()
			}
		}
		whole.Finish()
		if len(whole.Values) != maxMetrics {
			t.Fatalf("%d values", len(whole.Values))
		}
		return fmt.Append(nil, whole.Values)
	}
	first := encoded()
	for range 5 {
		r.Shuffle(len(readings), func(i, j int) { readings[i], readings[j] = readings[j], readings[i] })
		if again := encoded(); !bytes.Equal(first, again) {
			t.Fatal("another order keeps others")
		}
	}
}
