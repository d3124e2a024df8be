package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onefold/onefold/internal/recorded"
)

// isRecorded is the condition of scripts that need recorded readings, such as [recorded:machine_temperature.csv.gz].
func isRecorded(condition string) (bool, error) {
	name, ok := strings.CutPrefix(condition, "recorded:")
	if !ok {
		return false, fmt.Errorf("no condition is called %q", condition)
	}
	return recorded.Has(name), nil
}

// rememberAlert sets ALERT to the id of the alert that the command before printed as JSON.
func rememberAlert(ts *testscript.TestScript, neg bool, args []string) {
	found := regexp.MustCompile(`"id": "([^"]+)"`).FindStringSubmatch(ts.ReadFile("stdout"))
	if neg || len(args) > 0 || found == nil {
		ts.Fatalf("usage: alert, after a command that prints one as JSON")
	}
	ts.Setenv("ALERT", found[1])
}

// All of a real machine's readings are kept, those of its 12 repeated times, too, and an import again changes nothing.
func TestImportOfMachineTemperature(t *testing.T) {
	path := recorded.Path(t, recorded.MachineTemperature)
	t.Setenv("ONEFOLD_DATA_DIR", filepath.Join(t.TempDir(), "data"))
	onefold(t, "fleet", "create", "plant", "--timezone", "Europe/Berlin")
	again := func() (said, days string) {
		said = onefold(t, "import", "telemetry", path, "--device", "machine", "--fleet", "plant", "--time-zone", "UTC", "--metric", "value=temperature")
		days = onefold(t, "readings", "machine", "--resolution", "daily", "--from", "2013-12-01", "--to", "2014-03-01", "--csv")
		said, _, _ = strings.Cut(said, "\n")
		return said, days
	}
	said, days := again()
	if want := "22,695 readings: 22,695 imported."; said != want {
		t.Errorf("the first import says %q, want %q", said, want)
	}
	said, same := again()
	if want := "22,695 readings: 0 imported, 22,695 already there."; said != want {
		t.Errorf("the second import says %q, want %q", said, want)
	}
	if same != days {
		t.Errorf("the second import changed days:\n%s\nwas\n%s", same, days)
	}
	if n := strings.Count(days, "\n"); n != 81 {
		t.Errorf("%d days, want 80 and a header", n)
	}
	raw := onefold(t, "readings", "machine", "--resolution", "raw", "--max-points", "10000", "--from", "2014-01-07T02:00:00Z", "--to", "2014-01-07T03:00:00Z", "--csv")
	if n := strings.Count(raw, "\n"); n != 1+2*12 {
		t.Errorf("the hour that was recorded twice has %d readings, want 24:\n%s", n-1, raw)
	}
}
