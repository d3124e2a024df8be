package alerts_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// sleep makes the stream lose the changes that were not read, and the worker notice it.
func (w *world) sleep() {
	w.Helper()
	w.Advance(25 * time.Hour)
	w.Must(w.DB.TrimStreams(w.Ctx))
	w.Restart()
	w.Drain()
}

func (w *world) rebuild() alerts.Rebuilt {
	w.Helper()
	did, err := alerts.Rebuild(w.Ctx, w.Table, w.Worker, "plant")
	w.Must(err)
	w.Drain()
	return did
}

// TestRebuild sends readings that are not read from the stream before the stream loses them. The
// missing alerts are rebuilt with the IDs that they would have had, and each is sent once.
func TestRebuild(t *testing.T) {
	w := newWorld(t, nil)
	w.webhook()
	r := w.rule()
	w.ingest(temp(after(0), "101"), temp(after(20), "102"))
	w.Drain()
	first := w.open()
	w.ingest(temp(after(25), "90"), temp(after(55), "90"), temp(after(60), "105"), temp(after(80), "106"))
	w.sleep()
	if got := w.open(); len(got) != 1 || len(first) != 1 || got[0] != first[0] {
		t.Fatalf("open are %v, were %v; the stream has to have lost what resolved it", got, first)
	}
	if did := w.rebuild(); did.Devices != 1 || did.Alerts != 2 || did.Ended != 0 {
		t.Errorf("did %+v, want one alert amended and one made", did)
	}
	w.agree(r)
	if open := w.open(); len(open) != 1 || open[0] != alerts.AlertID("d1", "hot", after(60).UnixMilli()) {
		t.Errorf("open are %v", open)
	}
	told := len(w.notifications())
	if told != 3 {
		t.Errorf("%d notifications, want that one fired and was resolved, and that another fires", told)
	}
	if did := w.rebuild(); did.Alerts != 0 || did.Ended != 0 || len(w.notifications()) != told {
		t.Errorf("again: did %+v, %d notifications", did, len(w.notifications()))
	}
	w.once()
}

// TestRebuildEnds has alerts whose rules change or are deleted while nobody reads the stream.
func TestRebuildEnds(t *testing.T) {
	w := newWorld(t, nil)
	r := w.rule()
	w.rule(func(r *telemetry.Rule) { r.RuleID, r.Raise, r.Clear = "hotter", "100", "100" })
	w.ingest(temp(after(0), "101"), temp(after(20), "102"))
	w.Drain()
	if n := len(w.open()); n != 2 {
		t.Fatalf("%d open alerts, want 2", n)
	}
	w.Must(alerts.DeleteRule(w.Ctx, w.Table, r.RuleKey))
	w.sleep()
	if did := w.rebuild(); did.Ended != 1 || did.Alerts != 0 {
		t.Errorf("did %+v, want one ended", did)
	}
	if open := w.open(); len(open) != 1 || open[0] != alerts.AlertID("d1", "hotter", after(0).UnixMilli()) {
		t.Errorf("open are %v", open)
	}
}

// TestRebuildAggregates also loses the aggregates that a rule evaluates.
func TestRebuildAggregates(t *testing.T) {
	w := newWorld(t, nil)
	w.rule(overHours)
	for h, value := range []string{"90", "101", "102", "90", "90"} {
		w.ingest(temp(after(60*h-60), "20"), temp(after(60*h-30), value))
	}
	w.sleep()
	if valid, _ := w.alerts("d1"); len(valid) != 0 {
		t.Fatalf("alerts are %+v; the stream has to have lost all", valid)
	}
	if did := w.rebuild(); did.Aggregates < 5 {
		t.Errorf("did %+v, want five hours at least", did)
	}
	valid, _ := w.alerts("d1")
	if len(valid) != 1 || valid[0].Since != after(0).UnixMilli() || valid[0].Resolved != after(120).UnixMilli() || valid[0].Peak != "102" {
		t.Errorf("alerts are %+v", valid)
	}
}

// TestRebuildAfterRandomLosses sends random readings, loses some changes, ends processes, and rebuilds. In
// the end, the alerts match a replay, and nothing was sent twice.
func TestRebuildAfterRandomLosses(t *testing.T) {
	deaths := 0
	defer func() {
		if deaths < 10 {
			t.Errorf("it died %d times only", deaths)
		}
	}()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 23))
			s := &shaky{random: random}
			w := newWorld(t, func(db *engine.DB) dynamo.API {
				s.API = db
				return s
			})
			w.webhook()
			r := w.rule(func(r *telemetry.Rule) {
				r.Raise, r.Clear, r.For, r.KeepFor = "10", "8", random.IntN(4)*60, random.IntN(4)*60
			})
			for range 8 {
				for range 1 + random.IntN(6) {
					w.ingest(temp(start.Add(time.Duration(random.IntN(60))*30*time.Second), fmt.Sprint(6+random.IntN(7))))
				}
				switch random.IntN(5) {
				case 0:
					w.sleep()
				case 1:
					w.Drain()
				case 2:
					w.rebuild()
					w.agree(r)
				case 3:
					before := s.deaths
					ctx, cancel := context.WithCancel(w.Ctx)
					s.die = cancel
					_, err := alerts.Rebuild(ctx, w.Table, w.Worker, "plant")
					if s.die = nil; (err == nil) != (s.deaths == before) {
						t.Fatalf("%d deaths: %v", s.deaths-before, err)
					}
					cancel()
					w.Restart()
				}
			}
			deaths += s.deaths
			w.rebuild()
			w.agree(r)
			told := len(w.notifications())
			if did := w.rebuild(); did.Alerts != 0 || len(w.notifications()) != told {
				t.Errorf("again: did %+v, %d notifications, had %d", did, len(w.notifications()), told)
			}
			w.once()
		})
	}
}

// TestExpiredAlertsAreKept checks that neither a rebuild nor late readings change alerts whose readings
// have expired.
func TestExpiredAlertsAreKept(t *testing.T) {
	w := newWorld(t, nil)
	w.webhook()
	w.rule(func(r *telemetry.Rule) { r.For, r.KeepFor = 0, 0 })
	w.ingest(temp(after(0), "105"), temp(after(10), "90"), temp(after(20), "106"), temp(after(30), "107")) // one alert ends, one continues
	w.Drain()
	before, _ := w.alerts("d1")
	told := len(w.notifications())
	w.Advance(31 * 24 * time.Hour)
	_, err := w.DB.ExpireNow(w.Ctx)
	w.Must(err)
	w.rebuild()
	w.ingest(temp(after(5), "110"), temp(after(45), "99"))
	w.Drain()
	w.rebuild()
	valid, withdrawn := w.alerts("d1")
	if len(valid) != 2 || len(withdrawn) != 0 || line(&valid[1]) != line(&before[1]) || len(w.notifications()) != told {
		t.Fatalf("alerts are\n%s, withdrawn %v, %d notifications; were\n%s, %d", lines(valid), withdrawn, len(w.notifications()), lines(before), told)
	}
	if a := valid[0]; a.AlertID != before[0].AlertID || a.State != telemetry.Firing || a.Last != after(45).UnixMilli() || a.Peak != "107" {
		t.Errorf("what goes on is %+v", a)
	}
	w.ingest(temp(after(60), "50"), temp(after(70), "50"))
	w.Drain()
	w.rebuild()
	if valid, _ := w.alerts("d1"); len(valid) != 2 || valid[0].Resolved != after(60).UnixMilli() {
		t.Errorf("alerts are\n%s", lines(valid))
	}
}
