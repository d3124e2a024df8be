package enginebench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Options configures a run.
type Options struct {
	Dir        string         // directory of the databases, including those of earlier runs
	Items      int            // items in the table before measuring, at least 1,000
	Rounds     int            // timed runs per side of a pair
	Turn       time.Duration  // duration of a timed run
	Only       *regexp.Regexp // names of benchmarks to run; nil: all
	Program    string         // path of onefold, for benchmarks of a whole process; "": skip them
	Processors int            // GOMAXPROCS of both sides while measuring over HTTP; 0: unchanged
	Dynalite   string         // command that starts dynalite; "": skip it
	CPUSeconds func() float64 // CPU time of this process so far
	Progress   func(doing string)
	Logger     *slog.Logger
}

// ErrOptions is returned if an option is out of range.
var ErrOptions = errors.New("enginebench: items must be at least 1,000, rounds and turn above 0")

// Result is a figure, with its reference if it has one.
type Result struct {
	Name               string  `json:"name"`
	Unit               string  `json:"unit"`      // of Value and Reference: "op/s", "ms" or "MB"
	Value              float64 `json:"value"`     // median of the runs
	Micros             float64 `json:"micros"`    // median time of an operation as seen by its caller; 0 if meaningless
	CPUMicros          float64 `json:"cpuMicros"` // median CPU time of an operation, including background work and the caller
	Against            string  `json:"against"`   // what the reference is, "" for none
	Reference          float64 `json:"reference"` // median of its runs
	ReferenceCPUMicros float64 `json:"referenceCpuMicros"`
	Ratio              float64 `json:"ratio"` // median of the runs' ratios
	Goal               float64 `json:"goal"`  // for the ratio, or for the value without a reference; 0: none
	Most               bool    `json:"most"`  // the goal is an upper bound rather than a lower one
}

// Judged returns the number to compare with the goal.
func (r *Result) Judged() float64 {
	if r.Against != "" {
		return r.Ratio
	}
	return r.Value
}

// Reached reports whether the goal is met. It is true without a goal.
func (r *Result) Reached() bool {
	switch {
	case r.Goal == 0:
		return true
	case r.Most:
		return r.Judged() <= r.Goal
	}
	return r.Judged() >= r.Goal
}

// measure is a benchmark.
type measure struct {
	name string
	take func(ctx context.Context, b *bench) (Result, error)
}

// bench is shared by the benchmarks of a run.
type bench struct {
	o    Options
	live *live
	raw  *raw
}

// Run fills a table, runs the benchmarks and calls report with each result.
func Run(ctx context.Context, o Options, report func(Result)) (err error) {
	if o.Items < 1000 || o.Rounds < 1 || o.Turn <= 0 {
		return ErrOptions
	}
	b := &bench{o: o}
	filled := filepath.Join(o.Dir, fmt.Sprintf("items-%d", o.Items))
	if err := fill(ctx, filled, o); err != nil {
		return err
	}
	dir, rawDir := filled+"-run", filled+"-raw"
	for _, d := range []string{dir, rawDir} {
		if err := cloneStore(filled, d); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(d)) }()
	}
	if b.raw, err = openRaw(rawDir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.raw.close()) }()
	if err := b.takeOpening(ctx, dir, report); err != nil {
		return err
	}
	if b.live, err = openLive(dir, o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.live.close()) }()
	for _, m := range measures() {
		if !b.wants(m.name) {
			continue
		}
		o.Progress(m.name)
		r, err := m.take(ctx, b)
		if errors.Is(err, errLeftOut) {
			continue
		}
		if err != nil {
			return fmt.Errorf("enginebench: %s: %w", m.name, err)
		}
		r.Name = m.name
		report(r)
	}
	return nil
}

func (b *bench) wants(name string) bool { return b.o.Only == nil || b.o.Only.MatchString(name) }

func measures() []measure {
	var all []measure
	all = append(all, writeMeasures()...)
	all = append(all, readMeasures()...)
	return append(all, wireMeasures()...)
}
