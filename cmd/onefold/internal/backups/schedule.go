package backups

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/internal/backoff"
)

// Schedule makes backups at an interval and deletes old ones. The age of the newest existing backup
// decides when the next is due, so a restart does not cause one. Schedule is a
// prometheus.Collector.
type Schedule struct {
	Maker
	Every  time.Duration
	Keep   int                                        // number of backups; at least 1
	Logger *slog.Logger                               // default: discards logs
	Clock  func() time.Time                           // default: time.Now
	Sleep  func(context.Context, time.Duration) error // default: a timer

	unpruned *Name // new backup, after which old ones are still to be deleted
	tried    int64 // size for which there was no space
	inARow   int   // consecutive failures

	mu       sync.Mutex
	last     File // the newest backup; zero time if there is none
	failures int64
}

// Delays after failures. They double, since each attempt may read the whole table.
const (
	firstPause = time.Minute
	mostPause  = time.Hour
)

// lookEach is the interval at which the destination is checked between backups, so that an
// unreachable one is noticed before the next backup is due.
const lookEach = time.Hour

// failure is the error of an attempt, with the delay before the next.
type failure struct {
	error
	pause time.Duration
}

func (f *failure) Unwrap() error { return f.error }

// Pause returns the delay before a restart.
func (f *failure) Pause() time.Duration { return f.pause }

// Run makes backups until ctx ends or a backup fails. After an error, it may be called again after
// the error's Pause.
func (s *Schedule) Run(ctx context.Context) error {
	for {
		err := s.turn(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			s.mu.Lock()
			s.failures++
			s.mu.Unlock()
			wait := min(firstPause<<min(s.inARow, 10), mostPause, s.Every)
			s.inARow++
			return &failure{err, wait}
		}
		s.inARow = 0
	}
}

// turn waits until a backup is due and makes it.
func (s *Schedule) turn(ctx context.Context) error {
	if err := s.Place.Prepare(ctx); err != nil {
		return err
	}
	// Complete a deletion that failed after the last backup.
	if err := s.prune(ctx); err != nil {
		return err
	}
	newest, err := s.newest(ctx)
	if err != nil {
		return err
	}
	if wait := s.due(newest); wait > 0 {
		return s.sleep(ctx, min(wait, lookEach))
	}
	// The size is unknown before the backup is made. The best estimate is that of the newest
	// backup, or of a failed attempt.
	made, err := s.Make(ctx, s.now(), max(newest.Bytes, s.tried))
	if err != nil {
		s.tried = max(s.tried, made.Bytes)
		return err
	}
	s.tried, s.unpruned = 0, &made.Name
	s.note(made)
	s.logger().Info("backed up", "to", s.Place.String(), "name", made.Name.String(), "bytes", made.Bytes)
	return s.prune(ctx)
}

// prune deletes old backups after a new one.
func (s *Schedule) prune(ctx context.Context) error {
	if s.unpruned == nil {
		return nil
	}
	deleted, err := Prune(ctx, s.Place, *s.unpruned, s.Keep)
	for _, n := range deleted {
		s.logger().Info("deleted an old backup", "from", s.Place.String(), "name", n.String())
	}
	if err != nil {
		return fmt.Errorf("delete old backups from %s: %w", s.Place, err)
	}
	s.unpruned = nil
	return nil
}

// newest returns the newest backup of the table. It ignores backups dated far in the future, which
// come from a wrong clock.
func (s *Schedule) newest(ctx context.Context) (newest File, err error) {
	files, err := s.Place.List(ctx)
	if err != nil {
		return File{}, err
	}
	for _, f := range files {
		if f.Table == s.Table && !f.Time.After(s.now().Add(s.Every)) {
			newest = f
		}
	}
	s.note(newest)
	return newest, nil
}

// due returns the time until the next backup.
func (s *Schedule) due(newest File) time.Duration {
	if newest.Time.IsZero() {
		return 0
	}
	// A clock that was set back must not delay the next backup by more than the interval.
	return min(newest.Time.Add(s.Every).Sub(s.now()), s.Every)
}

func (s *Schedule) note(newest File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = newest
}

var (
	lastTime   = prometheus.NewDesc("onefold_backup_last_success_timestamp_seconds", "Unix time of the newest backup at the destination; 0 if there is none.", nil, nil)
	lastBytes  = prometheus.NewDesc("onefold_backup_last_bytes", "Size of the newest backup at the destination.", nil, nil)
	allFailure = prometheus.NewDesc("onefold_backup_failures_total", "Number of failed backups and failed deletions of old backups.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *Schedule) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lastTime, lastBytes, allFailure} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Schedule) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := 0.0
	if !s.last.Time.IsZero() {
		at = float64(s.last.Time.Unix())
	}
	out <- prometheus.MustNewConstMetric(lastTime, prometheus.GaugeValue, at)
	out <- prometheus.MustNewConstMetric(lastBytes, prometheus.GaugeValue, float64(s.last.Bytes))
	out <- prometheus.MustNewConstMetric(allFailure, prometheus.CounterValue, float64(s.failures))
}

func (s *Schedule) now() time.Time {
	if s.Clock == nil {
		return time.Now()
	}
	return s.Clock()
}

func (s *Schedule) sleep(ctx context.Context, d time.Duration) error {
	if s.Sleep == nil {
		return backoff.For(ctx, d)
	}
	return s.Sleep(ctx, d)
}

func (s *Schedule) logger() *slog.Logger {
	if s.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Logger
}
