package devices_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/telemetry/alerts"
)

// shownDevice is a device in a list.
type shownDevice struct {
	ID, Connectivity string
	LastSeen         time.Time
	Latest           map[string]struct {
		At    time.Time
		Value json.RawMessage
	}
}

// look runs maintenance, and determines from what was sent which devices are online and which are
// silent. Closely, it compares that with what is shown.
func (d *days) look(closely bool) {
	d.Helper()
	d.maintenance()
	want := map[string]int{"never": 2} // d1 and d2
	is, silent := map[string]string{}, map[string]bool{}
	for _, g := range d.gadgets {
		is[g.id], silent[g.id] = d.presence(g)
		want[is[g.id]]++
	}
	d.silent = d.fleetSilent(want["online"])
	if closely {
		d.comparePresence(is, silent, want)
	}
}

// comparePresence compares which devices are online and silent with what is shown. want counts the
// fleet by connectivity.
func (d *days) comparePresence(is map[string]string, silent map[string]bool, want map[string]int) {
	d.Helper()
	var list struct{ Devices []shownDevice }
	d.answer("/devices?limit=1000", &list)
	var open struct {
		Alerts []struct{ Device, Rule string }
	}
	d.answer("/alerts?state=open&limit=1000", &open)
	var board struct {
		ByConnectivity map[string]int
		Silence        *struct{ Devices, Of int }
	}
	d.answer("/board", &board)
	shown, gone := map[string]shownDevice{}, map[string]bool{}
	for _, s := range list.Devices {
		shown[s.ID] = s
	}
	for _, a := range open.Alerts {
		gone[a.Device] = gone[a.Device] || a.Rule == "gone" || a.Rule == alerts.SilenceRule
	}
	for _, g := range d.gadgets {
		is, silent := is[g.id], silent[g.id]
		if s := shown[g.id]; s.Connectivity != strings.TrimPrefix(is, "never") || is != "never" && !s.LastSeen.Equal(g.arrived[len(g.arrived)-1]) {
			d.Fatalf("at %s %s is %q, last seen %s; it is %s: it was heard of at %v", d.Now(), g.id, s.Connectivity, s.LastSeen, is, last(g.arrived, 24))
		}
		if gone[g.id] != silent {
			d.Fatalf("at %s %s is silent: %v; alert: %v; it was heard of at %v", d.Now(), g.id, silent, gone[g.id], last(g.arrived, 3))
		}
	}
	if maps.DeleteFunc(board.ByConnectivity, func(_ string, n int) bool { return n == 0 }); !maps.Equal(board.ByConnectivity, want) {
		d.Fatalf("at %s the board counts %v, want %v", d.Now(), board.ByConnectivity, want)
	}
	if d.silent != (board.Silence != nil) || d.silent != gone[alerts.FleetDevice("plant")] {
		d.Fatalf("at %s the fleet is silent: %v; the board says %+v, alert %v", d.Now(), d.silent, board.Silence, gone[alerts.FleetDevice("plant")])
	}
}

func last[T any](all []T, n int) []T { return all[max(len(all)-n, 0):] }

// presence determines from the arrivals whether a device is online, and whether it has been silent
// for an hour.
func (d *days) presence(g *gadget) (connectivity string, silent bool) {
	if len(g.arrived) == 0 {
		return "never", false
	}
	recent := last(g.arrived, 24)
	var pauses []time.Duration
	for i := 1; i < len(recent); i++ {
		pauses = append(pauses, recent[i].Sub(recent[i-1]))
	}
	slices.Sort(pauses)
	usual := g.paced
	if usual == 0 {
		usual = 15 * time.Minute
	}
	if len(pauses) >= 2 { // four of five are no longer
		usual = max(pauses[int(float64(len(pauses))*0.8+0.999)-1], g.paced)
	}
	since := d.Now().Sub(recent[len(recent)-1])
	silent = since >= time.Hour
	if since < max(3*usual, 90*time.Second) {
		g.called = time.Time{}
		return "online", silent
	}
	if g.called.IsZero() {
		g.called = d.Now()
	}
	return "offline", silent
}

// fleetSilent reports whether most of the devices that were online went silent at one time, within
// a day.
func (d *days) fleetSilent(online int) bool {
	recently := func(g *gadget) bool { return !g.called.IsZero() && d.Now().Sub(g.called) < 24*time.Hour }
	for _, at := range d.gadgets {
		n := 0
		for _, g := range d.gadgets {
			if recently(at) && recently(g) {
				then, heard := at.arrived[len(at.arrived)-1], g.arrived[len(g.arrived)-1]
				if !heard.After(then) && !then.After(g.called) {
					n++
				}
			}
		}
		if n >= 3 && n >= online {
			return true
		}
	}
	return false
}
