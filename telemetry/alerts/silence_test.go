package alerts_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/presence"
)

// hush is a fleet of eight devices, m0 to m7, whose profile has a rule about one hour of silence.
type hush struct{ *world }

var goneRule = telemetry.RuleKey{Scope: telemetry.ForProfile, ScopeID: "meter", RuleID: "gone"}

func newHush(t *testing.T) *hush {
	t.Helper()
	h := &hush{newWorld(t, nil)}
	h.webhook()
	h.rule(func(r *telemetry.Rule) {
		*r = telemetry.Rule{RuleKey: goneRule, FleetID: "plant", NoData: true, For: 3600, Severity: telemetry.Critical}
	})
	for i := range 8 {
		h.device(fmt.Sprint("m", i))
	}
	return h
}

// beat makes the devices with numbers in [from, to) send.
func (h *hush) beat(from, to int) {
	h.Helper()
	for i := from; i < to; i++ {
		h.ingest(telemetry.Incoming{DeviceID: fmt.Sprint("m", i), At: h.Now(), Values: telemetry.Values{"temp": telemetry.Bool(true)}})
	}
	h.Drain()
}

func (h *hush) sweep() {
	h.Helper()
	h.Drain()
	_, err := presence.Sweep(h.Ctx, h.Table, time.Time{})
	h.Must(err)
	h.Must(alerts.Sweep(h.Ctx, h.Table, time.Time{}))
	h.Drain()
}

// told returns the devices and events of all notifications.
func (h *hush) told() (all []string) {
	h.Helper()
	for _, n := range h.notifications() {
		all = append(all, n.Alert.DeviceID+" "+string(n.Event))
	}
	slices.Sort(all)
	return all
}

// expect fails unless the number of open alerts is open, and the new notifications are exactly
// those of told.
func (h *hush) expect(when string, open int, told ...string) {
	h.Helper()
	if got := h.open(); len(got) != open {
		h.Errorf("%s: %d alerts are open, want %d", when, len(got), open)
	}
	if got := h.told(); !slices.Equal(got, told) {
		h.Errorf("%s: told was %q, want %q", when, got, told)
	}
}

// TestSilenceOfFleet makes a whole fleet fall silent: each device has its own alert, but only one
// is sent. Devices that are still silent when the others are back are reported then.
func TestSilenceOfFleet(t *testing.T) {
	h := newHush(t)
	h.beat(0, 8)
	h.Advance(2 * time.Hour)
	h.sweep()
	h.expect("silent", 9, "~plant firing")
	whole, _ := h.alerts(alerts.FleetDevice("plant"))
	if len(whole) != 1 || whole[0].State != telemetry.Firing {
		t.Fatalf("alerts of the fleet: %+v", whole)
	}
	h.beat(0, 1)
	h.sweep()
	h.expect("one is back", 8, "~plant firing")
	h.beat(1, 7)
	h.expect("all but one are back", 2, "~plant firing")
	h.sweep()
	h.sweep()
	h.expect("the fleet is back", 1, "m7 firing", "~plant firing", "~plant resolved")
	h.beat(7, 8)
	h.sweep()
	h.expect("the last is back", 0, "m7 firing", "m7 resolved", "~plant firing", "~plant resolved")
	h.Advance(2 * time.Hour)
	h.sweep()
	h.Must(alerts.DeleteRule(h.Ctx, h.Table, goneRule))
	h.sweep()
	h.expect("nobody wants to know of silence", 0, "m7 firing", "m7 resolved", "~plant firing", "~plant firing", "~plant resolved", "~plant resolved")
	if whole, _ := h.alerts(alerts.FleetDevice("plant")); len(whole) != 2 || whole[0].State != telemetry.Resolved {
		t.Errorf("alerts of the fleet: %+v", whole)
	}
	h.once()
}

// TestSilenceOfSeason turns half of a fleet off permanently: the fleet's alert ends after a day,
// those of the devices stay, and the silence of another device is reported.
func TestSilenceOfSeason(t *testing.T) {
	h := newHush(t)
	hours := func(n, from int) {
		for range 6 * n {
			h.beat(from, 8)
			h.Advance(10 * time.Minute)
			h.sweep()
		}
	}
	hours(5, 0)
	h.expect("all send", 0)
	hours(20, 4)
	h.expect("half are switched off", 5, "~plant firing")
	hours(10, 4)
	h.expect("for a day", 4, "~plant firing", "~plant resolved")
	if whole, _ := h.alerts(alerts.FleetDevice("plant")); len(whole) != 1 || whole[0].Ended != telemetry.Settled {
		t.Errorf("alerts of the fleet: %+v", whole)
	}
	hours(2, 5)
	h.expect("one more fell silent", 5, "m4 firing", "~plant firing", "~plant resolved")
	h.beat(0, 8)
	h.sweep()
	h.expect("all are back", 0, "m4 firing", "m4 resolved", "~plant firing", "~plant resolved")
	h.once()
}

// TestPastReadingsDoNotEndSilence imports readings, and sends late ones, while devices are silent.
func TestPastReadingsDoNotEndSilence(t *testing.T) {
	h := newHush(t)
	past := func() {
		t.Helper()
		imported := telemetry.Incoming{At: h.Now().Add(-time.Second), Values: telemetry.Values{"temp": telemetry.Bool(true)}, Imported: true}
		late := telemetry.Incoming{At: h.Now().Add(-3 * time.Hour), Values: telemetry.Values{"temp": telemetry.Bool(true)}}
		for i := range 8 {
			h.ingest(of(fmt.Sprint("m", i), imported), of(fmt.Sprint("m", i), late))
		}
		h.Drain()
	}
	past()
	h.sweep()
	h.Advance(2 * time.Hour)
	h.sweep()
	h.expect("imported only", 0)
	for range 10 {
		h.beat(0, 8)
		h.Advance(time.Minute)
		h.sweep()
	}
	for range 10 {
		h.Advance(5 * time.Minute)
		h.beat(0, 7)
		past()
		h.sweep()
	}
	h.expect("m7 is silent for not yet an hour", 0)
	h.Advance(9 * time.Minute)
	past()
	h.sweep()
	h.expect("m7 is silent", 1, "m7 firing")
	past()
	h.sweep()
	h.expect("its past arrives", 1, "m7 firing")
}

// TestNoSilenceWhileServerIsDown checks that no device counts as silent for a time in which the server was
// not running.
func TestNoSilenceWhileServerIsDown(t *testing.T) {
	h := newHush(t)
	h.beat(0, 8)
	h.Advance(5 * time.Hour)
	h.Must(alerts.Sweep(h.Ctx, h.Table, h.Now()))
	h.expect("back", 0)
	back := h.Now()
	h.Advance(50 * time.Minute)
	h.beat(0, 7)
	h.Advance(10 * time.Minute)
	h.Must(alerts.Sweep(h.Ctx, h.Table, back))
	h.expect("an hour later", 1, "m7 firing")
	if a, _ := h.alerts("m7"); len(a) != 1 || a[0].Since != back.UnixMilli() {
		t.Errorf("its alert is %+v", a)
	}
}
