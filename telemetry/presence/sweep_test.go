package presence_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/presence"
	"github.com/onefold/onefold/telemetry/readings"
)

// A device that was heard of only once is expected as often as its profile says, or within a
// quarter of an hour if the profile does not say.
func TestConnectivityByProfile(t *testing.T) {
	w := newWorld(t)
	for id, every := range map[string]int{"often": 60, "daily": 24 * 3600, "unsaid": 0} {
		_, err := telemetry.PutProfile(w.Ctx, w.Table, telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: id}, FleetID: "plant", Every: every})
		w.Must(err)
		_, err = telemetry.CreateDevice(w.Ctx, w.Table, telemetry.NewDevice{ID: id, FleetID: "plant", ProfileID: id})
		w.Must(err)
		w.beat(id)
	}
	offline := func() (ids string) {
		for _, s := range w.sweep().Offline {
			ids += s.DeviceID + " "
		}
		return ids
	}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{2 * time.Minute, ""}, {2 * time.Minute, "often "}, {40 * time.Minute, ""}, {2 * time.Minute, "unsaid "}, {70 * time.Hour, ""}, {2 * time.Hour, "daily "}} {
		w.Advance(step.after)
		if got := offline(); got != step.want {
			t.Errorf("at %s offline are %q, want %q", w.Now(), got, step.want)
		}
	}
}

// A device goes offline when it misses three beats of its own rhythm, and online when it is heard
// of again. While it sends, its connectivity is not written.
func TestConnectivity(t *testing.T) {
	w := newWorld(t)
	rhythm := map[string]time.Duration{"fast": time.Minute, "slow": time.Hour, "d1": 10 * time.Minute}
	w.devices("plant", "fast", "slow", "d1")
	for i := range 600 {
		for id, every := range rhythm {
			if i%int(every/time.Minute) == 0 && (id != "fast" || i < 590) {
				w.beat(id)
			}
		}
		w.Advance(time.Minute)
	}
	if did := w.sweep(); len(did.Offline) != 1 || did.Offline[0].DeviceID != "fast" {
		t.Errorf("offline: %+v", did)
	}
	if s := w.status("slow"); s.Interval() != time.Hour || s.Connectivity != telemetry.Online || s.Values["up"].Value.String() != "true" {
		t.Errorf("slow is %+v", s)
	}
	if did := w.sweep(); len(did.Offline) != 0 {
		t.Errorf("again: %+v", did)
	}
	if counts := w.counts(); counts["online"] != 2 || counts["offline"] != 1 {
		t.Errorf("counts %v", counts)
	}
	offline, err := telemetry.StatusesByConnectivity.Collect(w.Ctx, w.Table, telemetry.ConnectivityIn{Connectivity: telemetry.Offline})
	w.Must(err)
	if len(offline) != 1 || offline[0].DeviceID != "fast" {
		t.Errorf("%d are listed as offline", len(offline))
	}
	w.beat("fast")
	w.Drain()
	if s := w.status("fast"); s.Connectivity != telemetry.Online {
		t.Errorf("fast is %s", s.Connectivity)
	}
}

// If most of a fleet falls silent at once, the fleet is silent, and each of its devices is offline.
func TestSilenceOfMany(t *testing.T) {
	w := newWorld(t)
	w.fleet("other")
	ids := []string{"d1"}
	for i := range 9 {
		ids = append(ids, fmt.Sprint("p", i))
	}
	w.devices("plant", ids...)
	w.devices("other", "o1")
	beat := func(ids ...string) {
		w.beat(ids...)
		w.Advance(time.Minute)
	}
	for range 10 {
		beat(append(ids, "o1")...)
	}
	heard := w.Now().Add(-time.Minute)
	for range 10 {
		beat("d1")
	}
	did := w.sweep()
	if len(did.Silent) != 1 || did.Silent[0].FleetID != "plant" || did.Silent[0].Devices != 9 || did.Silent[0].Of != 10 || !did.Silent[0].Since.Equal(heard) {
		t.Errorf("%+v", did.Silent)
	}
	if counts := w.counts(); len(did.Offline) != 10 || !w.silent() || counts["offline"] != 9 {
		t.Errorf("%d are offline, by the counts %v", len(did.Offline), counts)
	}
	for range 5 {
		beat(ids[:9]...)
	}
	if did := w.sweep(); len(did.Silent) != 0 || len(did.Offline) != 0 || w.silent() {
		t.Errorf("heard of again: %+v", did)
	}
	if s := w.status(ids[9]); s.Connectivity != telemetry.Offline {
		t.Errorf("the one that did not return is %s", s.Connectivity)
	}
}

