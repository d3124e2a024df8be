package alerts_test

import (
	"testing"
	"time"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/maintenance"
)

// overHours makes a rule evaluate the maximum of each hour.
func overHours(r *telemetry.Rule) {
	r.Over, r.Function, r.Raise, r.Clear, r.For, r.KeepFor = telemetry.Hourly, "max", "100", "100", 0, 0
}

// TestRuleOverAggregates checks that hours are evaluated when they are over, and again when a
// reading arrives late.
func TestRuleOverAggregates(t *testing.T) {
	w := newWorld(t, nil)
	w.webhook()
	w.rule(overHours)
	step := func(minute int, value string, open int) {
		t.Helper()
		w.ingest(temp(after(minute), value))
		w.Drain()
		if got := w.open(); len(got) != open {
			t.Fatalf("minute %d: %d open alerts, want %d", minute, len(got), open)
		}
	}
	step(10, "150", 0) // the hour is not over
	step(50, "20", 0)
	step(65, "20", 1)
	if id := w.open()[0]; id != alerts.AlertID("d1", "hot", after(0).UnixMilli()) {
		t.Errorf("the alert is %s", id)
	}
	step(70, "101", 1)
	step(125, "20", 1) // the second hour keeps the alert firing
	step(185, "20", 0)
	valid, _ := w.alerts("d1")
	if a := valid[0]; len(valid) != 1 || a.Last != after(60).UnixMilli() || a.Resolved != after(120).UnixMilli() || a.Peak != "150" {
		t.Errorf("alerts are %+v", valid)
	}
	step(130, "160", 1) // late: the third hour kept it firing too, and the fourth is not over
	if valid, _ := w.alerts("d1"); len(valid) != 1 || valid[0].Peak != "160" {
		t.Errorf("alerts are %+v", valid)
	}
	w.once()
}

// TestRetractedHours retracts the readings that caused an alert of a rule over aggregates.
func TestRetractedHours(t *testing.T) {
	w := newWorld(t, nil)
	w.webhook()
	w.rule(overHours)
	w.ingest(temp(after(10), "150"), temp(after(20), "20"), temp(after(65), "20"))
	w.Drain()
	if len(w.open()) != 1 {
		t.Fatal("there is no alert")
	}
	_, err := telemetry.Retract(w.Ctx, w.Table, telemetry.Retraction{RetractionKey: telemetry.RetractionKey{DeviceID: "d1"}, From: after(9), To: after(11)})
	w.Must(err)
	for range 3 {
		w.Advance(2 * telemetry.SettingsNotice)
		_, err = maintenance.Run(w.Ctx, w.Table, w.Worker)
		w.Must(err)
		w.Drain()
	}
	valid, withdrawn := w.alerts("d1")
	if told := len(w.notifications()); len(valid) != 0 || len(withdrawn) != 1 || len(w.open()) != 0 || told != 2 {
		t.Errorf("alerts are %+v, withdrawn %+v, %d notifications; want that it fired, and that it never was", valid, withdrawn, told)
	}
	if did := w.rebuild(); did.Alerts != 0 || len(w.notifications()) != 2 {
		t.Errorf("a rebuild did %+v, %d notifications", did, len(w.notifications()))
	}
}

// ofProfile makes a rule apply to all meters.
func ofProfile(r *telemetry.Rule) {
	r.RuleKey, r.For, r.KeepFor = telemetry.RuleKey{Scope: telemetry.ForProfile, ScopeID: "meter", RuleID: "hot"}, 0, 0
}

// of returns a reading for another device.
func of(device string, in telemetry.Incoming) telemetry.Incoming {
	in.DeviceID = device
	return in
}

// TestRuleOfProfile checks that a rule applies to all devices of the profile separately, including
// those added later.
func TestRuleOfProfile(t *testing.T) {
	w := newWorld(t, nil)
	w.device("d2")
	w.rule(ofProfile)
	w.ingest(temp(after(0), "101"), of("d2", temp(after(1), "50")))
	w.Drain()
	if got := w.open(); len(got) != 1 || got[0] != alerts.AlertID("d1", "hot", after(0).UnixMilli()) {
		t.Fatalf("open are %v, want that of d1", got)
	}
	w.device("d3")
	w.ingest(of("d2", temp(after(2), "101")), of("d3", temp(after(2), "101")))
	w.Drain()
	if n := len(w.open()); n != 3 {
		t.Fatalf("%d open alerts, want one of each", n)
	}

	other := telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: "pump"}, FleetID: "plant"}
	_, err := telemetry.PutProfile(w.Ctx, w.Table, other)
	w.Must(err)
	_, err = telemetry.UpdateDevice(w.Ctx, w.Table, "d2", func(d *telemetry.Device) error {
		d.ProfileID = "pump"
		return nil
	})
	w.Must(err)
	w.Drain()
	if a, _ := w.alerts("d2"); len(w.open()) != 2 || len(a) != 1 || a[0].Ended != telemetry.RuleChanged {
		t.Errorf("of another profile its alert is %+v, %d are open", a, len(w.open()))
	}
	w.ingest(of("d2", temp(after(3), "120")))
	w.Drain()
	if n := len(w.open()); n != 2 {
		t.Errorf("%d open alerts of devices that the rule is for, want 2", n)
	}
	if did := w.rebuild(); did.Alerts != 0 || did.Ended != 0 || did.Devices != 2 {
		t.Errorf("a rebuild did %+v", did)
	}
}

