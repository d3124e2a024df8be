// Package querybench measures a month of events in a warehouse: the time to write it, and to query
// it with SQL and with the dashboard's filters.
package querybench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/duck"
	"github.com/onefold/onefold/warehouse/past"
)

// Options configure a run. All but Dir are required.
type Options struct {
	Events   int    // events in the month, 30 to 1,000,000,000
	MemoryMB int    // memory for a SQL query
	Seed     uint64 // seed of the traffic
	Dir      string // directory of the warehouse, reused if it exists; "": a temporary one, removed afterwards
}

// ErrOptions is returned if the number of events is out of range.
var ErrOptions = errors.New("querybench: choose 30 to 1,000,000,000 events")

// Result is the result of a run. Times are in seconds; 0 means that this build has no DuckDB.
type Result struct {
	Events        int64   `json:"events"`
	BytesPerEvent float64 `json:"bytesPerEvent"`
	WriteSeconds  float64 `json:"writeSeconds"` // to generate and write the files
	Answers       []Asked `json:"answers"`
}

// Asked is the duration of a query.
type Asked struct {
	What    string  `json:"what"`
	Seconds float64 `json:"seconds"`
}

// Run fills a warehouse, unless the directory has one, and queries it.
func Run(ctx context.Context, o Options) (r Result, err error) {
	if o.Events < days || o.Events > 1_000_000_000 {
		return r, ErrOptions
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "onefold-bench-"); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	}
	objects, err := warehouse.OpenDir(o.Dir)
	if err != nil {
		return r, err
	}
	w, err := warehouse.Open(ctx, objects, warehouse.Options{})
	if err != nil {
		return r, err
	}
	began := time.Now()
	if w.Version() == 0 {
		if err := fill(ctx, w, o.Events, o.Seed); err != nil {
			return r, err
		}
	}
	r.WriteSeconds = time.Since(began).Seconds()
	var bytes int64
	for _, f := range w.Files(warehouse.Events) {
		r.Events += f.Rows
		bytes += f.Bytes
	}
	r.BytesPerEvent = float64(bytes) / float64(max(r.Events, 1))
	if err := r.sql(ctx, w, o); err != nil {
		return r, err
	}
	return r, filters(ctx, objects, &r)
}

func (r *Result) time(what string, ask func() error) error {
	began := time.Now()
	if err := ask(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	r.Answers = append(r.Answers, Asked{what, time.Since(began).Seconds()})
	return nil
}

// queries run on the whole month.
var queries = []struct{ what, sql string }{
	{"SQL: page views of a country by page", "SELECT path, count(*) AS views FROM events WHERE country = 'DE' AND kind = 'pageview' GROUP BY path ORDER BY views DESC LIMIT 100"},
	{"SQL: visits, visitors, bounces and duration of a country by day", `SELECT day, count(*), count(DISTINCT visitor_day), count(*) FILTER (bounced), avg(seconds)
		FROM sessions WHERE country = 'DE' GROUP BY day ORDER BY day`},
	{"SQL: visits that saw a page, by source", "SELECT source, count(*) FROM sessions WHERE list_contains(pages, '/') GROUP BY source ORDER BY ALL"},
}

func (r *Result) sql(ctx context.Context, w *warehouse.Warehouse, o Options) (err error) {
	if !duck.Built {
		return nil
	}
	d := duck.Options{MemoryMB: o.MemoryMB, Timeout: time.Hour}
	for _, f := range w.Files(warehouse.Events) {
		d.Events = append(d.Events, o.Dir+"/"+f.Path)
	}
	if d.TempDir, err = os.MkdirTemp("", "onefold-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.TempDir)) }()
	db, err := duck.Open(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, q := range queries {
		err := r.time(q.what, func() error {
			return db.Query(ctx, q.sql, 0, func([]duck.Column) error { return nil }, func([]*string) error { return nil })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// filters measures the dashboard's filters with a table that has no events of the month, so all are
// read from the warehouse.
func filters(ctx context.Context, objects warehouse.Objects, r *Result) (err error) {
	later := func() time.Time { return start.AddDate(5, 0, 0) }
	db, err := engine.OpenMemory(engine.Options{Clock: later})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := analytics.Schema.Ensure(ctx, db, "bench"); err != nil {
		return err
	}
	t := table.New(db, "bench", table.Options{Clock: later})
	if _, err := analytics.CreateSite(ctx, t, analytics.NewSite{ID: site, TimeZone: "UTC"}); err != nil {
		return err
	}
	archive, err := past.Open(ctx, objects, past.Options{Clock: later})
	if err != nil {
		return err
	}
	x := explore.New(t, explore.Options{Archive: archive, KeepBytes: 1 << 30, Events: 1 << 40, DayEvents: 1 << 30})
	in := report.Request{Site: site, From: start.Format(time.DateOnly), To: start.AddDate(0, 0, days-1).Format(time.DateOnly), By: analytics.ByPage}
	for _, ask := range []struct {
		what   string
		filter explore.Filter
	}{
		{"dashboard: figures and pages of a country, from files", explore.Filter{Dimension: analytics.ByCountry, Op: explore.Is, Values: []string{"DE"}}},
		{"dashboard: the same of another country, from days in memory", explore.Filter{Dimension: analytics.ByCountry, Op: explore.Is, Values: []string{"FR"}}},
	} {
		err := r.time(ask.what, func() error {
			answer, err := x.Report(ctx, in, []explore.Filter{ask.filter})
			if err == nil && answer.Totals.Visits == 0 {
				err = errors.New("there are no visits")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
