package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/onefold/onefold/cmd/internal/clitest"
	"github.com/onefold/onefold/eventstore/eventjson"
)

// caseFile writes a file of n events of some aggregates.
func caseFile(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("case,activity,at,n\n")
	for i := range n {
		fmt.Fprintf(&b, "c%d/x,step %d,2026-05-12 %02d:%02d:00,%d\n", i%17, i%5, i/60%24, i%60, i)
	}
	path := filepath.Join(t.TempDir(), "cases.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Commands have the same results through a server as in the directory, and each event is stored
// once.
func TestEventsThroughAServer(t *testing.T) {
	t.Parallel()
	clitest.NeedProcesses(t)
	path, here, there := caseFile(t, 1500), filepath.Join(t.TempDir(), "here"), filepath.Join(t.TempDir(), "there")
	columns := []string{"--aggregate", "case", "--aggregate-column", "case", "--type-column", "activity", "--time-column", "at", "--json"}
	type told struct{ Lines, Imported, Duplicates, Aggregates, Types int64 }
	want := told{1500, 1500, 0, 17, 5}
	if have := fromJSON[told](t, onefold(t, append([]string{"--data", here, "import", "events", path}, columns...)...)); have != want {
		t.Errorf("into the directory: %+v, want %+v", have, want)
	}
	key := fromJSON[struct{ Token string }](t, onefold(t, "--data", there, "key", "create", "--site", "events:main", "--scope", "write", "--json")).Token
	s := serve(t, there)
	remote := []string{"--server", s.url, "--key", key}
	for i, want := range []told{want, {1500, 0, 1500, 17, 5}} {
		if have := fromJSON[told](t, onefold(t, append(append([]string{"import", "events", path}, columns...), remote...)...)); have != want {
			t.Errorf("through the server, time %d: %+v, want %+v", i+1, have, want)
		}
	}
	both := func(args ...string) (direct, through string) {
		t.Helper()
		return onefold(t, append(args, "--data", here)...), onefold(t, append(args, remote...)...)
	}
	if direct, through := both("events", "state", "case/c3/x", "--since", "7"); direct != through || !strings.Contains(direct, "~ n:") {
		t.Errorf("difference: %q through the server, %q", through, direct)
	}
	direct, through := both("events", "read", "case/c3/x", "--from", "3", "--to", "80")
	if direct != through || strings.Count(direct, "\n") != 2*78 {
		t.Errorf("read: %.300s\nthrough the server: %.300s", direct, through)
	}
	if direct, through := both("events", "aggregates", "case", "--limit", "5"); strings.Count(direct, "c1") != strings.Count(through, "c1") || strings.Count(through, "\n") != 6 {
		t.Errorf("aggregates: %s\nthrough the server: %s", direct, through)
	}
	tailed := onefold(t, append([]string{"events", "tail", "case/c3/x", "--after", "80", "--count", "5", "--json"}, remote...)...)
	if first := fromJSON[eventjson.Event](t, strings.SplitN(tailed, "\n", 2)[0]); first.Seq != 81 || strings.Count(tailed, "\n") != 5 {
		t.Errorf("tail: %s", tailed)
	}
	for _, more := range [][]string{nil, {"--json"}} {
		if all := onefold(t, append(append([]string{"events", "tail", "--after", "0", "--count", "1500"}, remote...), more...)...); strings.Count(all, "c3/x") != 89 {
			t.Errorf("tail of all %v: %d of c3/x, want 89: %.300s", more, strings.Count(all, "c3/x"), all)
		}
	}
	onefold(t, append([]string{"events", "close", "case/c3/x", "--yes"}, remote...)...)
	for code, args := range map[string][]string{
		"stream_closed": {"append", "case/c3/x", "--type", "A"}, "version_conflict": {"append", "case/c4/x", "--type", "A", "--expect", "1"},
		"no_such_aggregate": {"read", "case/none"}, "bad_version": {"state", "case/c4/x", "--at", "5000"},
	} {
		var errs bytes.Buffer
		if exit := run(context.Background(), append(append([]string{"events"}, args...), remote...), streams{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &errs}); exit != exitFailed || !strings.Contains(errs.String(), code) {
			t.Errorf("%v: exit code %d, %s, want %s", args, exit, &errs, code)
		}
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if checked := onefold(t, "--data", there, "events", "fsck"); !strings.Contains(checked, "17 aggregates with 1,500 events checked: 0 wrong") {
		t.Errorf("fsck: %s", checked)
	}
}