// TestDeviceRuleOverridesProfileRule has a device with its own rule of the same ID as a rule of its profile: the device's
// rule applies. Another device's rule with that ID applies to no other device.
func TestDeviceRuleOverridesProfileRule(t *testing.T) {
	w := newWorld(t, nil)
	w.device("d2")
	w.rule(ofProfile)
	w.ingest(temp(after(0), "101"), of("d2", temp(after(0), "101")))
	w.Drain()
	w.Advance(time.Minute)
	own := w.rule(func(r *telemetry.Rule) { r.Raise, r.Clear, r.For, r.KeepFor = "200", "200", 0, 0 })
	w.Drain()
	if got := w.open(); len(got) != 1 || got[0] != alerts.AlertID("d2", "hot", after(0).UnixMilli()) {
		t.Fatalf("open are %v, want that of d2 by the profile's rule", got)
	}
	w.ingest(temp(after(1), "150"), temp(after(2), "201"))
	w.Drain()
	if got := w.open(); len(got) != 2 {
		t.Fatalf("%d open alerts, want 2", len(got))
	}
	w.Must(alerts.DeleteRule(w.Ctx, w.Table, own.RuleKey))
	w.Drain()
	if got := w.open(); len(got) != 1 || got[0] != alerts.AlertID("d2", "hot", after(0).UnixMilli()) {
		t.Errorf("open are %v: the end of a device's rule is no other's", got)
	}
}

// TestRuleMadeAgain creates a rule with the ID of a deleted one: earlier alerts stay as they were.
func TestRuleMadeAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.webhook()
	r := w.rule()
	w.ingest(temp(after(0), "101"), temp(after(20), "102"))
	w.Drain()
	w.Must(alerts.DeleteRule(w.Ctx, w.Table, r.RuleKey))
	w.Drain()
	before, _ := w.alerts("d1")
	told := len(w.notifications())
	w.Advance(time.Minute)
	w.rule()
	w.ingest(temp(after(30), "50"))
	w.Drain()
	w.rebuild()
	valid, withdrawn := w.alerts("d1")
	if lines(valid) != lines(before) || len(withdrawn) != 0 || len(w.notifications()) != told {
		t.Errorf("alerts are\n%swithdrawn %v, %d notifications; were\n%s%d", lines(valid), withdrawn, len(w.notifications()), lines(before), told)
	}
}

// TestSilenceRuleLifecycle changes and deletes a rule about silence while it fires. The device
// comes back unnoticed.
func TestSilenceRuleLifecycle(t *testing.T) {
	w := newWorld(t, nil)
	w.webhook()
	r := w.rule(func(r *telemetry.Rule) {
		*r = telemetry.Rule{RuleKey: telemetry.RuleKey{Scope: telemetry.ForProfile, ScopeID: "meter", RuleID: "gone"}, FleetID: "plant",
			NoData: true, For: 600, Severity: telemetry.Critical}
	})
	look := func(open int) {
		t.Helper()
		w.Must(alerts.Sweep(w.Ctx, w.Table, time.Time{}))
		if got := w.open(); len(got) != open {
			t.Fatalf("%d open alerts, want %d", len(got), open)
		}
	}
	beat := func() {
		t.Helper()
		w.ingest(telemetry.Incoming{DeviceID: "d1", At: w.Now(), Values: telemetry.Values{"up": telemetry.Bool(true)}})
	}
	beat()
	w.Drain()
	w.Advance(11 * time.Minute)
	look(1)
	beat() // the stream loses this
	w.sleep()
	beat()
	w.Drain()
	look(0)
	w.Advance(20 * time.Minute)
	look(1)
	_, err := alerts.UpdateRule(w.Ctx, w.Table, r.RuleKey, func(r *telemetry.Rule) error { r.For = 7200; return nil })
	w.Must(err)
	w.Drain()
	look(0)
	w.Advance(2 * time.Hour)
	look(1)
	w.Must(alerts.DeleteRule(w.Ctx, w.Table, r.RuleKey))
	w.Drain()
	look(0)
	if did := w.rebuild(); did.Alerts+did.Ended != 0 {
		t.Errorf("a rebuild did %+v", did)
	}
	w.once()
}

// TestRuleOfProfileOnTaggedMetrics names a metric once for devices with different drivers and
// firmware, which the fleet has as properties. The rule keeps working when a device changes them.
func TestRuleOfProfileOnTaggedMetrics(t *testing.T) {
	w := newWorld(t, nil)
	w.device("d2")
	_, err := telemetry.UpdateFleet(w.Ctx, w.Table, "plant", func(f *telemetry.Fleet) error {
		f.PropertyTags = []string{"driver", "firmware"}
		return nil
	})
	w.Must(err)
	w.rule(func(r *telemetry.Rule) {
		r.Scope, r.ScopeID, r.Metric = telemetry.ForProfile, "meter", "engine.temp{side=left}"
	})
	w.Advance(telemetry.SettingsNotice)
	for minute := range 30 {
		for i, device := range []string{"d1", "d2"} {
			in := temp(after(minute), "120")
			in.DeviceID, in.Values = device, telemetry.Values{"engine.temp": in.Values["temp"]}
			in.Tags = map[string]string{"side": "left", "driver": []string{"Ada", "Bob"}[(i+minute/5)%2], "firmware": device}
			w.ingest(in)
		}
	}
	w.Drain()
	for _, device := range []string{"d1", "d2"} {
		if valid, _ := w.alerts(device); len(valid) != 1 || valid[0].Since != after(0).UnixMilli() || valid[0].State != telemetry.Firing {
			t.Errorf("%s: alerts are %+v", device, valid)
		}
	}
}
