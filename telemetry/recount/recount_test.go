package recount_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/internal/bucket"
	"github.com/onefold/onefold/telemetry/internal/decimalsum"
	"github.com/onefold/onefold/telemetry/internal/order"
	"github.com/onefold/onefold/telemetry/presence"
	"github.com/onefold/onefold/telemetry/recount"
)

// An untouched fleet has no differences, whatever happened to its readings. Planted differences are
// reported exactly, and repaired.
func TestPlantedDifferences(t *testing.T) {
	for seed := range seeds.Each(t, 1) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			w := newWorld(t, seed, 40*time.Hour)
			if found := w.verify(recount.RangeIn{Fleet: fleetID}); found.Count != 0 || found.Devices != 5 || found.Items < 500 || found.Readings < 500 {
				t.Fatalf("an untouched fleet: %+v", found)
			}
			before := w.figures()
			planted := w.plant()
			w.Drain()
			found := w.verify(recount.RangeIn{Fleet: fleetID})
			if got, want := named(found.List), slices.Sorted(slices.Values(planted)); !slices.Equal(got, want) || found.Count != int64(len(want)) {
				t.Fatalf("named  %q\nplanted %q\n%+v", got, want, found.List)
			}
			repaired, err := recount.Rebuild(w.Ctx, w.Table, w.Worker, recount.RangeIn{Fleet: fleetID}, nil)
			w.Must(err)
			if got, want := named(repaired.List), named(found.List); !slices.Equal(got, want) || repaired.Repaired != repaired.Count {
				t.Errorf("mended %q\nfound  %q", got, want)
			}
			_, err = presence.Sweep(w.Ctx, w.Table, time.Time{}) // until then, a missing status counts as online
			w.Must(err)
			w.rollUp()
			if found := w.verify(recount.RangeIn{Fleet: fleetID}); found.Count != 0 {
				t.Errorf("after the rebuild: %+v", found.List)
			}
			after := w.figures()
			for k := range before {
				if after[k] != before[k] {
					t.Errorf("%s\nbefore %s\nafter  %s", k, before[k], after[k])
				}
			}
			if len(after) != len(before) {
				t.Errorf("%d figures, want %d", len(after), len(before))
			}
		})
	}
}

// named returns the names of differences, in the form in which the test plants them.
func named(all []recount.Difference) (names []string) {
	for _, d := range all {
		names = append(names, fmt.Sprintf("%s %s %s %s", d.Part, d.Device, d.Start, d.Kind))
	}
	slices.Sort(names)
	return names
}

// figures returns all figures that a fleet shows.
func (w *world) figures() map[string]string {
	w.Helper()
	all := make(map[string]string)
	for _, id := range w.devices {
		for _, p := range []telemetry.Period{telemetry.TenMinutes, telemetry.Hourly, telemetry.Daily} {
			for a, err := range telemetry.AggregatesByTime.All(w.Ctx, w.Table, telemetry.AggregatesIn{DeviceID: id, Period: p}) {
				w.Must(err)
				if a.Readings > 0 {
					all[fmt.Sprintf("%s %s %s", id, p, a.Start)] = fmt.Sprintf("%d %d %x", a.Readings, a.Late, a.Metrics.Append(nil))
				}
			}
		}
		s, err := telemetry.ReadStatus(w.Ctx, w.Table, id)
		w.Must(err)
		all[id] = fmt.Sprintf("%v %d", s.Values, s.LastSeen)
	}
	c, err := telemetry.CountsOfFleet.Get(w.Ctx, w.Table, telemetry.FleetIn{FleetID: fleetID})
	w.Must(err)
	all["counts"] = fmt.Sprint(c)
	return all
}

