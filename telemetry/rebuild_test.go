package telemetry

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
)

// "Sensor bad from 10:20 to 11:10" takes effect, whenever its readings arrive, and can be withdrawn
// exactly.
func TestRetraction(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	start := utc("2026-04-18T06:00")
	in := drawReadings(t, r, start, 600)
	bad := func(i Incoming) bool {
		return !i.At.Before(start.Add(4*time.Hour)) && i.At.Before(start.Add(9*time.Hour))
	}
	counted := func(of, retracted string) []Incoming {
		return slices.DeleteFunc(slices.Clone(in), func(i Incoming) bool { return bad(i) && (retracted == "" || retracted == of) })
	}
	for _, metric := range []string{"", "temp"} {
		t.Run("metric "+metric, func(t *testing.T) {
			w := newWorld(t, "Europe/Berlin", in[len(in)-1].At)
			var early, late []Incoming
			for i, one := range in {
				if i%3 == 0 && bad(one) {
					late = append(late, one)
				} else {
					early = append(early, one)
				}
			}
			w.ingest(early...)
			n := Retraction{RetractionKey: RetractionKey{DeviceID: "d1"}, From: start.Add(4 * time.Hour), To: start.Add(9 * time.Hour), Reason: "loose wire"}
			if metric != "" {
				n.Metrics = []string{metric}
			}
			made, err := Retract(w.Ctx, w.Table, n)
			w.Must(err)
			apply := func() {
				t.Helper()
				waiting, err := ApplyRetractions(w.Ctx, w.Table, w.Worker, "d1")
				w.Must(err)
				if !waiting {
					t.Error("readings may still be stored by what collectors knew before")
				}
				w.Advance(SettingsNotice)
				w.ingest(late...)
				w.Drain()
				if waiting, err := ApplyRetractions(w.Ctx, w.Table, w.Worker, "d1"); waiting || err != nil {
					t.Errorf("waiting %v, %v", waiting, err)
				}
			}
			apply()
			compareHours(t, w.counted("temp"), oracleOf(t, "Europe/Berlin", counted("temp", metric), "temp"))
			compareHours(t, w.counted("pulses"), oracleOf(t, "Europe/Berlin", counted("pulses", metric), "pulses"))
			w.verified()
			w.Must(Lift(w.Ctx, w.Table, made.RetractionKey))
			apply()
			compareHours(t, w.counted("temp"), oracleOf(t, "Europe/Berlin", in, "temp"))
			w.verified()
			if all, err := RetractionsOfDevice.Collect(w.Ctx, w.Table, DeviceIn{"d1"}); err != nil || len(all) != 0 {
				t.Errorf("%v, %v", all, err)
			}
		})
	}
}

// counted returns the figures of a metric for the hours with a count.
func (w *world) counted(metric string) map[string]Figures {
	w.Helper()
	all := w.figuresOfHours("d1", metric)
	for start, f := range all {
		if f.Count == 0 {
			delete(all, start)
		}
	}
	return all
}

func (w *world) verified() {
	w.Helper()
	found, err := Verify(w.Ctx, w.Table, w.Worker, "d1", utc("2026-04-17T00:00"), utc("2026-04-21T00:00"))
	w.Must(err)
	if found.Count != 0 || found.Busy != 0 || found.Items == 0 {
		w.Errorf("verify found %+v", found)
	}
}

