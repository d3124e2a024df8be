package alerts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/recorded"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// world is an in-memory installation with a fleet, a profile and one device.
type world struct {
	*foldtest.World
	c *telemetry.Collector
}

var start = time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, wrap func(*engine.DB) dynamo.API) *world {
	t.Helper()
	w := &world{World: foldtest.NewWorld(t, foldtest.Setup{
		Schema: alerts.Schema, Group: telemetry.FoldGroup, At: after(240), Engine: engine.Options{StreamShards: 3, RollEvery: 300}, Wrap: wrap,
		Folds: func(t *table.Table) []*fold.Fold {
			return append(telemetry.Folds(telemetry.Config{Retention: telemetry.FleetRetention(t)}), alerts.Fold())
		},
	})}
	w.c = telemetry.NewCollector(w.Table, telemetry.CollectorOptions{})
	_, err := telemetry.CreateFleet(w.Ctx, w.Table, telemetry.NewFleet{ID: "plant", Limits: telemetry.Limits{PerMinute: 1_000_000}})
	w.Must(err)
	_, err = telemetry.PutProfile(w.Ctx, w.Table, telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: "meter"}, FleetID: "plant"})
	w.Must(err)
	w.device("d1")
	return w
}

func (w *world) device(id string) {
	w.Helper()
	_, err := telemetry.CreateDevice(w.Ctx, w.Table, telemetry.NewDevice{ID: id, FleetID: "plant", ProfileID: "meter"})
	w.Must(err)
}

// rule creates a rule for d1: over 100, clear at 97, for 15 minutes, keep for 30.
func (w *world) rule(change ...func(*telemetry.Rule)) telemetry.Rule {
	w.Helper()
	r := telemetry.Rule{
		RuleKey: telemetry.RuleKey{Scope: telemetry.ForDevice, ScopeID: "d1", RuleID: "hot"}, FleetID: "plant", Name: "too hot", Metric: "temp",
		Raise: "100", Clear: "97", For: 15 * 60, KeepFor: 30 * 60, Severity: telemetry.Critical,
	}
	for _, c := range change {
		c(&r)
	}
	r, err := alerts.CreateRule(w.Ctx, w.Table, r)
	w.Must(err)
	return r
}

func (w *world) webhook() {
	w.Helper()
	_, err := alerts.PutChannel(w.Ctx, w.Table, alerts.Channel{
		ChannelKey: alerts.ChannelKey{FleetID: "plant", ChannelID: "ops"}, Kind: delivery.Webhook, Settings: delivery.Settings{URL: "https://hooks.example.com/x"}, Within: -1,
	})
	w.Must(err)
}

func (w *world) ingest(in ...telemetry.Incoming) {
	w.Helper()
	outcomes, err := w.c.Ingest(w.Ctx, in)
	w.Must(err)
	for i, o := range outcomes {
		if o.Status == telemetry.Rejected {
			w.Fatalf("reading %v is rejected: %s %s", in[i], o.Reason, o.Detail)
		}
	}
}

// temp returns a reading of d1.
func temp(at time.Time, value string) telemetry.Incoming {
	v, err := telemetry.Number(value)
	if err != nil {
		panic(err)
	}
	return telemetry.Incoming{DeviceID: "d1", At: at, Values: telemetry.Values{"temp": v}, Imported: true}
}

// after returns the time that many minutes after the start.
func after(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

func (w *world) alerts(device string) (valid, withdrawn []telemetry.Alert) {
	w.Helper()
	for a, err := range telemetry.AlertsOfDevice.All(w.Ctx, w.Table, telemetry.DeviceIn{DeviceID: device}) {
		w.Must(err)
		if a.Withdrawn {
			withdrawn = append(withdrawn, a)
		} else {
			valid = append(valid, a)
		}
	}
	return valid, withdrawn
}

func (w *world) open() (ids []string) {
	w.Helper()
	for a, err := range telemetry.OpenAlerts.All(w.Ctx, w.Table, telemetry.SeverityIn{Severity: telemetry.Critical, FleetID: "plant"}) {
		w.Must(err)
		ids = append(ids, a.AlertID)
	}
	return ids
}

func (w *world) notifications() (all []alerts.Notification) {
	w.Helper()
	all, err := alerts.NotificationsOfFleet.Collect(w.Ctx, w.Table, alerts.DeliveriesIn{FleetID: "plant"})
	w.Must(err)
	return all
}

// line describes the part of an alert that depends on readings.
func line(a *telemetry.Alert) string {
	return fmt.Sprint(a.AlertID, a.State, a.Since, a.First, a.Fired, a.Last, a.Resolved, a.Value, a.Peak)
}

func lines(all []telemetry.Alert) string {
	var b strings.Builder
	for i := range all {
		fmt.Fprintln(&b, line(&all[i]))
	}
	return b.String()
}

// replayed replays all readings of d1 in the table with a rule.
func (w *world) replayed(r telemetry.Rule) alerts.Replayed {
	w.Helper()
	retractions, err := telemetry.RetractionsOfDevice.Collect(w.Ctx, w.Table, telemetry.DeviceIn{DeviceID: "d1"})
	w.Must(err)
	out, err := alerts.Replay(r, "d1", (telemetry.ReadingsIn{DeviceID: "d1", From: time.UnixMilli(0)}).All(w.Ctx, w.Table), retractions)
	w.Must(err)
	return out
}

// agree fails unless the alerts match a replay.
func (w *world) agree(r telemetry.Rule) {
	w.Helper()
	want := w.replayed(r)
	valid, _ := w.alerts("d1")
	say := func(id string, times ...any) string { return fmt.Sprintln(append([]any{id}, times...)...) }
	var got, expected string
	for i := range valid {
		a := &valid[len(valid)-1-i]
		got += say(a.AlertID, a.Since, a.Fired, a.Last, a.Resolved, a.Value, a.Peak)
	}
	for _, e := range want.Episodes {
		resolved := int64(0)
		if !e.Resolved.IsZero() {
			resolved = e.Resolved.UnixMilli()
		}
		expected += say(e.AlertID, e.Since.UnixMilli(), e.FiredAt.UnixMilli(), e.Last.UnixMilli(), resolved, e.Value, e.Peak)
	}
	if got != expected {
		w.Fatalf("alerts are\n%swant\n%s", got, expected)
	}
	pending, err := alerts.Pending(w.Ctx, w.Table, "d1")
	w.Must(err)
	if at := pending[r.RuleID]; !at.Equal(want.Pending) {
		w.Fatalf("pending since %v, want %v", at, want.Pending)
	}
}

// machineTemperature returns the real series as it is sent.
func machineTemperature(t *testing.T) (all []telemetry.Incoming) {
	t.Helper()
	for _, r := range recorded.Temperatures(t) {
		all = append(all, temp(r.At, r.Value))
	}
	return all
}