// plant damages at most one item for each day and each status of each device, and for the fleet.
func (w *world) plant() (planted []string) {
	w.Helper()
	for _, id := range w.devices {
		for day, keys := range w.days(id) {
			switch w.rand.IntN(4) {
			case 0:
				planted = append(planted, w.damage(keys[w.rand.IntN(len(keys))]))
			case 1:
				planted = append(planted, w.damage(telemetry.AggregateKey{DeviceID: id, Period: telemetry.Daily, Start: day}))
			}
		}
		if w.rand.IntN(2) == 0 {
			planted = append(planted, w.invent(id))
		}
		if w.rand.IntN(2) == 0 {
			planted = append(planted, w.damageStatus(id))
		}
	}
	if w.rand.IntN(2) == 0 {
		planted = append(planted, w.damageCounts())
	}
	return append(planted, w.damageLabel())
}

// days returns the keys of a device's hours and ten-minute buckets that have a count, by day.
func (w *world) days(id string) map[string][]telemetry.AggregateKey {
	w.Helper()
	zone, err := calendar.LoadZone("Europe/Berlin")
	w.Must(err)
	days := make(map[string][]telemetry.AggregateKey)
	for _, p := range []telemetry.Period{telemetry.TenMinutes, telemetry.Hourly} {
		for a, err := range telemetry.AggregatesByTime.All(w.Ctx, w.Table, telemetry.AggregatesIn{DeviceID: id, Period: p}) {
			w.Must(err)
			if at, err := time.Parse(calendar.HourLayout, a.Start); a.Readings > 0 {
				w.Must(err)
				days[zone.Day(at)] = append(days[zone.Day(at)], a.AggregateKey)
			}
		}
	}
	return days
}

var parts = map[telemetry.Period]recount.Part{telemetry.TenMinutes: recount.TenMinutes, telemetry.Hourly: recount.Hour, telemetry.Daily: recount.Day}

func nameOf(k telemetry.AggregateKey, kind recount.DifferenceKind) string {
	return fmt.Sprintf("%s %s %s %s", parts[k.Period], k.DeviceID, k.Start, kind)
}

// damage removes an aggregate, or changes one of its figures.
func (w *world) damage(k telemetry.AggregateKey) string {
	w.Helper()
	if w.rand.IntN(4) == 0 {
		key, err := telemetry.Aggregates.Key(k)
		w.Must(err)
		_, err = w.DB.DeleteItem(w.Ctx, &dynamodb.DeleteItemInput{TableName: new(foldtest.TableName), Key: key})
		w.Must(err)
		return nameOf(k, recount.Missing)
	}
	loaded, err := fold.Load(w.Ctx, w.Table, telemetry.Aggregates, []telemetry.AggregateKey{k})
	w.Must(err)
	a := loaded[0].State
	one := decimalsum.Of(1)
	m := &a.Metrics[w.rand.IntN(len(a.Metrics))]
	switch n := w.rand.IntN(10); {
	case n == 0:
		a.Readings++
	case n == 1:
		a.Late++
	case n == 2:
		a.Metrics = slices.DeleteFunc(a.Metrics, func(x bucket.Metric) bool { return x.Name == m.Name && x.Kind == m.Kind })
	case n == 3:
		a.Metrics.At("invented", bucket.Gauge).Number(m.First.Position, one)
	case n == 4 || m.Kind == bucket.State:
		m.Count++
	case n == 5:
		m.Sum = m.Sum.Plus(one)
	case n == 6:
		m.Min = m.Min.Plus(one)
	case n == 7:
		m.Max = m.Max.Plus(one)
	case n == 8:
		m.First.At--
	default:
		m.Last.Number = m.Last.Number.Plus(one)
	}
	w.Must(fold.ReplaceState(w.Ctx, w.Table, telemetry.Aggregates, k, a, loaded[0].Version))
	return nameOf(k, recount.Wrong)
}

