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
	Dir        string         // where databases are made, or were by an earlier run
	Items      int            // items in the table before anything is measured, at least 1,000
	Rounds     int            // turns of each side of a pair
	Turn       time.Duration  // length of a turn
	Only       *regexp.Regexp // measures to take, by name; nil: all
	Program    string         // this program, for measures of a whole process; "" leaves them out
	Processors int            // GOMAXPROCS while measuring over HTTP, of both sides; 0: as it is
	Dynalite   string         // command that starts dynalite; "" leaves it out
	CPUSeconds func() float64 // processor time of this process so far
	Progress   func(doing string)
	Logger     *slog.Logger
}

// ErrOptions is returned when an Options field is out of its range.
var ErrOptions = errors.New("enginebench: items must be at least 1,000, rounds and turn above 0")

// Result is one figure, beside its reference when it has one.
type Result struct {
	Name               string  `json:"name"`
	Unit               string  `json:"unit"`      // of Value and Reference: "op/s", "ms" or "MB"
	Value              float64 `json:"value"`     // median of the turns
	Micros             float64 `json:"micros"`    // median time of one operation as its caller sees it, 0 when that says nothing
	CPUMicros          float64 `json:"cpuMicros"` // median processor time of one operation, background and the caller's own included
	Against            string  `json:"against"`   // what the reference is, "" for none
	Reference          float64 `json:"reference"` // median of its turns
	ReferenceCPUMicros float64 `json:"referenceCpuMicros"`
	Ratio              float64 `json:"ratio"` // median of the turns' ratios
	Goal               float64 `json:"goal"`  // of the ratio, or of the value when there is no reference; 0 for none
	Most               bool    `json:"most"`  // the goal is the most that is good, not the least
}

// Judged is the number that the goal is about.
func (r *Result) Judged() float64 {
	if r.Against != "" {
		return r.Ratio
	}
	return r.Value
}

// Reached reports whether the goal is met; true without one.
func (r *Result) Reached() bool {
	switch {
	case r.Goal == 0:
		return true
	case r.Most:
		return r.Judged() <= r.Goal
	}
	return r.Judged() >= r.Goal
}

// measure is one thing that can be measured.
type measure struct {
	name string
	take func(ctx context.Context, b *bench) (Result, error)
}

// bench is what the measures of a run share.
type bench struct {
	o    Options
	live *live
	raw  *raw
}

// Run fills a table, takes the measures and hands each result to report.
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
