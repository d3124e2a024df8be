package telemetry

import (
	"strings"
	"testing"
)

func TestFleetsOfOwners(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	for id, owner := range map[string]string{"a": "", "c": "other", "d": "", "e": "other"} {
		_, err := CreateFleet(w.Ctx, w.Table, NewFleet{ID: id, OwnerID: owner})
		w.Must(err)
	}
	_, err := UpdateFleet(w.Ctx, w.Table, "d", func(f *Fleet) error { f.OwnerID = "third"; return nil })
	w.Must(err)
	w.Must(DeleteFleet(w.Ctx, w.Table, "e"))
	for owner, want := range map[string]string{"": "a plant c d", DefaultOwner: "a plant", "other": "c", "third": "d", "nobody": ""} {
		var ids []string
		for f, err := range ListFleets(w.Ctx, w.Table, owner) {
			w.Must(err)
			ids = append(ids, f.FleetID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("fleets of %q: %s, want %s", owner, got, want)
		}
	}
	var every []string
	for f, err := range EveryFleet(w.Ctx, w.Table, "") {
		w.Must(err)
		every = append(every, f.FleetID)
	}
	if got, want := strings.Join(every, " "), "a plant c e d"; got != want {
		t.Errorf("with deleted fleets: %s, want %s", got, want)
	}
}
