package telemetry

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/onefold/onefold/table"
)

func TestTransitions(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	w.device("d2", func(n *NewDevice) { n.Status = Provisioned })
	for _, c := range []struct {
		to DeviceStatus
		ok bool
	}{{Maintenance, false}, {Active, true}, {Provisioned, false}, {Inactive, true}, {Maintenance, true}, {Active, true}, {Active, true}, {"broken", false}, {Retired, true}, {Active, false}} {
		_, err := UpdateDevice(w.Ctx, w.Table, "d2", func(d *Device) error {
			d.Status = c.to
			return nil
		})
		if c.ok != (err == nil) || !c.ok && !errors.Is(err, ErrTransition) {
			t.Errorf("to %s: %v", c.to, err)
		}
	}
}

// Devices are listed by every property, only within their fleet and in pages, and the lists follow
// changes.
func TestLists(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	_, err := CreateFleet(w.Ctx, w.Table, NewFleet{ID: "other"})
	w.Must(err)
	var many []NewDevice
	for i := range 25 {
		many = append(many, NewDevice{ID: fmt.Sprintf("n%02d", i), FleetID: "plant", Type: []string{"sensor", "gateway"}[i%2], Firmware: "1.0", Tags: []string{"hall b", "new"}})
	}
	many = append(many, NewDevice{ID: "x1", FleetID: "other", Type: "sensor"}, NewDevice{ID: "x1", FleetID: "other"}, NewDevice{ID: "x2", FleetID: "nowhere"},
		NewDevice{ID: "x#3", FleetID: "other"}, NewDevice{ID: "x4", FleetID: "other", ProfileID: "meter"})
	_, errs := CreateDevices(w.Ctx, w.Table, many)
	for i, want := range []error{nil, table.ErrExists, table.ErrNotFound, ErrInvalid, table.ErrNotFound} {
		if err := errs[25+i]; !errors.Is(err, want) {
			t.Errorf("device %s: %v, want %v", many[25+i].ID, err, want)
		}
	}
	_, err = UpdateDevice(w.Ctx, w.Table, "n03", func(d *Device) error {
		d.Firmware, d.Status, d.Tags = "1.1", Inactive, []string{"new", " old ", "new"}
		return nil
	})
	w.Must(err)
	w.Drain()
	list := func(kind LabelKind, value string) (ids []string) {
		for cursor := ""; ; {
			page, err := ListDevices(w.Ctx, w.Table, LabelIn{"plant", kind, value}, cursor, 7)
			w.Must(err)
			for _, d := range page.Items {
				ids = append(ids, d.DeviceID)
			}
			if cursor = page.Next; cursor == "" {
				return ids
			}
		}
	}
	for _, c := range []struct {
		kind  LabelKind
		value string
		want  int
	}{{ByFleet, Any, 26}, {ByType, "gateway", 12}, {ByFirmware, "1.0", 24}, {ByFirmware, "1.1", 1}, {ByStatus, "inactive", 1}, {ByTag, "hall b", 24}, {ByTag, "new", 25}, {ByTag, "old", 1}, {ByProfile, "meter", 1}, {ByType, "none", 0}} {
		if ids := list(c.kind, c.value); len(ids) != c.want || !slices.IsSorted(ids) {
			t.Errorf("%s %s: %v", c.kind, c.value, ids)
		}
	}
	counts, err := CountsOfFleet.Get(w.Ctx, w.Table, FleetIn{"plant"})
	w.Must(err)
	if counts.ByStatus["active"] != 25 || counts.ByStatus["inactive"] != 1 {
		t.Errorf("counts %v", counts.ByStatus)
	}
	active, err := DevicesByStatus.Collect(w.Ctx, w.Table, StatusIn{Active})
	w.Must(err)
	if len(active) != 26 { // of both fleets
		t.Errorf("%d devices are active", len(active))
	}
}
