package analyticsbench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/onefold/internal/workbench"
)

// Options configure a run. All but Only and CPUProfile are required.
type Options struct {
	Program string        // onefold itself, whose serve is measured
	Dir     string        // where tables are made; must exist
	Filled  string        // where the site whose dashboard is measured is, or is made and left; must exist
	Events  int           // of the site whose dashboard is measured, spread over a year
	Pages   int           // distinct paths of that site
	Rounds  int           // turns of a measure of ingest
	Turn    time.Duration // length of a turn
	Only    *regexp.Regexp

	CPUProfile string // the server writes one here for each measure, with the measure's name before the extension

	Open     workbench.Open
	Progress func(doing string)
}

// ErrOptions is returned when an option is out of its range.
var ErrOptions = errors.New("analyticsbench: events and pages must be at least 1,000, rounds and turn above 0")

// goatCounter names the reference: its figures were measured over loopback on two cores, too.
const goatCounter = "GoatCounter"

// measure is one thing that can be measured.
type measure struct {
	name string
	take func(b *bench, ctx context.Context, dir string) ([]workbench.Result, error)
}

var measures = []measure{
	{"single", (*bench).single},
	{"batch", (*bench).batch},
	{"size", (*bench).size},
	{"dashboard", (*bench).dashboard},
}

type bench struct{ o Options }

// Run takes the measures, each on a table of its own, and hands their results to report.
func Run(ctx context.Context, o Options, report func(workbench.Result)) error {
	if o.Events < 1000 || o.Pages < 1000 || o.Rounds < 1 || o.Turn <= 0 {
		return ErrOptions
	}
	b := &bench{o}
	for _, m := range measures {
		if o.Only != nil && !o.Only.MatchString(m.name) {
			continue
		}
		o.Progress(m.name)
		results, err := m.take(b, ctx, filepath.Join(o.Dir, m.name))
		if err != nil {
			return fmt.Errorf("analyticsbench: %s: %w", m.name, err)
		}
		for _, r := range results {
			report(r)
		}
	}
	return nil
}

// prepared makes a table with a site, and returns a key that sends its events.
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

// serve starts a server that takes what one client sends as that of many.
func (b *bench) serve(ctx context.Context, dir string) (*workbench.Process, error) {
	return workbench.Serve(ctx, b.o.Program, dir, b.o.CPUProfile, "--trust-proxy", "--event-rate", "1e9", "--site-rate", "1e8")
}
