package scrub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/onefold/onefold/cmd/onefold/internal/memory"
	"github.com/onefold/onefold/engine"
)

// files are the files of a database, a kilobyte each. Reading one takes a minute.
type files struct {
	last    uint64
	damaged map[uint64]bool
	read    []uint64
	fails   error
}

func (f *files) scrub(ctx context.Context, o engine.ScrubOptions) error {
	for n := o.After + 1; n <= f.last; n++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
		}
		if f.fails != nil {
			return f.fails
		}
		s := engine.Scrubbed{Number: n, Name: fmt.Sprintf("%06d.sst", n), Bytes: 1 << 10}
		if f.damaged[n] {
			s.Damage = engine.ErrCorrupt
		}
		f.read = append(f.read, n)
		o.Each(s)
	}
	return nil
}

func schedule(f *files, path string) *Schedule {
	return &Schedule{Scrub: f.scrub, Path: path, Every: 24 * time.Hour, Rate: 1 << 20, Logger: slog.New(slog.DiscardHandler)}
}

func told(t *testing.T, s *Schedule) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// TestEachFileOnce checks that every file is read once a day, however often the process restarts.
func TestEachFileOnce(t *testing.T) {
	for _, lives := range []time.Duration{30 * 24 * time.Hour, 7 * time.Hour, 4*time.Minute + 30*time.Second} {
		t.Run(lives.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &files{last: 10}
				path := filepath.Join(t.TempDir(), noteName)
				const days = 3
				for end := time.Now().Add(days*24*time.Hour + time.Hour); time.Now().Before(end); {
					ctx, cancel := context.WithTimeout(context.Background(), min(lives, time.Until(end)))
					if err := schedule(f, path).Run(ctx); err != nil {
						t.Fatal(err)
					}
					cancel()
				}
				times := map[uint64]int{}
				for _, n := range f.read {
					times[n]++
				}
				for n := uint64(1); n <= f.last; n++ {
					// A pass with many restarts takes up to half an hour.
					if times[n] < days || times[n] > days+1 {
						t.Errorf("file %d was read %d times in %d days: %v", n, times[n], days, f.read)
					}
				}
			})
		})
	}
}

// TestDamageIsTold checks that Run fails with the names of damaged files until a scrub finds none,
// after a restart too.
func TestDamageIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &files{last: 40, damaged: map[uint64]bool{}}
		for n := range uint64(25) {
			f.damaged[n+3] = true
		}
		path := filepath.Join(t.TempDir(), noteName)
		s := schedule(f, path)
		if text := told(t, s); !strings.Contains(text, "\nonefold_scrub_completed_timestamp_seconds 0\n") || !strings.Contains(text, "\nonefold_scrub_damaged_files 0\n") {
			t.Errorf("before the first: %s", text)
		}
		for range 2 {
			err := s.Run(context.Background())
			var d *Damage
			if !errors.As(err, &d) || len(d.Files) != mostNamed || d.More != 5 || !strings.Contains(err.Error(), "000003.sst") || !strings.Contains(err.Error(), "and 5 more") {
				t.Fatalf("got %v", err)
			}
			if p := d.Pause(); p <= 23*time.Hour || p > 24*time.Hour {
				t.Errorf("run again after %v", p)
			}
			if text := told(t, s); !strings.Contains(text, "\nonefold_scrub_damaged_files 25\n") || strings.Contains(text, "\nonefold_scrub_completed_timestamp_seconds 0\n") {
				t.Errorf("told %s", text)
			}
			s = schedule(f, path) // a restart
		}
		f.damaged = nil
		before := len(f.read)
		ctx, cancel := context.WithTimeout(context.Background(), 25*time.Hour)
		defer cancel()
		time.Sleep(24 * time.Hour)
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
		if text := told(t, s); !strings.Contains(text, "\nonefold_scrub_damaged_files 0\n") || len(f.read) != before+int(f.last) {
			t.Errorf("after the restore: read %v, told %s", f.read[before:], text)
		}
	})
}

// TestTroubles checks errors of writing the state and reading the files, and that a scrub starts
// again if the state is invalid.
func TestTroubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &files{last: 3}
		s := schedule(f, filepath.Join(t.TempDir(), "gone", noteName))
		if err := s.Run(context.Background()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("without a directory: %v", err)
		}
		f.fails = engine.ErrClosed
		path := filepath.Join(t.TempDir(), noteName)
		if err := schedule(f, path).Run(context.Background()); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		for _, text := range []string{"", "{", `{"began":7}`, `[]`} {
			var log bytes.Buffer
			f := &files{last: 3}
			s := schedule(f, path)
			s.Logger = slog.New(slog.NewTextHandler(&log, nil))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			if err := s.Run(ctx); err != nil || !slices.Equal(f.read, []uint64{1, 2, 3}) || !strings.Contains(log.String(), "starting from the first file") {
				t.Errorf("after the note %q: read %v, %v; the log:\n%s", text, f.read, err, &log)
			}
			cancel()
		}
	})
}

func TestFlags(t *testing.T) {
	for name, c := range map[string]struct {
		f  Flags
		ok bool
	}{
		"defaults": {Flags{168 * time.Hour, 8 << 20}, true}, "none": {Flags{0, 8 << 20}, true}, "too often": {Flags{time.Minute, 8 << 20}, false},
		"negative": {Flags{-time.Hour, 8 << 20}, false}, "never": {Flags{9000 * time.Hour, 8 << 20}, false}, "too slow": {Flags{time.Hour, memory.Size(1)}, false},
	} {
		if err := c.f.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if (&Flags{Rate: 1}).Schedule(nil, "", nil) != nil {
		t.Error("a schedule of none")
	}
}

// TestOfADatabase scrubs a database with a damaged file.
func TestOfADatabase(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	o := engine.Options{Logger: slog.New(slog.DiscardHandler), TTLInterval: -1}
	for range 2 { // files are written at open and close
		db, err := engine.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := engine.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := (&Flags{Every: time.Hour, Rate: 8 << 20}).Schedule(db, dir, o.Logger)
	// A compaction may replace the file before the scrub reaches it, so that nothing is damaged.
	// Then another file is damaged, up to 50 times.
	for attempt := 1; ; attempt++ {
		name := damageOne(t, dir)
		if err := s.pass(context.Background(), note{}); err != nil {
			t.Fatal(err)
		}
		n := s.recall()
		if len(n.Damaged) == 0 && attempt < 50 {
			continue
		}
		if !slices.Equal(n.Damaged, []string{name}) || n.Files == 0 || n.Ended.IsZero() {
			t.Errorf("attempt %d: noted %+v, and %s is damaged", attempt, n, name)
		}
		return
	}
}

// damageOne flips a bit of the newest table file in dir, and returns its name.
func damageOne(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	name := slices.Max(names)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text[20] ^= 4
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Base(name)
}
