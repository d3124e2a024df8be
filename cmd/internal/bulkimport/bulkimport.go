// Package bulkimport imports logs into a table that no server uses meanwhile, with the settings for
// that: it stores the events, folds them and rolls them up.
package bulkimport

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/internal/goruntime"
	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Settings of the table and its worker. The folds of an import use large batches: nobody waits for
// the first statistics, and an item that many lines change is written once per batch. An import
// rarely reads what it wrote long ago, so it needs a smaller cache.
const (
	// Known is how many event names an import keeps in memory, separately for stored and counted
	// ones. Logs are ordered by time, so an import returns to few earlier names, and memory used for
	// names makes garbage collections more frequent.
	Known = 200_000
	// FlushBytes is the size of a batch in bytes of blocks and their events, which is some 18,000
	// events.
	FlushBytes = 16 << 20
	// FlushAge is the maximum age of a batch.
	FlushAge = 5 * time.Second
	// CacheBytes is the size of the engine's cache.
	CacheBytes = 12 << 20
	// Memory is the soft memory limit of an import in bytes.
	Memory = 272 << 20
)

// Import imports files into a site. All fields but Options.Format and those after it are required.
type Import struct {
	Table    *table.Table
	Worker   *fold.Worker // not running
	Files    []string     // "-" is Stdin
	Stdin    io.Reader
	Progress logimport.Progress
	Options  logimport.Options // with the site, which is created if it does not exist
}

// Result is the result of an import.
type Result struct {
	logimport.Summary
	Seconds Seconds
	Damage  error // joined errors of files that could not be read to their end
}

// Seconds are the phases of an import in seconds. Reading and folding overlap.
type Seconds struct {
	Read  float64 `json:"read"`  // until the last line was stored
	Fold  float64 `json:"fold"`  // then until the folds had caught up
	Roll  float64 `json:"roll"`  // roll-up of days and months
	Total float64 `json:"total"` // all of it
}

// Run reads the files in order, waits for the folds and rolls up.
func (im *Import) Run(ctx context.Context) (r Result, err error) {
	defer goruntime.LimitMemory(Memory)()
	if err := logimport.EnsureSite(ctx, im.Table, im.Options.Site); err != nil {
		return r, err
	}
	start := time.Now()
	var read, folded time.Duration
	err = products.Folding(ctx, im.Worker, func(ctx context.Context) (err error) {
		taker := analytics.NewCollector(im.Table, analytics.CollectorOptions{Known: Known})
		if r.Summary, r.Damage, err = logimport.Read(ctx, taker, im.Progress, im.Options, im.Stdin, im.Files); err != nil {
			return err
		}
		read = time.Since(start)
		err = im.Worker.Drain(ctx)
		folded = time.Since(start)
		return err
	})
	if err != nil {
		return r, fmt.Errorf("import: %w\nImported events stay; import the same files again to resume", err)
	}
	if _, err := reconcile.RollUp(ctx, im.Table, im.Options.Site, time.Now()); err != nil {
		return r, err
	}
	total := time.Since(start)
	r.Seconds = Seconds{Read: read.Seconds(), Fold: (folded - read).Seconds(), Roll: (total - folded).Seconds(), Total: total.Seconds()}
	return r, nil
}
