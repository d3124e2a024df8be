package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/onefold/internal/logimport"
	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
	"github.com/onefold/onefold/table"
)

// The folds of an import use large batches: nobody waits for the first statistics, and an item that
// many lines change is written once per batch. An import rarely reads what it wrote long ago, so it
// needs a smaller cache. Patience lets a service be unavailable for a while, so that an outage does
// not end an import that has run for hours.
var importTuning = tuning{works: true, flushBytes: importFlush, flushAge: 5 * time.Second, cacheBytes: 12 << 20, known: importKnown, patience: 2 * time.Minute}

// importKnown is how many event names an import keeps in memory, separately for stored and counted
// ones. Logs are ordered by time, so an import returns to few earlier names, and memory used for
// names makes garbage collections more frequent.
const importKnown = 200_000

// importFlush is the size of a batch in bytes of blocks and their events, which is some 18,000
// events.
const importFlush = 16 << 20

// importMemory is the soft memory limit of an import in bytes. Go collects garbage more often near
// it.
const importMemory = 272 << 20

type importCommand struct {
	Site          string   `required:"" help:"Site of the events. It is created, in UTC, if it does not exist."`
	Format        string   `help:"Format of the files: ${enum}." enum:"${formats}" default:"auto"`
	Host          []string `help:"Virtual host to import; requests to other hosts are skipped. Repeat or separate by commas." placeholder:"NAME"`
	IncludeBots   bool     `help:"Count requests from bots too."`
	IncludeAssets bool     `help:"Count requests for images, scripts, styles and fonts too."`
	DryRun        bool     `help:"Print what would be imported, and write nothing."`
	Follow        bool     `help:"Keep importing lines as they are appended, across log rotation and restarts, until stopped."`
	Server        string   `help:"URL of a running server to send the events to, such as https://stats.example.org, instead of opening the table." placeholder:"URL" env:"ONEFOLD_SERVER"`
	Key           string   `help:"API key of the site with scope write, for --server." env:"ONEFOLD_KEY"`
	Quiet         bool     `short:"q" help:"Hide the progress bar."`
	Files         []string `arg:"" name:"file" help:"Access logs and exports, plain or compressed with gzip or zstd; - is standard input."`
}

// Run imports the files in order, waits for the folds and prints a summary.
func (c *importCommand) Run(ctx context.Context, std streams, g *globals) error {
	if counts, err := c.ofCounts(); err != nil || counts {
		if err != nil {
			return err
		}
		return c.runCounts(ctx, std, g)
	}
	work := c.store
	switch {
	case c.DryRun:
		work = c.rehearse
	case c.Follow && c.Server != "":
		work = c.followTo
	case c.Follow:
		work = c.follow
	case c.Server != "":
		work = c.send
	}
	summary, err := work(ctx, std, g)
	if err != nil {
		return err
	}
	return summary.tell(std.out, g.JSON)
}

// store imports the files into the table.
func (c *importCommand) store(ctx context.Context, std streams, g *globals) (summary *importSummary, err error) {
	err = g.withStore(ctx, std.err, importTuning, func(s *store) (err error) {
		summary, err = c.run(ctx, std, s)
		return err
	})
	return summary, err
}

// checkFiles returns an error if a file cannot be opened, before anything is created.
func (c *importCommand) checkFiles() error {
	for _, name := range c.Files {
		if name == "-" {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("no_such_file: %w", err)
		}
		info, err := f.Stat()
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if info.IsDir() {
			return fmt.Errorf("no_such_file: %s is a directory", name)
		}
	}
	return nil
}

func (c *importCommand) run(ctx context.Context, std streams, s *store) (*importSummary, error) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(importMemory - engineOutsideGo))
	if err := c.checkFiles(); err != nil {
		return nil, err
	}
	if err := siteForImport(ctx, s.table, c.Site); err != nil {
		return nil, err
	}
	start := time.Now()
	summary := new(importSummary)
	var read, folded time.Duration
	err := s.folding(ctx, func(ctx context.Context) error {
		if err := c.read(ctx, std, analytics.NewCollector(s.table, analytics.CollectorOptions{Known: importKnown}), summary); err != nil {
			return err
		}
		read = time.Since(start)
		err := s.worker.Drain(ctx)
		folded = time.Since(start)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("import: %w\nImported events stay; import the same files again to resume", err)
	}
	if _, err := reconcile.RollUp(ctx, s.table, c.Site, time.Now()); err != nil {
		return nil, err
	}
	total := time.Since(start)
	summary.Seconds = importSeconds{Read: read.Seconds(), Fold: (folded - read).Seconds(), Roll: (total - folded).Seconds(), Total: total.Seconds()}
	return summary, nil
}

func (c *importCommand) options() logimport.Options {
	return logimport.Options{Site: c.Site, Format: logimport.Format(c.Format), Bots: c.IncludeBots, Assets: c.IncludeAssets, Hosts: c.Host}
}

// read reads the files in order and passes their events to a taker. If a file cannot be read to its
// end, that is noted and the next files are read.
func (c *importCommand) read(ctx context.Context, std streams, taker logimport.Taker, into *importSummary) error {
	bar := terminal.NewFiles(std.err, c.Quiet, c.Files)
	defer bar.Close()
	im, err := logimport.New(taker, bar, c.options())
	if err != nil {
		return err
	}
	for _, name := range c.Files {
		err := im.File(ctx, name, std.in)
		if damaged := (*logimport.DamagedError)(nil); errors.As(err, &damaged) {
			into.unread = errors.Join(into.unread, err)
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	into.Summary = im.Summary
	return nil
}

// siteForImport creates the site if it does not exist.
func siteForImport(ctx context.Context, t *table.Table, id string) error {
	_, err := analytics.GetSite(ctx, t, id)
	if !errors.Is(err, table.ErrNotFound) {
		return err
	}
	_, err = analytics.CreateSite(ctx, t, analytics.NewSite{ID: id, TimeZone: "UTC"})
	if errors.Is(err, table.ErrExists) {
		return nil
	}
	return err
}
