// Package scrub slowly reads the files of an embedded table at intervals and verifies their
// checksums, so that damage is found while an older backup still exists.
package scrub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/cmd/onefold/internal/memory"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/internal/backoff"
)

// Flags configure the interval and the speed.
type Flags struct {
	Every time.Duration `help:"Interval between scrubs, which read all files and verify their checksums, 1h to 366d; 0 means never." default:"168h" env:"ONEFOLD_SCRUB_EVERY"`
	Rate  memory.Size   `help:"Maximum bytes per second that a scrub reads." default:"8MB" env:"ONEFOLD_SCRUB_RATE"`
}

// Limits of the flags.
const (
	leastEvery = time.Hour
	mostEvery  = 366 * 24 * time.Hour
	leastRate  = 64 << 10
)

// Validate checks the flags. Kong calls it.
func (f *Flags) Validate() error {
	if f.Every != 0 && (f.Every < leastEvery || f.Every > mostEvery) {
		return errors.New("bad_scrub_every: --scrub-every must be 0, or 1h to 366d")
	}
	if f.Rate < leastRate {
		return errors.New("bad_scrub_rate: --scrub-rate must be at least 64KB")
	}
	return nil
}

// Schedule returns the schedule of scrubs of a database in a directory, or nil if they are
// disabled.
func (f *Flags) Schedule(db *engine.DB, dir string, logger *slog.Logger) *Schedule {
	if f.Every == 0 {
		return nil
	}
	return &Schedule{Scrub: db.Scrub, Path: filepath.Join(dir, noteName), Every: f.Every, Rate: int64(f.Rate), Logger: logger}
}

// noteName is the name of the state file in a database's directory. Backups omit it, because it is
// useless with other files.
const noteName = "SCRUB"

const (
	settle    = time.Minute      // delay after the start, which reads a lot itself
	saveEvery = 10 * time.Second // during a scrub
	mostNamed = 20               // maximum number of damaged files listed by name
)

// Schedule scrubs at an interval. It is a prometheus.Collector.
type Schedule struct {
	Scrub  func(context.Context, engine.ScrubOptions) error
	Path   string // of the state file, with which a restart resumes a scrub
	Every  time.Duration
	Rate   int64 // bytes per second
	Logger *slog.Logger

	mu    sync.Mutex
	known bool // the state file was read
	note  note
	read  int64 // bytes since the process started
}

// note is the saved state of a scrub.
type note struct {
	Began   time.Time `json:"began"`           // zero: no scrub yet
	Ended   time.Time `json:"ended"`           // zero: running
	Before  time.Time `json:"before"`          // end of the previous scrub
	Found   int       `json:"found,omitempty"` // damaged files found by the previous scrub
	After   uint64    `json:"after,omitempty"` // number of the last file read
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"`
	Damaged []string  `json:"damaged,omitempty"` // at most mostNamed names
	More    int       `json:"moreDamaged,omitempty"`
}

// damaged returns the number of damaged files found.
func (n *note) damaged() int { return len(n.Damaged) + n.More }

// Run scrubs until ctx ends. If it finds damaged files, it returns a *Damage; it may then be called
// again to continue.
func (s *Schedule) Run(ctx context.Context) error {
	begin := time.Now().Add(settle)
	for {
		n := s.recall()
		due := begin
		if !n.Ended.IsZero() {
			next := n.Ended.Add(s.Every)
			// Until the next scrub, every restart reports the damage found, so that health checks
			// keep showing it.
			if left := time.Until(next); left > 0 && n.damaged() > 0 {
				return &Damage{Files: n.Damaged, More: n.More, pause: left}
			}
			if next.After(due) {
				due = next
			}
		}
		if backoff.For(ctx, time.Until(due)) != nil {
			return nil
		}
		if err := s.pass(ctx, n); err != nil {
			if ctx.Err() != nil {
				return s.save()
			}
			return err
		}
		begin = time.Now()
	}
}

