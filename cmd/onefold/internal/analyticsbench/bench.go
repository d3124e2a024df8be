package analyticsbench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
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

	Open     func(ctx context.Context, dir string, t Time) (*Store, error) // for what is measured and made in this process
	Progress func(doing string)
}

// Time is the time of a table and of its folds. The zero value is the system's.
type Time struct {
	Clock     func() time.Time
	Sleep     func(context.Context, time.Duration) error // of the worker
	FoldDelay time.Duration                              // as of onefold serve
}

// Store is an open table and its folds, which no worker runs yet.
type Store struct {
	DB      *engine.DB
	Table   *table.Table
	Worker  *fold.Worker
	Folding func(ctx context.Context, work func(context.Context) error) error // runs the worker beside the work
	Site    func(ctx context.Context, id string) error                        // makes a site
	Key     func(ctx context.Context) (token string, err error)               // makes a key that sends events of all sites
}

// ErrOptions is returned when an option is out of its range.
var ErrOptions = errors.New("analyticsbench: events and pages must be at least 1,000, rounds and turn above 0")

// Result is one figure.
type Result struct {
	Name      string  `json:"name"`
	Unit      string  `json:"unit"`
	Value     float64 `json:"value"`
	Against   string  `json:"against,omitempty"` // what the reference is
	Reference float64 `json:"reference,omitempty"`
	Goal      float64 `json:"goal,omitempty"` // 0: none
	Most      bool    `json:"most,omitempty"` // the goal is the most that is good, not the least
}

// Reached reports whether the goal is met; true without one.
func (r *Result) Reached() bool {
	if r.Goal == 0 {
		return true
	}
	if r.Most {
		return r.Value <= r.Goal
	}
	return r.Value >= r.Goal
}

// goatCounter names the reference: its figures were measured over loopback on two cores, too.
const goatCounter = "GoatCounter"

// measure is one thing that can be measured.
type measure struct {
	name string
	take func(b *bench, ctx context.Context, dir string) ([]Result, error)
}

var measures = []measure{
	{"single", (*bench).single},
	{"batch", (*bench).batch},
	{"size", (*bench).size},
	{"dashboard", (*bench).dashboard},
}

type bench struct{ o Options }

// Run takes the measures, each on a table of its own, and hands their results to report.
func Run(ctx context.Context, o Options, report func(Result)) error {
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
	s, err := b.o.Open(ctx, dir, Time{})
	if err != nil {
		return "", err
	}
	for _, site := range sites {
		err = errors.Join(err, s.Site(ctx, site))
	}
	if err == nil {
		key, err = s.Key(ctx)
	}
	return key, errors.Join(err, s.DB.Close())
}
