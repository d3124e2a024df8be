package geo_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onefold/onefold/internal/geo"
	"github.com/onefold/onefold/internal/geo/geotest"
)

var someone = netip.MustParseAddr("203.0.113.7")

// database writes a database in which an address is in a city.
func database(t *testing.T, city string) string {
	t.Helper()
	return geotest.Write(t, map[string]geo.Place{"203.0.113.0/24": {Country: "DE", City: city}})
}

// run runs a database until it fails, or until d has passed.
func run(l *geo.Live, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return l.Run(ctx)
}

// TestALiveDatabase tests a file that appears after the start, is replaced, damaged, removed and
// created again.
func TestALiveDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "places.mmdb")
		l := geo.NewLive(file)
		defer l.Close()
		step := func(what, city string, fails bool) {
			t.Helper()
			err := run(l, 90*time.Second)
			if fails != (err != nil) || fails && !errors.Is(err, geo.ErrDatabase) {
				t.Errorf("%s: %v", what, err)
			}
			if p := l.Lookup(someone); p.City != city {
				t.Errorf("%s: somebody of %q is in %q", what, city, p.City)
			}
		}
		put := func(from string) {
			t.Helper()
			if err := os.Rename(from, file); err != nil {
				t.Fatal(err)
			}
		}
		step("before there is one", "", true)
		put(database(t, "Berlin"))
		step("there is one", "Berlin", false)
		put(database(t, "Munich"))
		step("another", "Munich", false)
		no := filepath.Join(t.TempDir(), "no.mmdb")
		if err := os.WriteFile(no, []byte("no database"), 0o600); err != nil {
			t.Fatal(err)
		}
		put(no)
		step("no database", "Munich", true)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		step("none", "Munich", true)
		put(database(t, "Hamburg"))
		step("another again", "Hamburg", false)
		if err := l.Close(); err != nil || l.Lookup(someone) != (geo.Place{}) {
			t.Errorf("closed: %v, %v", err, l.Lookup(someone))
		}
	})
}

// TestACutOffDatabase truncates a file while it is in use, as overwriting does for a moment. Its
// locations are then unknown; accessing the missing part would crash the process.
func TestACutOffDatabase(t *testing.T) {
	places := map[string]geo.Place{}
	for i := range 200 {
		for j := range 20 {
			places[fmt.Sprintf("203.%d.%d.0/24", i, j)] = geo.Place{Country: "DE", City: fmt.Sprintf("City %d", i*j)}
		}
	}
	file := geotest.Write(t, places)
	l := geo.NewLive(file)
	defer l.Close()
	if err := l.Look(); err != nil {
		t.Fatal(err)
	}
	before := l.Lookup(someone)
	if before.City == "" {
		before = l.Lookup(netip.MustParseAddr("203.113.7.7"))
	}
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if p := l.Lookup(netip.AddrFrom4([4]byte{203, byte(i), 7, 7})); p != (geo.Place{}) {
			t.Fatalf("a place of a file of no bytes: %v", p)
		}
	}
	if err := run(l, time.Second); !errors.Is(err, geo.ErrDatabase) {
		t.Errorf("not told: %v", err)
	}
	if before.City == "" {
		t.Error("nothing was known before")
	}
}
