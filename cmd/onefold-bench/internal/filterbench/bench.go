// Package filterbench measures the time of a filtered report on the raw events of a table that stores
// them in blocks, with files of columns beside it.
package filterbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

// Options configure a run. All but Dir are required.
type Options struct {
	Events     int    // at least 100 a day, at most 1,000,000,000
	Days       int    // 1 to 700
	Seed       uint64 // seed of the traffic
	Dir        string // directory of the table, reused if it exists; "": a temporary one, removed afterwards
	KeepBytes  int    // memory for cached days
	CPUSeconds func() float64
}

// Result is the result of a run.
type Result struct {
	Events      int64   `json:"events"`
	FillSeconds float64 `json:"fillSeconds"` // time to generate and store the events; 0: they existed
	Answers     []Asked `json:"answers"`
}

// Asked is the cost of an answer.
type Asked struct {
	What       string  `json:"what"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpuSeconds"` // CPU time of this process, user and system
	HeapMB     float64 `json:"heapMB"`     // live Go heap afterwards, without the database's own caches
	Visits     int64   `json:"visits"`     // selected visits
}

// ErrOptions is returned if the number of events or days is out of range.
var ErrOptions = errors.New("filterbench: choose 1 to 700 days, and 100 events a day to 1,000,000,000 events")

// Run fills a table, unless the directory has one, reopens it and measures reports.
func Run(ctx context.Context, o Options) (r Result, err error) {
	if o.Days < 1 || o.Days > mostDays || o.Events < leastOfDay*o.Days || o.Events > 1_000_000_000 {
		return r, ErrOptions
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "onefold-bench-"); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir), os.RemoveAll(o.columns())) }()
	}
	began := time.Now()
	var filled bool
	if r.Events, filled, err = fill(ctx, o); err != nil {
		return r, fmt.Errorf("fill: %w", err)
	}
	if filled {
		r.FillSeconds = time.Since(began).Seconds()
	}
	return r, r.ask(ctx, o)
}

// later is a clock at which the last complete day has just got its file.
type later struct {
	days   int
	passed time.Duration
}

func (c *later) now() time.Time { return start.AddDate(0, 0, c.days).Add(3*time.Hour + c.passed) }

// filters selects the visits from a country that viewed a page.
func filters(country, page string) []explore.Filter {
	return []explore.Filter{
		{Dimension: analytics.ByCountry, Op: explore.Is, Values: []string{country}},
		{Dimension: analytics.ByPage, Op: explore.Is, Values: []string{page}},
	}
}

// asked is a question of the benchmark.
type asked struct {
	what          string
	country, page string
	passed        time.Duration // since the previous question; if it is not 0, there is a new visit
}

// ask asks twice: when there are no files, and after a restart.
func (r *Result) ask(ctx context.Context, o Options) error {
	if err := os.RemoveAll(o.columns()); err != nil {
		return err
	}
	if err := r.session(ctx, o, func(pages []string) []asked {
		return []asked{{"the first time, which makes the files", "DE", pages[0], 0}}
	}); err != nil {
		return err
	}
	return r.session(ctx, o, func(pages []string) []asked {
		return []asked{
			{"after a restart", "DE", pages[0], 0},
			{"again", "DE", pages[0], 0},
			{"again, a minute and a visit later", "DE", pages[0], time.Minute},
			{"another country and page", "FR", pages[1], 0},
		}
	})
}

func (o *Options) columns() string { return o.Dir + ".columns" }

// session opens the table and asks questions about pages that are viewed often.
func (r *Result) session(ctx context.Context, o Options, questions func(pages []string) []asked) (err error) {
	clock := later{days: o.Days}
	db, err := engine.Open(o.Dir, options(clock.now))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	problems := make(chan error, 1) // the first of them
	files, err := explore.OpenFiles(o.columns(), explore.FilesOptions{Report: func(err error) {
		select {
		case problems <- err:
		default:
		}
	}})
	if err != nil {
		return err
	}
	t := table.New(explore.Watch(db), tableName, table.Options{Clock: clock.now})
	limits := explore.Options{Events: 1 << 40, DayEvents: 1 << 30, KeepBytes: o.KeepBytes}
	whole := report.Request{Site: site, From: start.Format(time.DateOnly), To: clock.now().Format(time.DateOnly), By: analytics.ByPage}
	pages, err := popular(ctx, explore.New(t, limits), whole)
	if err != nil {
		return err
	}
	limits.Files = files
	x := explore.New(t, limits)
	for _, a := range questions(pages) {
		if clock.passed += a.passed; a.passed > 0 {
			if err := storeVisit(ctx, t, o); err != nil {
				return fmt.Errorf("%s: %w", a.what, err)
			}
		}
		if err := r.time(ctx, o, a.what, x, whole, filters(a.country, a.page)); err != nil {
			return fmt.Errorf("%s: %w", a.what, err)
		}
	}
	select {
	case err := <-problems:
		return err
	default:
		return nil
	}
}

// popular returns the most viewed pages of the first day.
func popular(ctx context.Context, x *explore.Explorer, in report.Request) (pages []string, err error) {
	in.To = in.From
	answer, err := x.Report(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	for _, row := range answer.Top {
		pages = append(pages, row.Value)
	}
	pages = slices.DeleteFunc(pages, func(p string) bool { return p == analytics.None || p == analytics.Other })
	if len(pages) < 2 {
		return nil, errors.New("the first day has no visits")
	}
	return pages, nil
}

func (r *Result) time(ctx context.Context, o Options, what string, x *explore.Explorer, in report.Request, by []explore.Filter) error {
	began, used := time.Now(), o.CPUSeconds()
	answer, err := x.Report(ctx, in, by)
	if err != nil {
		return err
	}
	a := Asked{What: what, Seconds: time.Since(began).Seconds(), CPUSeconds: o.CPUSeconds() - used, Visits: answer.Totals.Visits}
	if a.Visits == 0 {
		return errors.New("no visit was selected")
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	a.HeapMB = float64(m.HeapAlloc) / (1 << 20)
	r.Answers = append(r.Answers, a)
	return nil
}