// Damage is found and repaired while readings arrive.
func TestRebuild(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	start := utc("2026-04-18T06:00")
	in := drawReadings(t, r, start, 400)
	w := newWorld(t, "Europe/Berlin", in[len(in)-1].At)
	w.ingest(in[:390]...)
	w.Drain()
	w.verified()
	all := w.aggregates("d1", Hourly)
	damage := func(k AggregateKey, change func(*Aggregate)) {
		loaded, err := fold.Load(w.Ctx, w.Table, Aggregates, []AggregateKey{k})
		w.Must(err)
		change(&loaded[0].State)
		w.Must(fold.ReplaceState(w.Ctx, w.Table, Aggregates, k, loaded[0].State, loaded[0].Version))
	}
	damage(all[1].AggregateKey, func(a *Aggregate) { a.Readings++ })
	damage(all[2].AggregateKey, func(a *Aggregate) { a.Metrics = a.Metrics[:1] })
	damage(AggregateKey{"d1", TenMinutes, all[3].Start}, func(a *Aggregate) { a.Readings, a.Metrics, a.FleetID = 7, nil, "plant" })
	key, err := Aggregates.Key(all[4].AggregateKey)
	w.Must(err)
	_, err = w.DB.DeleteItem(w.Ctx, &dynamodb.DeleteItemInput{TableName: new(foldtest.TableName), Key: key})
	w.Must(err)
	from, to := utc("2026-04-17T00:00"), utc("2026-04-21T00:00")
	found, err := Verify(w.Ctx, w.Table, w.Worker, "d1", from, to)
	w.Must(err)
	if found.Count != 4 || len(found.List) != 4 {
		t.Errorf("verify found %+v", found)
	}
	w.ingest(in[390:]...)
	if found, err = Rebuild(w.Ctx, w.Table, w.Worker, "d1", from, to); err != nil || found.Count != 4 {
		t.Errorf("rebuild found %+v, %v", found, err)
	}
	w.verified()
	compareHours(t, w.counted("temp"), oracleOf(t, "Europe/Berlin", in, "temp"))
}

// Sealed buckets are neither reduced nor increased, but all of their readings can still be
// retracted.
func TestSealed(t *testing.T) {
	start := utc("2026-03-10T06:00")
	w := newWorld(t, "UTC", start.Add(5*time.Hour))
	w.every(start, time.Minute, 240, func(i int) Values { return Values{"temp": num(t, strconv.Itoa(i%50))} })
	w.Drain()
	before := w.aggregates("d1", Hourly)
	w.Advance(29*24*time.Hour + 21*time.Hour) // the readings of the first hours have expired, those of the last hours have not
	_, err := w.DB.ExpireNow(w.Ctx)
	w.Must(err)
	w.Drain()
	if got := w.aggregates("d1", Hourly); !reflect.DeepEqual(got, before) {
		t.Error("aggregates changed when readings expired")
	}
	if _, err := Rebuild(w.Ctx, w.Table, w.Worker, "d1", start, start.Add(time.Hour)); !errors.Is(err, ErrSealed) {
		t.Errorf("rebuild: %v", err)
	}
	if got := w.aggregates("d1", Hourly); !reflect.DeepEqual(got, before) {
		t.Error("a rebuild changed what is sealed")
	}
	_, err = Retract(w.Ctx, w.Table, Retraction{RetractionKey: RetractionKey{DeviceID: "d1"}, From: start.Add(-time.Minute), To: start.Add(time.Hour)})
	w.Must(err)
	if _, err := ApplyRetractions(w.Ctx, w.Table, w.Worker, "d1"); err != nil && !errors.Is(err, ErrSealed) {
		t.Error(err)
	}
	got := w.aggregates("d1", Hourly)
	if got[0].Readings != 0 || got[1].Readings != 60 {
		t.Errorf("hours have %d and %d readings", got[0].Readings, got[1].Readings)
	}
}

// A status is not written at every heartbeat, but reading it gives the latest state.
func TestStatusIsWrittenOnceAMinute(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	want := map[string]string{}
	for i := range 400 {
		values := Values{}
		for _, name := range []string{"a", "b", "c"}[:1+r.IntN(3)] {
			if i == 0 || r.IntN(2) == 0 {
				values[name] = num(t, strconv.Itoa(i))
				want[name] = strconv.Itoa(i)
			}
		}
		if len(values) > 0 {
			w.ingest(send(w.Now(), values))
		}
		if i%50 == 0 {
			w.Drain()
		}
		if i == 200 {
			w.c = NewCollector(w.Table, CollectorOptions{}) // another process
		}
		w.Advance(3 * time.Second)
	}
	w.Drain()
	s, err := ReadStatus(w.Ctx, w.Table, "d1")
	w.Must(err)
	got := map[string]string{}
	for name, v := range s.Values {
		got[name] = v.Value.String()
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("latest %v, want %v", got, want)
	}
	loud := 0
	for one, err := range (ReadingsIn{DeviceID: "d1"}).All(w.Ctx, w.Table) {
		w.Must(err)
		if !one.Quiet {
			loud++
		}
	}
	if loud < 20 || loud > 100 { // for each of three metrics, about once a minute
		t.Errorf("%d readings of 20 minutes are written into the status", loud)
	}
	if _, err := ReadStatus(w.Ctx, w.Table, "nobody"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
}
