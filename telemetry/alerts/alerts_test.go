package alerts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// TestMachineTemperature imports a real series in order, then again, and then shuffled into a new
// installation.
func TestMachineTemperature(t *testing.T) {
	all := machineTemperature(t)
	load := func(w *world, in []telemetry.Incoming) {
		w.Helper()
		for part := range slices.Chunk(in, 8000) {
			w.ingest(part...)
			w.Drain()
		}
	}
	clean := newWorld(t, nil)
	clean.webhook()
	r := clean.rule()
	load(clean, all)
	valid, withdrawn := clean.alerts("d1")
	told := clean.notifications()
	if len(valid) != 17 || len(withdrawn) != 0 || len(told) != 34 {
		t.Fatalf("%d alerts, %d withdrawn, %d notifications; want 17 that each fire and resolve", len(valid), len(withdrawn), len(told))
	}
	if got := clean.replayed(r); got.Breaching != 1586 || got.Points != 22695 {
		t.Errorf("%d of %d readings breach, want 1586 of 22695", got.Breaching, got.Points)
	}
	clean.agree(r)
	load(clean, all)
	again, _ := clean.alerts("d1")
	if lines(again) != lines(valid) || len(clean.notifications()) != 34 {
		t.Errorf("imported twice: %d alerts, %d notifications", len(again), len(clean.notifications()))
	}

	shuffled := newWorld(t, nil)
	shuffled.webhook()
	shuffled.rule()
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	load(shuffled, all)
	if got, _ := shuffled.alerts("d1"); lines(got) != lines(valid) {
		t.Errorf("shuffled:\n%swant\n%s", lines(got), lines(valid))
	}
	shuffled.once()
}

// TestAnyOrder sends random readings in random order and random batches, some twice, with
// retractions that are made and withdrawn. It compares the alerts with a replay of the table's
// readings. Every transition is sent at most once.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			w := newWorld(t, nil)
			w.webhook()
			r := w.rule(func(r *telemetry.Rule) {
				r.Raise, r.Clear, r.For, r.KeepFor = "10", "8", random.IntN(4)*60, random.IntN(4)*60
				if r.Below = random.IntN(3) == 0; r.Below {
					r.Raise, r.Clear = "8", "10"
				}
			})
			lift := func() {}
			for range 12 {
				var in []telemetry.Incoming
				for range 1 + random.IntN(6) {
					in = append(in, temp(start.Add(time.Duration(random.IntN(60))*30*time.Second), fmt.Sprint(6+random.IntN(7))))
				}
				w.ingest(append(in, in[:random.IntN(len(in))]...)...)
				switch random.IntN(5) {
				case 0:
					from := random.IntN(25)
					n, err := telemetry.Retract(w.Ctx, w.Table, telemetry.Retraction{
						RetractionKey: telemetry.RetractionKey{DeviceID: "d1"}, From: after(from), To: after(from + 1 + random.IntN(4)),
					})
					w.Must(err)
					lift = func() { w.Must(telemetry.Lift(w.Ctx, w.Table, n.RetractionKey)) }
				case 1:
					lift()
					lift = func() {}
				case 2:
					w.Restart()
				}
				if random.IntN(3) > 0 {
					w.Drain()
					w.agree(r)
				}
			}
			w.Drain()
			w.agree(r)
			w.once()
		})
	}
}

// once fails if a transition is recorded twice at an alert.
func (w *world) once() {
	w.Helper()
	valid, withdrawn := w.alerts("d1")
	for _, a := range append(valid, withdrawn...) {
		sorted := slices.Sorted(slices.Values(a.Notified))
		if len(slices.Compact(sorted)) != len(a.Notified) {
			w.Errorf("alert %s has told %v", a.AlertID, a.Notified)
		}
	}
}