// pass reads all files, or the rest of an interrupted scrub.
func (s *Schedule) pass(ctx context.Context, n note) error {
	if !n.Ended.IsZero() || n.Began.IsZero() {
		n = note{Began: time.Now().UTC(), Before: n.Ended, Found: n.damaged()}
		s.set(n)
	}
	saved := time.Now()
	var failed error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := s.Scrub(ctx, engine.ScrubOptions{After: n.After, BytesPerSecond: s.Rate, Each: func(f engine.Scrubbed) {
		s.add(f)
		if time.Since(saved) < saveEvery {
			return
		}
		saved = time.Now()
		// Without its state, a restart would read the files again, so the scrub stops and reports
		// the error.
		if failed = s.save(); failed != nil {
			cancel()
		}
	}})
	if err := cmp.Or(failed, err); err != nil {
		return err
	}
	n = s.end()
	s.Logger.Info("scrub completed: the checksums of all files were verified", "files", n.Files, "bytes", n.Bytes, "damaged", n.damaged(), "took", n.Ended.Sub(n.Began).Round(time.Second))
	return s.save()
}

// add records that a file was read.
func (s *Schedule) add(f engine.Scrubbed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &s.note
	n.After, n.Files, n.Bytes = f.Number, n.Files+1, n.Bytes+f.Bytes
	s.read += f.Bytes
	switch {
	case f.Damage == nil:
	case len(n.Damaged) < mostNamed:
		n.Damaged = append(n.Damaged, f.Name)
	default:
		n.More++
	}
}

func (s *Schedule) end() note {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note.Ended, s.note.After = time.Now().UTC(), 0
	return s.note
}

func (s *Schedule) set(n note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note = n
}

// recall returns the saved state. If it cannot be read, all files are read again.
func (s *Schedule) recall() note {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known {
		return s.note
	}
	s.known = true
	text, err := os.ReadFile(s.Path)
	if err == nil {
		err = json.Unmarshal(text, &s.note)
	}
	if err != nil {
		if s.note = (note{}); !errors.Is(err, os.ErrNotExist) {
			s.Logger.Warn("cannot read the state of the last scrub; starting from the first file", "error", err)
		}
	}
	return s.note
}

// save writes the state. It is not synced: after a crash it may be old or missing, and some files
// are then read twice.
func (s *Schedule) save() error {
	s.mu.Lock()
	text, err := json.Marshal(s.note)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.Path+".new", append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("note the scrub: %w", err)
	}
	if err := os.Rename(s.Path+".new", s.Path); err != nil {
		return fmt.Errorf("note the scrub: %w", err)
	}
	return nil
}

// Damage is the error of a scrub that found damaged files.
type Damage struct {
	Files []string
	More  int // number of further files
	pause time.Duration
}

// Error names the damaged files, and says what to do.
func (d *Damage) Error() string {
	names := strings.Join(d.Files, ", ")
	if d.More > 0 {
		names += fmt.Sprintf(" and %d more", d.More)
	}
	return "damaged: " + names + "; restore a backup, or recover what can be read with `onefold dynamodb salvage --to DIR`"
}

// Pause returns the time until the next scrub.
func (d *Damage) Pause() time.Duration { return d.pause }

var (
	completed = prometheus.NewDesc("onefold_scrub_completed_timestamp_seconds", "Unix time of the last completed scrub; 0 for never.", nil, nil)
	damaged   = prometheus.NewDesc("onefold_scrub_damaged_files", "Damaged files found by the last scrub, or by the current scrub if it has found more.", nil, nil)
	read      = prometheus.NewDesc("onefold_scrub_read_bytes_total", "Bytes that scrubs have read.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *Schedule) Describe(out chan<- *prometheus.Desc) {
	out <- completed
	out <- damaged
	out <- read
}

// Collect implements prometheus.Collector.
func (s *Schedule) Collect(out chan<- prometheus.Metric) {
	n := s.recall()
	s.mu.Lock()
	defer s.mu.Unlock()
	at, files := n.Ended, n.damaged()
	if at.IsZero() { // running
		at, files = n.Before, max(files, n.Found)
	}
	var seconds float64
	if !at.IsZero() {
		seconds = float64(at.UnixMilli()) / 1e3
	}
	out <- prometheus.MustNewConstMetric(completed, prometheus.GaugeValue, seconds)
	out <- prometheus.MustNewConstMetric(damaged, prometheus.GaugeValue, float64(files))
	out <- prometheus.MustNewConstMetric(read, prometheus.CounterValue, float64(s.read))
}
