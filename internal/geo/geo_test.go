package geo_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/onefold/onefold/internal/geo"
	"github.com/onefold/onefold/internal/geo/geotest"
)

func TestLookup(t *testing.T) {
	berlin := geo.Place{Country: "DE", Region: "State of Berlin", City: "Berlin"}
	lima := geo.Place{Country: "PE", Region: "Lima Province", City: "Lima"}
	db, err := geo.Open(geotest.Write(t, map[string]geo.Place{"192.0.2.0/24": berlin, "198.51.100.128/25": lima}))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for address, want := range map[string]geo.Place{
		"192.0.2.1": berlin, "192.0.2.255": berlin, "192.0.3.0": {}, "198.51.100.200": lima, "198.51.100.1": {},
		"::ffff:192.0.2.9": berlin, "2001:db8::1": {}, "fe80::1%eth0": {},
	} {
		if got, err := db.Lookup(netip.MustParseAddr(address)); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", address, got, err, want)
		}
	}
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("places"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{text, filepath.Join(t.TempDir(), "none")} {
		if _, err := geo.Open(file); !errors.Is(err, geo.ErrDatabase) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
