// Package scrub reads the files of an embedded table again and again, slowly, so that damage is found while there is a backup
// from before. It belongs to the command line.
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

// Flags say how often the files are read, and how fast.
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

// Validate is called by kong.
func (f *Flags) Validate() error {
	if f.Every != 0 && (f.Every < leastEvery || f.Every > mostEvery) {
		return errors.New("bad_scrub_every: --scrub-every must be 0, or 1h to 366d")
	}
	if f.Rate < leastRate {
		return errors.New("bad_scrub_rate: --scrub-rate must be at least 64KB")
	}
	return nil
}

// Schedule is that of the scrubs of a database in a directory; nil when there are none.
func (f *Flags) Schedule(db *engine.DB, dir string, logger *slog.Logger) *Schedule {
	if f.Every == 0 {
		return nil
	}
	return &Schedule{Scrub: db.Scrub, Path: filepath.Join(dir, noteName), Every: f.Every, Rate: int64(f.Rate), Logger: logger}
}

// noteName is that of the note in a database's directory: it is of no use beside other files, so backups do not have it.
const noteName = "SCRUB"

const (
	settle    = time.Minute      // after the start, which has enough to read
	saveEvery = 10 * time.Second // while a scrub is under way
	mostNamed = 20               // of damaged files
)

// Schedule scrubs every so often. It is a prometheus.Collector.
type Schedule struct {
	Scrub  func(context.Context, engine.ScrubOptions) error
	Path   string // of the note that tells how far it got, so that a restart does not begin anew
	Every  time.Duration
	Rate   int64 // bytes a second
	Logger *slog.Logger

	mu    sync.Mutex
	known bool // the note was read
	note  note
	read  int64 // bytes since the process began
}

// note is how far a scrub got.
type note struct {
	Began   time.Time `json:"began"`           // zero: there has been none
	Ended   time.Time `json:"ended"`           // zero: it is under way
	Before  time.Time `json:"before"`          // when the one before ended
	Found   int       `json:"found,omitempty"` // damaged files by the one before
	After   uint64    `json:"after,omitempty"` // number of the file it has read last
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"`
	Damaged []string  `json:"damaged,omitempty"` // at most mostNamed
	More    int       `json:"moreDamaged,omitempty"`
}

// damaged is how many damaged files it has found.
func (n *note) damaged() int { return len(n.Damaged) + n.More }

// Run scrubs until ctx ends. It fails with a *Damage when files are damaged, and goes on when it is run again.
func (s *Schedule) Run(ctx context.Context) error {
	begin := time.Now().Add(settle)
	for {
		n := s.recall()
		due := begin
		if !n.Ended.IsZero() {
			next := n.Ended.Add(s.Every)
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

// pass reads all files, or those that a scrub which was broken off has left.
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

// add notes that a file has been read.
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

// recall is how far it got. A note that cannot be read is none: the files are read again.
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

// save writes the note. After a crash it may be an old one, or none: then files are read twice.
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

// Damage is the error of a scrub that has found some.
type Damage struct {
	Files []string
	More  int // that are not named
	pause time.Duration
}

// Error says what to do.
func (d *Damage) Error() string {
	names := strings.Join(d.Files, ", ")
	if d.More > 0 {
		names += fmt.Sprintf(" and %d more", d.More)
	}
	return "damaged: " + names + "; restore a backup, or recover what can be read with `onefold dynamodb salvage --to DIR`"
}

// Pause is how long there is nothing to be done.
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
	if at.IsZero() { // it is under way
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