// TestOpenWhileFiring follows one episode from beginning to end.
func TestOpenWhileFiring(t *testing.T) {
	w := newWorld(t, nil)
	w.Set(start)
	w.webhook()
	r := w.rule()
	step := func(minutes int, value string, open int) {
		t.Helper()
		w.Set(after(minutes))
		w.ingest(temp(after(minutes), value))
		w.Drain()
		if got := w.open(); len(got) != open {
			t.Fatalf("minute %d: %d open alerts, want %d", minutes, len(got), open)
		}
		w.agree(r)
	}
	step(0, "90", 0)
	step(5, "101", 0)
	step(10, "102", 0)
	step(20, "103", 1)
	id := w.open()[0]
	if want := alerts.AlertID("d1", "hot", after(5).UnixMilli()); id != want {
		t.Errorf("the alert is %s, want %s", id, want)
	}
	step(25, "98", 1)
	step(30, "96", 1)
	step(54, "50", 1)
	step(55, "50", 0)
	valid, _ := w.alerts("d1")
	if a := valid[0]; a.Peak != "103" || a.Resolved != after(55).UnixMilli() || a.ExpiresAt.Before(after(55).AddDate(1, 0, -2)) {
		t.Errorf("the alert is %+v", a)
	}
	if n := w.notifications(); len(n) != 2 {
		t.Errorf("%d notifications, want firing and resolved", len(n))
	}
}

// TestCorrections checks that late readings and a retraction change alerts that were already sent.
func TestCorrections(t *testing.T) {
	w := newWorld(t, nil)
	w.webhook()
	r := w.rule()
	w.ingest(temp(after(5), "101"), temp(after(20), "103"))
	w.Drain()
	first := w.open()[0]
	_, err := alerts.Acknowledge(w.Ctx, w.Table, telemetry.AlertKey{DeviceID: "d1", AlertID: first}, "ada")
	w.Must(err)
	w.ingest(temp(after(2), "101")) // the episode began earlier
	w.Drain()
	w.agree(r)
	valid, withdrawn := w.alerts("d1")
	if len(valid) != 1 || valid[0].Replaces != first || valid[0].AckedBy != "ada" || len(withdrawn) != 1 || len(w.notifications()) != 1 {
		t.Fatalf("alerts are %+v, withdrawn %+v, %d notifications", valid, withdrawn, len(w.notifications()))
	}
	n, err := telemetry.Retract(w.Ctx, w.Table, telemetry.Retraction{RetractionKey: telemetry.RetractionKey{DeviceID: "d1"}, From: after(20), To: after(21)})
	w.Must(err)
	w.Drain()
	w.agree(r)
	if valid, withdrawn := w.alerts("d1"); len(valid) != 0 || len(withdrawn) != 2 || len(w.open()) != 0 || len(w.notifications()) != 2 {
		t.Errorf("retracted: %d alerts, %d withdrawn, %d notifications; want one more that tells of the withdrawal", len(valid), len(withdrawn), len(w.notifications()))
	}
	w.Must(telemetry.Lift(w.Ctx, w.Table, n.RetractionKey))
	w.Drain()
	w.agree(r)
	if valid, _ := w.alerts("d1"); len(valid) != 1 || valid[0].History[len(valid[0].History)-1].What != "reinstated" || len(w.notifications()) != 2 {
		t.Errorf("lifted: alerts are %+v, %d notifications", valid, len(w.notifications()))
	}
}

// TestRuleAppliesFromItsCreation creates, changes and deletes a rule while there are readings.
func TestRuleAppliesFromItsCreation(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(temp(after(0), "200"), temp(after(30), "200"))
	w.Drain()
	w.Advance(time.Minute)
	r := w.rule()
	w.Drain()
	if valid, _ := w.alerts("d1"); len(valid) != 0 {
		t.Fatalf("a new rule has %d alerts of before", len(valid))
	}
	w.ingest(temp(after(31), "150"), temp(after(47), "150"))
	w.Drain()
	if valid, _ := w.alerts("d1"); len(valid) != 1 || valid[0].Since != after(31).UnixMilli() {
		t.Fatalf("alerts are %+v", valid)
	}
	w.Advance(time.Minute)
	_, err := alerts.UpdateRule(w.Ctx, w.Table, r.RuleKey, func(r *telemetry.Rule) error { r.Raise = "140"; return nil })
	w.Must(err)
	w.Drain()
	if valid, _ := w.alerts("d1"); len(w.open()) != 0 || valid[0].Ended != telemetry.RuleChanged {
		t.Errorf("after a change %+v", valid)
	}
	w.ingest(temp(after(48), "141"), temp(after(64), "141"))
	w.Drain()
	if open := w.open(); len(open) != 1 || open[0] != alerts.AlertID("d1", "hot", after(48).UnixMilli()) {
		t.Errorf("open are %v", open)
	}
	w.Must(alerts.DeleteRule(w.Ctx, w.Table, r.RuleKey))
	w.ingest(temp(after(65), "141"))
	w.Drain()
	if open := w.open(); len(open) != 0 {
		t.Errorf("a deleted rule has open alerts %v", open)
	}
}