// Readings of the past are no sign of life, whichever way they arrive. They do not make or keep a
// device online, and do not change its rhythm.
func TestPastReadingsKeepDevicesOffline(t *testing.T) {
	for name, in := range map[string]func(id string, n int, now time.Time) telemetry.Incoming{
		"imported": func(id string, n int, now time.Time) telemetry.Incoming {
			r := reading(id, now.Add(-time.Duration(n)*time.Second)) // up to now
			r.Imported = true
			return r
		},
		"late": func(id string, n int, now time.Time) telemetry.Incoming {
			return reading(id, now.Add(-time.Hour-time.Duration(1+n)*time.Second))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.devices("plant", "new", "m1", "m2", "m3", "was", "is")
			for range 10 {
				w.beat("was", "is")
				w.Advance(10 * time.Minute)
			}
			for n := range 90 { // a minute and a half
				for _, id := range []string{"new", "m1", "m2", "m3", "was"} {
					w.ingest(in(id, 500-n, w.Now()))
				}
				w.Advance(time.Second)
			}
			w.beat("is")
			for _, id := range []string{"is", "was"} {
				if s, err := telemetry.ReadStatus(w.Ctx, w.Table, id); err != nil || s.LastSeen > w.Now().UnixMilli() || s.LastSeen < start.UnixMilli() {
					t.Errorf("%s: %+v, %v", id, s, err)
				}
			}
			w.Drain()
			if s := w.status("new"); s.Connectivity != telemetry.Never || s.LastSeen != 0 || s.Interval() != 0 || len(s.Values) != 1 {
				t.Errorf("a device that was never heard of is %+v", s)
			}
			if s := w.status("was"); s.Interval() != 10*time.Minute {
				t.Errorf("the past taught a rhythm of %s", s.Interval())
			}
			w.Advance(25 * time.Minute)
			did := w.sweep()
			if counts := w.counts(); counts["online"] != 1 || counts["offline"] != 1 || len(counts) != 2 {
				t.Errorf("counts %v", counts)
			}
			if len(did.Offline) != 1 || did.Offline[0].DeviceID != "was" || len(did.Silent) != 0 {
				t.Errorf("the sweep found %+v", did)
			}
			w.beat("new")
			w.Drain()
			if s := w.status("new"); s.Connectivity != telemetry.Online {
				t.Errorf("heard of at last, it is %s", s.Connectivity)
			}
		})
	}
}

// Half of a fleet is turned off for a season. The fleet's silence ends after a day, and it hides
// neither that of these devices nor that of another one.
func TestSeason(t *testing.T) {
	w := newWorld(t)
	var off, on []string
	for i := range 4 {
		off, on = append(off, fmt.Sprint("off", i)), append(on, fmt.Sprint("on", i))
	}
	w.devices("plant", append(off, on...)...)
	hours := func(n int, ids ...string) (silent bool) {
		for range n * 6 {
			w.beat(ids...)
			w.Advance(10 * time.Minute)
			w.sweep()
		}
		return w.silent()
	}
	if hours(5, append(off, on...)...) {
		t.Fatal("all send, and the fleet is silent")
	}
	if !hours(2, on...) {
		t.Error("half of the fleet fell silent at once, and nobody says so")
	}
	if counts := w.counts(); counts["offline"] != 4 || counts["online"] != 4 {
		t.Errorf("counts %v", counts)
	}
	if !hours(21, on...) {
		t.Error("the silence ended too early")
	}
	if hours(2, on...) {
		t.Error("after a day the fleet is silent still")
	}
	if hours(3, on[1:]...) {
		t.Error("one of the others fell silent, and the fleet is called silent")
	}
	if s := w.status(on[0]); s.Connectivity != telemetry.Offline {
		t.Errorf("the one is %s", s.Connectivity)
	}
	if !hours(2, on[0], off[0]) {
		t.Error("three of five fell silent at once, and nobody says so")
	}
	if hours(2, append(off, on...)...) {
		t.Error("all are back")
	}
	if counts := w.counts(); counts["online"] != 8 || len(counts) != 1 {
		t.Errorf("counts %v", counts)
	}
}

// Devices that fall silent one after the other do not make the fleet silent, however many they are
// in the end.
func TestGradualSilenceIsNotFleetSilence(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for i := range 8 {
		ids = append(ids, fmt.Sprint("d", i))
	}
	w.devices("plant", ids...)
	for n := range ids {
		for range 90 {
			w.beat(ids[n:]...)
			w.Advance(time.Minute)
			if did := w.sweep(); len(did.Silent) != 0 {
				t.Fatalf("after %d devices: %+v", n, did)
			}
		}
	}
	if counts := w.counts(); counts["offline"] != 7 {
		t.Errorf("counts %v", counts)
	}
}