// invent creates an aggregate for a day on which the device measured nothing.
func (w *world) invent(id string) string {
	w.Helper()
	k := telemetry.AggregateKey{DeviceID: id, Period: telemetry.Daily, Start: "2026-03-20"}
	if n := w.rand.IntN(3); n > 0 {
		k = telemetry.AggregateKey{DeviceID: id, Period: []telemetry.Period{telemetry.Hourly, telemetry.TenMinutes}[n-1], Start: "2026-03-20T08:00:00Z"}
	}
	a := telemetry.Aggregate{AggregateKey: k, FleetID: fleetID, Day: "2026-03-20", Readings: 1, Latest: w.Now().UnixMilli()}
	a.Metrics.At("invented", bucket.Gauge).Number(order.Of(w.Now().UnixMilli(), ""), decimalsum.Of(1))
	w.Must(fold.ReplaceState(w.Ctx, w.Table, telemetry.Aggregates, k, a, 0))
	return nameOf(k, recount.Extra)
}

// damageStatus removes a status, or changes one of its values or the time when the device was last
// heard of.
func (w *world) damageStatus(id string) string {
	w.Helper()
	loaded, err := fold.Load(w.Ctx, w.Table, telemetry.Statuses, []telemetry.StatusKey{{DeviceID: id}})
	w.Must(err)
	s := loaded[0].State
	var names []string
	for name := range s.Values {
		names = append(names, name)
	}
	slices.Sort(names)
	name := names[w.rand.IntN(len(names))]
	switch v := s.Values[name]; w.rand.IntN(6) {
	case 0:
		key, err := telemetry.Statuses.Key(s.StatusKey)
		w.Must(err)
		_, err = w.DB.DeleteItem(w.Ctx, &dynamodb.DeleteItemInput{TableName: new(foldtest.TableName), Key: key})
		w.Must(err)
		return fmt.Sprintf("latest %s  missing", id)
	case 1:
		delete(s.Values, name)
	case 2:
		v.Value = telemetry.Text(v.Value.String() + "~") // the greater text, as of a later reading of the same time
		s.Values[name] = v
	case 3:
		v.At += time.Hour.Milliseconds()
		s.Values[name] = v
	case 4:
		s.Values["invented"] = v
	default:
		s.LastSeen -= 1
	}
	w.Must(fold.ReplaceState(w.Ctx, w.Table, telemetry.Statuses, s.StatusKey, s, loaded[0].Version))
	return fmt.Sprintf("latest %s  wrong", id)
}

func (w *world) damageCounts() string {
	w.Helper()
	k := telemetry.FleetCountsKey{FleetID: fleetID}
	w.Drain()
	loaded, err := fold.Load(w.Ctx, w.Table, telemetry.Counts, []telemetry.FleetCountsKey{k})
	w.Must(err)
	c := loaded[0].State
	if w.rand.IntN(2) == 0 {
		c.ByStatus[string(telemetry.Retired)]++
	} else {
		c.ByConnectivity[string(telemetry.Offline)]++
	}
	w.Must(fold.ReplaceState(w.Ctx, w.Table, telemetry.Counts, k, c, loaded[0].Version))
	return "counts   wrong"
}

// damageLabel removes a label of a device, or creates a wrong one.
func (w *world) damageLabel() string {
	w.Helper()
	k := telemetry.LabelKey{FleetID: fleetID, Kind: telemetry.ByFleet, Value: telemetry.Any, DeviceID: w.devices[0]}
	kind := recount.Missing
	if w.rand.IntN(2) == 0 {
		k.Kind, k.Value, kind = telemetry.ByTag, "invented", recount.Extra
		w.Must(fold.ReplaceState(w.Ctx, w.Table, telemetry.Labels, k, telemetry.Label{LabelKey: k, There: true}, 0))
	} else {
		key, err := telemetry.Labels.Key(k)
		w.Must(err)
		_, err = w.DB.DeleteItem(w.Ctx, &dynamodb.DeleteItemInput{TableName: new(foldtest.TableName), Key: key})
		w.Must(err)
	}
	return fmt.Sprintf("label %s %s %s %s", k.DeviceID, k.Kind, k.Value, kind)
}
