package logimport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/tail"
)

// memory is an Ingester that remembers IDs.
type memory struct {
	ids  map[string]int
	fail error
}

func (m *memory) Ingest(_ context.Context, _ string, hits []analytics.Hit) ([]analytics.Outcome, error) {
	if m.fail != nil {
		return nil, m.fail
	}
	outcomes := make([]analytics.Outcome, len(hits))
	for i := range hits {
		id := hits[i].EventID
		outcomes[i] = analytics.Outcome{EventID: id, Status: analytics.Stored}
		if m.ids[id]++; m.ids[id] > 1 {
			outcomes[i].Status = analytics.Duplicate
		}
	}
	return outcomes, nil
}

type noBar struct{}

func (noBar) Start(string, int64, func() int64) {}
func (noBar) Lines(int64)                       {}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newImporter(t *testing.T, ingester Ingester, o Options) *Importer {
	t.Helper()
	o.Site = "s"
	im, err := New(ingester, noBar{}, o)
	must(t, err)
	return im
}

const request = `192.0.2.%d - - [12/May/2026:10:00:00 +0000] "GET /%s HTTP/1.1" 200 512 "-" "Mozilla/5.0 (X11; Linux x86_64; rv:138.0) Gecko/20100101 Firefox/138.0"` + "\n"

var errStop = errors.New("the test has nothing more to do")

// following follows a log while things happen to it, and stops.
func following(t *testing.T, im *Importer, path, position string, things ...func()) error {
	t.Helper()
	wait := func(context.Context) error {
		if len(things) == 0 {
			return errStop
		}
		things[0]()
		things = things[1:]
		return nil
	}
	return im.Follow(t.Context(), Following{
		File: tail.Options{Path: path, Wait: wait}, Positions: &Positions{Path: position}, Logger: slog.New(slog.DiscardHandler),
	})
}

// Following a log across restarts and a rotation yields the same event IDs as importing its files,
// even for the same request three times in a second with a restart in between.
func TestFollowedIsImported(t *testing.T) {
	dir := t.TempDir()
	path, position := filepath.Join(dir, "access.log"), filepath.Join(dir, "kept", "position.json")
	add := func(lines ...string) func() {
		return func() {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			must(t, err)
			_, err = f.WriteString(strings.Join(lines, ""))
			must(t, errors.Join(err, f.Close()))
		}
	}
	nothing := func() {}
	same, other := fmt.Sprintf(request, 1, ""), fmt.Sprintf(request, 2, "b")
	followed := &memory{ids: map[string]int{}}
	run := func(want int64, things ...func()) {
		t.Helper()
		im := newImporter(t, followed, Options{})
		if err := following(t, im, path, position, things...); !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		if im.Summary.Imported != want || im.Summary.Duplicates != 0 {
			t.Errorf("%+v, want %d imported", im.Summary, want)
		}
	}
	run(3, add(same, other, same, other[:20]), nothing)
	run(2, add(other[20:], same), nothing)
	run(0, nothing)
	run(2, func() { must(t, os.Rename(path, path+".1")) }, add(fmt.Sprintf(request, 3, "c")), nothing, nothing, add(fmt.Sprintf(request, 4, "d")), nothing)

	imported := &memory{ids: map[string]int{}}
	im := newImporter(t, imported, Options{})
	must(t, im.File(t.Context(), path+".1", nil))
	must(t, im.File(t.Context(), path, nil))
	if !maps.Equal(followed.ids, imported.ids) || len(imported.ids) != 7 {
		t.Errorf("followed %v\nimported %v", slices.Sorted(maps.Keys(followed.ids)), slices.Sorted(maps.Keys(imported.ids)))
	}
}

// Lines that were not stored are read again.
func TestFollowKeepsNoPositionOfWhatWasNotTaken(t *testing.T) {
	dir := t.TempDir()
	path, position := filepath.Join(dir, "access.log"), filepath.Join(dir, "position.json")
	must(t, os.WriteFile(path, []byte(fmt.Sprintf(request, 1, "")), 0o600))
	ingester := &memory{ids: map[string]int{}, fail: errors.New("the disk is full")}
	if err := following(t, newImporter(t, ingester, Options{}), path, position); !errors.Is(err, ingester.fail) {
		t.Fatal(err)
	}
	ingester.fail = nil
	if err := following(t, newImporter(t, ingester, Options{}), path, position); !errors.Is(err, errStop) || len(ingester.ids) != 1 {
		t.Errorf("%v, %v", err, ingester.ids)
	}
	must(t, os.WriteFile(position, []byte("{"), 0o600))
	if err := following(t, newImporter(t, ingester, Options{}), path, position); err == nil || !strings.Contains(err.Error(), "bad_position") {
		t.Errorf("a broken position: %v", err)
	}
	must(t, os.Remove(position))
	must(t, os.WriteFile(path, []byte("2Path,Event,Session,Bot,Date\n"), 0o600))
	if err := following(t, newImporter(t, ingester, Options{Format: "goatcounter"}), path, position); err == nil || !strings.Contains(err.Error(), "not_followable") {
		t.Errorf("an export is followed: %v", err)
	}
	if err := following(t, newImporter(t, ingester, Options{}), path, position); !errors.Is(err, ErrUnknownFormat) {
		t.Errorf("no log is followed: %v", err)
	}
}

// Cancelling Follow is not an error.
func TestFollowStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	im := newImporter(t, &memory{ids: map[string]int{}}, Options{})
	err := im.Follow(ctx, Following{
		File:      tail.Options{Path: filepath.Join(dir, "none.log"), Wait: func(ctx context.Context) error { cancel(); return ctx.Err() }},
		Positions: &Positions{Path: filepath.Join(dir, "position.json")}, Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
}
