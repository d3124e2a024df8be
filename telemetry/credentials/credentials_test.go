package credentials_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/credentials"
)

// world has two devices of the fleet plant: d1, which is in service, and new, which is not yet. It
// has another fleet, customer.
type world struct {
	*foldtest.World
	collector *telemetry.Collector
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: foldtest.NewWorld(t, foldtest.Setup{
		Schema: telemetry.Schema, Group: telemetry.FoldGroup, At: time.Date(2026, 4, 20, 14, 0, 0, 0, time.UTC), Engine: engine.Options{StreamShards: 1},
		Folds: func(*table.Table) []*fold.Fold { return telemetry.Folds(telemetry.Config{}) },
	})}
	w.collector = telemetry.NewCollector(w.Table, telemetry.CollectorOptions{})
	for _, id := range []string{"plant", "customer"} {
		_, err := telemetry.CreateFleet(w.Ctx, w.Table, telemetry.NewFleet{ID: id})
		w.Must(err)
	}
	for id, status := range map[string]telemetry.DeviceStatus{"d1": telemetry.Active, "new": telemetry.Provisioned} {
		_, err := telemetry.CreateDevice(w.Ctx, w.Table, telemetry.NewDevice{ID: id, FleetID: "plant", Status: status})
		w.Must(err)
	}
	return w
}

// Tokens are valid during a rotation. Others never were, or no longer are.
func TestTokens(t *testing.T) {
	w := newWorld(t)
	works := func(token string) bool {
		w.collector.Forget("d1")
		d, err := w.collector.Authenticate(w.Ctx, token)
		if err != nil && !errors.Is(err, telemetry.ErrToken) {
			t.Fatal(err)
		}
		return err == nil && d.DeviceID == "d1"
	}
	next := func() string {
		token, err := credentials.NewToken(w.Ctx, w.Table, "d1")
		w.Must(err)
		return token
	}
	first := next()
	if stored, err := telemetry.Devices.Get(w.Ctx, w.Table, telemetry.DeviceKey{DeviceID: "d1"}); err != nil || strings.Contains(fmt.Sprintf("%s", stored.Tokens), first[3:]) {
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
	w.Advance(7*24*time.Hour + time.Second)
	if works(second) || !works(third) {
		t.Error("the last one must be valid")
	}
	for _, bad := range []string{"", ".", "d1.", "d1", "d2" + third[2:], third + "x", third[:len(third)-1], strings.Repeat("a", 9999), "a#b.c", "d1." + strings.Repeat("A", 43)} {
		if works(bad) {
			t.Errorf("%q works", bad)
		}
	}
	w.Must(credentials.RevokeTokens(w.Ctx, w.Table, "d1", true))
	if works(third) {
		t.Error("it was revoked")
	}
}

func TestClaims(t *testing.T) {
	w := newWorld(t)
	if _, err := credentials.NewClaim(w.Ctx, w.Table, "d1"); !errors.Is(err, telemetry.ErrTransition) {
		t.Errorf("a device in service: %v", err)
	}
	code, err := credentials.NewClaim(w.Ctx, w.Table, "new")
	w.Must(err)
	for _, wrong := range []string{"", "0000", code[:19]} {
		if _, _, err := credentials.Claim(w.Ctx, w.Table, wrong, "customer"); !errors.Is(err, credentials.ErrClaim) {
			t.Errorf("code %q: %v", wrong, err)
		}
	}
	typed := strings.ToLower(code[:5] + "-" + code[5:10] + " " + code[10:])
	d, token, err := credentials.Claim(w.Ctx, w.Table, typed, "customer")
	w.Must(err)
	if d.FleetID != "customer" || d.Status != telemetry.Active || d.ProfileID != "" {
		t.Errorf("claimed %+v", d)
	}
	if _, err := w.collector.Authenticate(w.Ctx, token); err != nil {
		t.Error(err)
	}
	if _, _, err := credentials.Claim(w.Ctx, w.Table, code, "plant"); !errors.Is(err, credentials.ErrClaim) {
		t.Errorf("again: %v", err)
	}
}
