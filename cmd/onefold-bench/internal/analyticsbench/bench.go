package analyticsbench

import (
	"context"
	"errors"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/server/accounts"
)

// Options configure a run. All but Only and CPUProfile are required.
type Options struct {
	workbench.Setup
	Filled string        // existing directory for the site whose dashboard is measured; the site is reused, or created and kept
	Events int           // events of that site, spread over a year
	Pages  int           // distinct paths of that site
	Rounds int           // timed runs per ingest benchmark
	Turn   time.Duration // duration of a timed run
}

// ErrOptions is returned if an option is out of range.
var ErrOptions = errors.New("analyticsbench: events and pages must be at least 1,000, rounds and turn above 0")

// goatCounter names the reference. Its figures were measured over loopback on two cores too.
const goatCounter = "GoatCounter"

type bench struct{ o Options }

// Run runs the benchmarks, each on its own table, and calls report with the results.
func Run(ctx context.Context, o Options, report func(workbench.Result)) error {
	if o.Events < 1000 || o.Pages < 1000 || o.Rounds < 1 || o.Turn <= 0 {
		return ErrOptions
	}
	b := &bench{o}
	return o.Take(ctx, []workbench.Measure{
		{Name: "single", Take: b.single}, {Name: "batch", Take: b.batch}, {Name: "lines", Take: b.lines}, {Name: "size", Take: b.size}, {Name: "dashboard", Take: b.dashboard},
	}, report)
}

// prepared creates a table with a site, and returns a key that sends the site's events.
func (b *bench) prepared(ctx context.Context, dir string, sites ...string) (key string, err error) {
	s, err := b.o.Open(ctx, dir, workbench.Time{})
	if err != nil {
		return "", err
	}
	for _, site := range sites {
		err = errors.Join(err, addSite(ctx, s, site))
	}
	if err == nil {
		key, err = s.Key(ctx, accounts.AllSites)
	}
	return key, errors.Join(err, s.DB.Close())
}

func addSite(ctx context.Context, s *workbench.Store, id string) error {
	_, err := analytics.CreateSite(ctx, s.Table, analytics.NewSite{ID: id, TimeZone: "UTC"})
	return err
}

// serve starts a server that accepts the requests of one client as those of many.
func (b *bench) serve(ctx context.Context, dir string) (*workbench.Process, error) {
	return workbench.Serve(ctx, b.o.Program, dir, b.o.CPUProfile, "--trust-proxy", "--event-rate", "1e9", "--site-rate", "1e8")
}
