// Package filterbench measures the time of a filtered report on a month of raw events in a table
// that stores them in blocks.
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
	Events     int    // events in the month, 3,000 to 1,000,000,000
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

// ErrOptions is returned if the number of events is out of range.
var ErrOptions = errors.New("filterbench: choose 3,000 to 1,000,000,000 events")

// Run fills a table, unless the directory has one, reopens it and measures reports.
func Run(ctx context.Context, o Options) (r Result, err error) {
	if o.Events < leastEvents || o.Events > 1_000_000_000 {
		return r, ErrOptions
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "onefold-bench-"); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
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

// monthLater is a clock at which the month has just ended.
type monthLater struct{ passed time.Duration }

func (c *monthLater) now() time.Time { return start.AddDate(0, 0, days).Add(time.Hour + c.passed) }

// filters selects the visits from a country that viewed a page.
func filters(country, page string) []explore.Filter {
	return []explore.Filter{
		{Dimension: analytics.ByCountry, Op: explore.Is, Values: []string{country}},
		{Dimension: analytics.ByPage, Op: explore.Is, Values: []string{page}},
	}
}

func (r *Result) ask(ctx context.Context, o Options) (err error) {
	var clock monthLater
	db, err := engine.Open(o.Dir, options(clock.now))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	t := table.New(explore.Watch(db), tableName, table.Options{Clock: clock.now})
	x := explore.New(t, explore.Options{Events: 1 << 40, DayEvents: 1 << 30, KeepBytes: o.KeepBytes})
	whole := report.Request{Site: site, From: start.Format(time.DateOnly), To: start.AddDate(0, 0, days-1).Format(time.DateOnly), By: analytics.ByPage}
	pages, err := popular(ctx, x, whole)
	if err != nil {
		return err
	}
	x = explore.New(t, explore.Options{Events: 1 << 40, DayEvents: 1 << 30, KeepBytes: o.KeepBytes}) // with an empty cache
	for _, a := range []struct {
		what          string
		country, page string
		passed        time.Duration
	}{
		{"first time", "DE", pages[0], 0},
		{"again", "DE", pages[0], time.Second},
		{"again, a minute later", "DE", pages[0], time.Minute},
		{"another country and page", "FR", pages[1], 0},
	} {
		clock.passed += a.passed
		if err := r.time(ctx, o, a.what, x, whole, filters(a.country, a.page)); err != nil {
			return fmt.Errorf("%s: %w", a.what, err)
		}
	}
	return nil
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