// While no server is listening, no device can be heard. After hours away, a server gives its
// devices their time again.
func TestListening(t *testing.T) {
	w := newWorld(t)
	w.devices("plant", "d1", "d2", "d3", "dead")
	var server presence.Listening
	round := func() presence.Swept { return w.sweepSince(server.Since(w.Now())) }
	for range 30 {
		w.beat("d1", "d2", "d3", "dead")
		w.Advance(time.Minute)
		round()
	}
	w.Advance(5 * time.Hour) // a jump of the clock, or a pause of the process
	if did := round(); len(did.Offline) != 0 || len(did.Silent) != 0 {
		t.Errorf("back after hours away: %+v", did)
	}
	var dead int
	for range 10 {
		w.beat("d1", "d2", "d3")
		w.Advance(time.Minute)
		did := round()
		dead += len(did.Offline)
		if len(did.Silent) != 0 {
			t.Errorf("%+v", did)
		}
	}
	if s := w.status("dead"); dead != 1 || s.Connectivity != telemetry.Offline {
		t.Errorf("%d were called offline, and the one that does not send is %s", dead, s.Connectivity)
	}
	w.Advance(5 * time.Hour)
	var restarted presence.Listening
	if did := w.sweepSince(restarted.Since(w.Now())); len(did.Offline) != 0 {
		t.Errorf("after a restart: %+v", did)
	}
}

// If a server's clock was ahead for a while, no device stays online for that long, and no device
// that sends is offline.
func TestClockAhead(t *testing.T) {
	w := newWorld(t)
	w.devices("plant", "dies", "lives", "returns")
	minutes := func(n int, ids ...string) {
		for range n {
			w.beat(ids...)
			w.Advance(time.Minute)
			w.sweep()
		}
	}
	minutes(20, "dies", "lives", "returns")
	right := w.Now()
	w.Advance(48 * time.Hour)
	minutes(10, "dies", "lives", "returns")
	minutes(10, "dies", "lives")
	w.Set(right.Add(20 * time.Minute))
	minutes(10, "lives", "returns")
	for id, want := range map[string]telemetry.Connectivity{"dies": telemetry.Offline, "lives": telemetry.Online, "returns": telemetry.Online} {
		if s := w.status(id); s.Connectivity != want || s.LastSeen > w.Now().UnixMilli() {
			t.Errorf("%s is %s, heard of at %s", id, s.Connectivity, time.UnixMilli(s.LastSeen))
		}
	}
}

// While statuses lag behind readings, as with a fold delay or a stopped worker, a device that sends
// is online, whether its readings are in blocks or in segments. One that stops is offline, and stays
// so when its status catches up.
func TestStatusesLagBehind(t *testing.T) {
	w := newWorld(t)
	w.devices("plant", "d1", "d2", "d3", "dies")
	minutes := func(n int, ids ...string) (did presence.Swept) {
		for range n {
			w.beat(ids...)
			w.Advance(time.Minute)
			round, err := presence.Sweep(w.Ctx, w.Table, time.Time{})
			w.Must(err)
			did.Offline, did.Silent = append(did.Offline, round.Offline...), append(did.Silent, round.Silent...)
		}
		return did
	}
	minutes(10, "d1", "d2", "d3", "dies")
	w.Drain()
	for _, move := range []bool{false, true} {
		if did := minutes(15, "d1", "d2", "d3", "dies"); len(did.Offline) != 0 || len(did.Silent) != 0 {
			t.Errorf("moved %t: devices that send are offline: %+v", move, did)
		}
		made := func(context.Context, []string) (map[string]int64, error) {
			return map[string]int64{"d1": start.Unix(), "d2": start.Unix(), "d3": start.Unix(), "dies": start.Unix()}, nil
		}
		moved, err := readings.Move(w.Ctx, w.Table, "plant", readings.MoveOptions{All: true, Made: made})
		w.Must(err)
		if moved.Segments == 0 {
			t.Errorf("nothing was moved: %+v", moved)
		}
	}
	last := w.Now().Add(-time.Minute).UnixMilli()
	did := minutes(10, "d1", "d2", "d3")
	if len(did.Offline) != 1 || did.Offline[0].DeviceID != "dies" || did.Offline[0].LastSeen != last {
		t.Errorf("offline are %+v, want the one that stopped at %d", did.Offline, last)
	}
	w.Drain()
	if s := w.status("dies"); s.Connectivity != telemetry.Offline || s.LastSeen != last {
		t.Errorf("after catching up, the device that stopped is %+v", s)
	}
	w.beat("dies")
	w.Drain()
	if s := w.status("dies"); s.Connectivity != telemetry.Online {
		t.Errorf("heard again, it is %s", s.Connectivity)
	}
}
