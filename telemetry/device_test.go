package telemetry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// Devices are listed by every property, in their fleet only, page after page, and lists follow changes.
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

// Two tokens are valid while they are rotated; others never were, or are no longer.
func TestTokens(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	works := func(token string) bool {
		w.c.Forget("d1")
		d, err := w.c.Authenticate(w.Ctx, token)
		if err != nil && !errors.Is(err, ErrToken) {
			t.Fatal(err)
		}
		return err == nil && d.DeviceID == "d1"
	}
	next := func() string {
		token, err := NewToken(w.Ctx, w.Table, "d1")
		w.Must(err)
		return token
	}
	first := next()
	if stored, err := Devices.Get(w.Ctx, w.Table, DeviceKey{"d1"}); err != nil || strings.Contains(fmt.Sprintf("%s", stored.Tokens), first[3:]) {
		t.Errorf("the token is stored as it is (%v)", err)
	}
	second := next()
	if !works(first) || !works(second) {
		t.Error("both must be valid")
	}
	third := next()
	if works(first) || !works(second) || !works(third) {
		t.Error("the last two must be valid")
	}
	w.Advance(rotationTime + time.Second)
	if works(second) || !works(third) {
		t.Error("the last one must be valid")
	}
	for _, bad := range []string{"", ".", "d1.", "d1", "d2" + third[2:], third + "x", third[:len(third)-1], strings.Repeat("a", 9999), "a#b.c", "d1." + strings.Repeat("A", 43)} {
		if works(bad) {
			t.Errorf("%q works", bad)
		}
	}
	w.Must(RevokeTokens(w.Ctx, w.Table, "d1", true))
	if works(third) {
		t.Error("it was revoked")
	}
}

func TestClaims(t *testing.T) {
	w := newWorld(t, "UTC", utc("2026-04-20T14:00"))
	_, err := CreateFleet(w.Ctx, w.Table, NewFleet{ID: "customer"})
	w.Must(err)
	w.device("new", func(n *NewDevice) { n.Status = Provisioned })
	if _, err := NewClaim(w.Ctx, w.Table, "d1"); !errors.Is(err, ErrTransition) {
		t.Errorf("a device in service: %v", err)
	}
	code, err := NewClaim(w.Ctx, w.Table, "new")
	w.Must(err)
	for _, wrong := range []string{"", "0000", code[:19]} {
		if _, _, err := ClaimDevice(w.Ctx, w.Table, wrong, "customer"); !errors.Is(err, ErrClaim) {
			t.Errorf("code %q: %v", wrong, err)
		}
	}
	typed := strings.ToLower(code[:5] + "-" + code[5:10] + " " + code[10:])
	d, token, err := ClaimDevice(w.Ctx, w.Table, typed, "customer")
	w.Must(err)
	if d.FleetID != "customer" || d.Status != Active || d.ProfileID != "" {
		t.Errorf("claimed %+v", d)
	}
	if _, err := w.c.Authenticate(w.Ctx, token); err != nil {
		t.Error(err)
	}
	if _, _, err := ClaimDevice(w.Ctx, w.Table, code, "plant"); !errors.Is(err, ErrClaim) {
		t.Errorf("again: %v", err)
	}
}
