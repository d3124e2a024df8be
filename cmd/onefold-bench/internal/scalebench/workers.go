package scalebench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/analyticsbench"
	"github.com/onefold/onefold/cmd/onefold-bench/internal/workbench"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

const (
	shards   = 8 // of the stream
	site     = "scale"
	pollTime = 50 * time.Millisecond
)

// ground is a table on a database in its own process.
type ground struct {
	b        *bench
	dir      string
	database *workbench.Process
	store    string
	table    *table.Table
	workers  []*workbench.Process
}

func (b *bench) ground(ctx context.Context, dir string) (*ground, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	database, err := workbench.Start(ctx, b.o.Program, "--data", filepath.Join(dir, "database"), "dynamodb", "serve", "--addr", "127.0.0.1:0", "--stream-shards", strconv.Itoa(shards))
	if err != nil {
		return nil, err
	}
	g := &ground{b: b, dir: dir, database: database, store: "dynamodb+http://" + database.Address + "/" + products.TableName}
	where, err := storeurl.Parse(g.store, "")
	if err == nil {
		var opened *storeurl.Opened
		if opened, err = where.Clients(ctx); err == nil {
			g.table = table.New(opened.API, opened.Table, table.Options{})
			err = products.Schema.Ensure(ctx, opened.API, opened.Table)
		}
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *ground) close() error {
	var errs []error
	for _, w := range g.workers {
		errs = append(errs, w.Stop())
	}
	g.workers = nil
	return errors.Join(append(errs, g.database.Stop())...)
}

// work starts another worker.
func (g *ground) work(ctx context.Context) error {
	w, err := workbench.Start(ctx, g.b.o.Program, "--store", g.store, "--data", filepath.Join(g.dir, "worker"), "work",
		"--lease-for", g.b.o.LeaseFor.String(), "--name", fmt.Sprint("worker ", len(g.workers)+1))
	if err == nil {
		g.workers = append(g.workers, w)
	}
	return err
}

// until polls until so returns true or an error.
func until(ctx context.Context, so func() (bool, error)) error {
	for {
		ok, err := so()
		if err != nil || ok {
			return err
		}
		if err := backoff.For(ctx, pollTime); err != nil {
			return err
		}
	}
}

// counted reports whether the statistics show so many page views.
func (g *ground) counted(ctx context.Context, views int) (bool, error) {
	of, err := analytics.GetSite(ctx, g.table, site)
	if err != nil {
		return false, err
	}
	var sum int64
	for s, err := range analytics.StatsByTime.All(ctx, g.table, of.StatsIn(analytics.Hour, "", "")) {
		if err != nil {
			return false, err
		}
		sum += s.PageViews
	}
	return sum == int64(views), nil
}

// workers measures how fast 1, 2 and 4 workers fold existing events. They share the processors with
// the database, so the meaningful figure is the CPU time per event.
func (b *bench) workers(ctx context.Context, dir string) (all []workbench.Result, err error) {
	var alone float64
	for _, n := range []int{1, 2, 4} {
		b.o.Progress(fmt.Sprintf("workers: %d", n))
		results, rate, err := b.crew(ctx, filepath.Join(dir, strconv.Itoa(n)), n)
		if err != nil {
			return all, err
		}
		if n == 1 {
			alone = rate
		} else {
			results[0].Against, results[0].Reference = "one worker", alone
		}
		all = append(all, results...)
	}
	return all, nil
}

func (b *bench) crew(ctx context.Context, dir string, n int) (all []workbench.Result, rate float64, err error) {
	g, err := b.ground(ctx, dir)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	now := time.Now()
	if err := analyticsbench.Fill(ctx, g.table, analytics.NewSite{ID: site, Shards: shards}, b.o.Events, now.Add(-6*time.Hour), now); err != nil {
		return nil, 0, err
	}
	before, err := g.database.CPUSeconds()
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	for range n {
		if err := g.work(ctx); err != nil {
			return nil, 0, err
		}
	}
	if err := until(ctx, func() (bool, error) { return g.counted(ctx, b.o.Events) }); err != nil {
		return nil, 0, err
	}
	took := time.Since(began).Seconds()
	var folding float64
	for _, w := range g.workers {
		cpu, err := w.CPUSeconds()
		if err != nil {
			return nil, 0, err
		}
		folding += cpu
	}
	after, err := g.database.CPUSeconds()
	events := float64(b.o.Events)
	of := fmt.Sprintf("%d workers, %d shards: ", n, shards)
	return []workbench.Result{
		{Name: of + "events folded", Unit: "/s", Value: events / took},
		{Name: of + "CPU time of the workers per event", Unit: "µs", Value: 1e6 * folding / events},
		{Name: of + "CPU time of the database per event", Unit: "µs", Value: 1e6 * (after - before) / events},
		{Name: of + "busy processors", Unit: "", Value: (folding + after - before) / took},
	}, events / took, err
}

// takeover measures how long shards have no worker after theirs was killed.
func (b *bench) takeover(ctx context.Context, dir string) (all []workbench.Result, err error) {
	g, err := b.ground(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	for range 2 {
		if err := g.work(ctx); err != nil {
			return nil, err
		}
	}
	each := map[string]int{}
	owned := func(by ...int) func() (bool, error) {
		return func() (bool, error) {
			o, err := fold.Read(ctx, g.table, products.Group)
			clear(each)
			for _, s := range o.Shards {
				each[s.Owner]++
			}
			for i, n := range by {
				if each[fmt.Sprint("worker ", i+1)] != n {
					return false, err
				}
			}
			return true, err
		}
	}
	if err := until(ctx, owned(shards/2, shards/2)); err != nil {
		return nil, err
	}
	began := time.Now()
	g.workers[1].Kill()
	g.workers = g.workers[:1]
	if err := until(ctx, owned(shards)); err != nil {
		return nil, err
	}
	taken := time.Since(began).Seconds()
	return []workbench.Result{{
		Name: "take over all shards from a killed worker", Unit: "s", Value: taken, Against: "s of lease duration", Reference: b.o.LeaseFor.Seconds(),
	}}, nil
}
