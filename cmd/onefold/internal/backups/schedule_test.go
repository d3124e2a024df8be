package backups_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/cmd/onefold/internal/backups"
	"github.com/onefold/onefold/engine"
)

// world is a schedule with a clock that the test advances.
type world struct {
	*backups.Schedule
	now  time.Time
	text string // contents of the next backup
	made int
}

// newWorld returns a schedule of one backup a day, of which three are kept.
func newWorld(p backups.Place) *world {
	w := &world{now: began, text: "backup"}
	w.Schedule = &backups.Schedule{Every: 24 * time.Hour, Keep: 3, Clock: func() time.Time { return w.now }}
	w.Place, w.Table = p, ours
	w.Write = func(_ context.Context, to io.Writer) error {
		w.made++
		_, err := io.WriteString(to, w.text)
		return err
	}
	return w
}

// until runs the schedule until its clock reaches end, and returns its error.
func (w *world) until(t *testing.T, end time.Time) error {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w.Sleep = func(ctx context.Context, d time.Duration) error {
		if d <= 0 {
			t.Errorf("it sleeps %s", d)
		}
		if w.now = w.now.Add(d); !w.now.Before(end) {
			stop()
		}
		return ctx.Err()
	}
	return w.Run(ctx)
}

func metric(t *testing.T, c prometheus.Collector, name string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func at(d time.Duration) backups.Name { return backups.Name{Time: began.Add(d), Table: ours} }

const day = 24 * time.Hour

// The first backup is made at once, later ones when they are due, across restarts too. The newest
// three are kept, and all files that are not of this schedule.
func TestSchedule(t *testing.T) {
	dir := t.TempDir()
	foreign := []string{"notes.txt", "onefold.tar.zst", "onefold-20200101T000000Z.tar.zst", backups.Name{Time: began.Add(-100 * day), Table: theirs}.String()}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for what, p := range map[string]backups.Place{"directory": place(t, dir), "bucket": bucket(t, nil)} {
		w := newWorld(p)
		if got := metric(t, w, "onefold_backup_last_success_timestamp_seconds"); got != 0 {
			t.Errorf("%s: a backup at %v before there is one", what, got)
		}
		for hours := range 10 * 24 / 7 { // a restart every seven hours
			again := newWorld(p)
			again.now, again.made = w.now, w.made
			if w = again; w.until(t, began.Add(time.Duration(7*(hours+1))*time.Hour)) != nil {
				t.Fatal("failed")
			}
		}
		if w.made != 10 {
			t.Errorf("%s: %d backups in ten days", what, w.made)
		}
		got := slices.DeleteFunc(names(t, p), func(name string) bool { return strings.Contains(name, theirs) })
		if want := []string{at(7 * day).String(), at(8 * day).String(), at(9 * day).String()}; !slices.Equal(got, want) {
			t.Errorf("%s: there are %v", what, got)
		}
		if got := metric(t, w, "onefold_backup_last_success_timestamp_seconds"); got != float64(began.Add(9*day).Unix()) {
			t.Errorf("%s: the last is told at %v", what, got)
		}
		if got, want := metric(t, w, "onefold_backup_last_bytes"), len(read(t, p, at(9*day))); got != float64(want) {
			t.Errorf("%s: the last is told to have %v bytes, it has %d", what, got, want)
		}
	}
	for _, name := range foreign {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != "mine" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// A failing schedule deletes nothing, leaves nothing behind, and retries after growing delays.
func TestScheduleFails(t *testing.T) {
	dir := t.TempDir()
	p := place(t, dir)
	for i := range 5 { // more than are kept
		put(t, p, at(time.Duration(i-10)*day), "old")
	}
	before := names(t, p)
	w := newWorld(p)
	broken, write := errors.New("broken"), w.Write
	w.Write = func(ctx context.Context, to io.Writer) error { return errors.Join(write(ctx, to), broken) }
	for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
		err := w.until(t, began.Add(day))
		var paused interface{ Pause() time.Duration }
		if !errors.Is(err, broken) || !errors.As(err, &paused) || paused.Pause() != want {
			t.Errorf("try %d: %v, paused %v", i, err, paused)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != len(before) || !slices.Equal(names(t, p), before) {
		t.Errorf("left %v, %v", left, err)
	}
	if got := metric(t, w, "onefold_backup_failures_total"); got != 8 {
		t.Errorf("%v failures are told", got)
	}
	w.Write = write
	if err := w.until(t, began.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if want := append(before[3:], at(0).String()); !slices.Equal(names(t, p), want) {
		t.Errorf("after it was mended there are %v", names(t, p))
	}
}

// Backups dated by a wrong clock neither stop the schedule nor cause the new backup to be deleted.
func TestClocks(t *testing.T) {
	p := place(t, t.TempDir())
	for i := range 4 {
		put(t, p, at(time.Duration(1000+i)*day), "ahead")
	}
	w := newWorld(p)
	if err := w.until(t, began.Add(day)); err != nil {
		t.Fatal(err)
	}
	if want := []string{at(0).String(), at(1002 * day).String(), at(1003 * day).String()}; !slices.Equal(names(t, p), want) {
		t.Errorf("there are %v", names(t, p))
	}
	w.now = began.Add(-6 * time.Hour) // set back
	if err := w.until(t, began.Add(day+time.Hour)); err != nil || w.made != 2 {
		t.Errorf("%d backups after the clock was set back, %v", w.made, err)
	}
}

// The disk reserve of the table is kept free. A backup that would use it is refused, or aborted,
// and leaves nothing behind.
func TestRoom(t *testing.T) {
	const mb = 1 << 20
	dir := t.TempDir()
	w := newWorld(place(t, dir))
	free := int64(100 * mb)
	w.Room = backups.Room{Shared: true, Space: func() engine.DiskSpace {
		return engine.DiskSpace{Known: true, Free: free, Total: 1000 * mb, Reserve: 90 * mb, Full: free < 90*mb}
	}}
	w.Write = func(_ context.Context, to io.Writer) error { // incompressible, and fills the disk
		w.made++
		for i := range 20 {
			if _, err := to.Write(random(mb, i)); err != nil {
				return err
			}
			free -= mb
		}
		return nil
	}
	refused := func(made int) {
		t.Helper()
		if err := w.until(t, began.Add(day)); !errors.Is(err, backups.ErrFull) || w.made != made {
			t.Errorf("%d tries: %v", w.made, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
	refused(1)
	free = 100 * mb
	refused(1) // it still would not fit
	w.Room.Shared, free = false, 89*mb
	refused(1) // the table's disk is full, so no backup runs, wherever it goes
	w.Room.Shared, free = true, 200*mb
	if err := w.until(t, began.Add(time.Hour)); err != nil || w.made != 2 {
		t.Errorf("with room: %d tries, %v", w.made, err)
	}
}

// SameDisk is true for a directory and for one that will be created in it.
func TestSameDisk(t *testing.T) {
	dir := t.TempDir()
	if !backups.SameDisk(dir, dir+"/new") || !backups.SameDisk(dir, filepath.Dir(dir)) || backups.SameDisk(dir, "s3://bucket/x") {
		t.Error("a directory, one in it and one above it are on one disk; a bucket is not")
	}
}
