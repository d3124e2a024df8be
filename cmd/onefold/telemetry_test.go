package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/internal/recorded"
)

// isRecorded is the condition of scripts that need recorded readings, such as
// [recorded:machine_temperature.csv.gz].
func isRecorded(condition string) (bool, error) {
	name, ok := strings.CutPrefix(condition, "recorded:")
	if !ok {
		return false, fmt.Errorf("no condition is called %q", condition)
	}
	return recorded.Has(name), nil
}

// rememberAlert sets ALERT to the ID of the alert that the previous command printed as JSON.
func rememberAlert(ts *testscript.TestScript, neg bool, args []string) {
	found := regexp.MustCompile(`"id": "([^"]+)"`).FindStringSubmatch(ts.ReadFile("stdout"))
	if neg || len(args) > 0 || found == nil {
		ts.Fatalf("usage: alert, after a command that prints one as JSON")
	}
	ts.Setenv("ALERT", found[1])
}

// All readings of a real machine are kept, including those of its 12 repeated times, and importing
// them again changes nothing.
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
	if want := "22,695 readings: 0 imported, 22,695 already stored."; said != want {
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

// An import through a server stores the same readings as an import into the table, each once.
func TestImportOfReadingsThroughAServer(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	dir := t.TempDir()
	file, rows := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.csv")
	onefold(t, "simulate", "telemetry", file, "--length", "6h", "--perturb", "0.2", "--faults", "twice,hour,unit,1970")
	if err := os.WriteFile(rows, []byte("device,time,temperature\nr,2026-01-01 10:00:00,1.5\nr,2026-01-01 10:00:00,1.5\nr,2026-01-01 11:00:00,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	for _, data := range []string{here, there} {
		onefold(t, "--data", data, "fleet", "create", "plant", "--timezone", "Europe/Berlin")
	}
	onefold(t, "--data", here, "import", "telemetry", file, rows, "--fleet", "plant")
	key := fromJSON[struct{ Token string }](t, onefold(t, "--data", there, "key", "create", "--site", "fleet:plant", "--scope", "write", "--json")).Token
	s := serve(t, there)
	type told struct{ Lines, Imported, Duplicates, Rejected, DevicesMade int64 }
	send := func(more ...string) told {
		return fromJSON[told](t, onefold(t, append([]string{"import", "telemetry", file, rows, "--fleet", "plant", "--server", s.url, "--key", key, "--json"}, more...)...))
	}
	rehearsed, first, second := send("--dry-run"), send(), send()
	if rehearsed != first || first.DevicesMade != 4 || first.Duplicates == 0 || first.Rejected == 0 || second.Imported != 0 || second.DevicesMade != 0 || second.Rejected != first.Rejected {
		t.Errorf("rehearsed %+v\nfirst %+v\nsecond %+v", rehearsed, first, second)
	}
	for _, bad := range [][]string{{"no_key", "--key", ""}, {"unauthorized", "--key", "ofk_no"}, {"forbidden", "--key", key, "--fleet", "none"}, {"bad_server", "--key", key, "--server", "x"}} {
		args := append([]string{"import", "telemetry", file, "--fleet", "plant", "--server", s.url}, bad[1:]...)
		var errs bytes.Buffer
		if code := run(t.Context(), args, streams{in: strings.NewReader(""), out: io.Discard, err: &errs}); code == 0 || !regexp.MustCompile(bad[0]).MatchString(errs.String()) {
			t.Errorf("%v: %d %s, want %s", bad[1:], code, errs.String(), bad[0])
		}
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for _, device := range []string{"coldroom-1", "meter-1", "r"} {
		metric := map[string]string{"meter-1": "power"}[device]
		show := func(data string) string {
			return onefold(t, "--data", data, "readings", device, "--metric", cmp.Or(metric, "temperature"), "--from", "2026-01-01", "--to", "2026-01-02", "--csv", "--resolution", "hourly")
		}
		mustBeTheSame(t, device, show(there), show(here))
	}
}

// Readings of simulated devices on a server have the outcomes that their faults imply.
func TestSimulatedDevicesSendToAServer(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	onefold(t, "--data", data, "fleet", "create", "plant")
	key := fromJSON[struct{ Token string }](t, onefold(t, "--data", data, "key", "create", "--site", "fleet:plant", "--scope", "write", "--json")).Token
	s := serve(t, data)
	args := []string{"simulate", "telemetry", "--server", s.url, "--key", key, "--length", "6h", "--perturb", "0.1", "--json"}
	var errs bytes.Buffer
	if code := run(t.Context(), args, streams{in: strings.NewReader(""), out: io.Discard, err: &errs}); code == 0 || !strings.Contains(errs.String(), "no_such_device") {
		t.Errorf("without devices: %d %s", code, errs.String())
	}
	type told struct {
		Messages, Devices int64
		Fates, Outcomes   map[string]int64
	}
	got := fromJSON[told](t, onefold(t, append(args, "--fleet", "plant")...))
	o, f := got.Outcomes, got.Fates
	if got.Devices != 3 || f["counts"] < 500 || o["stored"]+o["late"] != f["counts"] || o["duplicate"] != f["repeats"] || o["rejected"] != f["refused"] || f["refused"] == 0 {
		t.Errorf("%+v", got)
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}
