package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/onefold/internal/intake"
	"github.com/onefold/onefold/table"
)

// Folds of an import work on large batches: the whole log is there, so nobody waits for its first statistics, and an
// item that many lines touch is written once a batch.
// An import reads little of what it wrote long ago, so it needs less of a cache.
var importTuning = tuning{flushChanges: 6_000, flushAge: 5 * time.Second, cacheBytes: 12 << 20}

// importMemory is what an import should stay within, in bytes. Go collects garbage more often when it comes near.
const importMemory = 272 << 20

type importCommand struct {
	Site          string   `required:"" help:"The site that the events belong to; made, in UTC, when there is none."`
	Format        string   `help:"How the files are written: ${enum}." enum:"${formats}" default:"auto"`
	Host          []string `help:"Take only requests of this virtual host. Repeat or separate by commas." placeholder:"NAME"`
	IncludeBots   bool     `help:"Count requests of bots, too."`
	IncludeAssets bool     `help:"Count requests of images, scripts, styles and fonts, too."`
	Quiet         bool     `short:"q" help:"No progress bar."`
	Files         []string `arg:"" name:"file" help:"Access logs, plain or compressed with gzip or zstd, or - for standard input."`
}

// importSummary is what an import did, and where its time went.
type importSummary struct {
	intake.Summary
	Seconds importSeconds `json:"seconds"`

	unread error // files that could not be read to their end
}

// importSeconds says where the time went. Reading and folding overlap.
type importSeconds struct {
	Read  float64 `json:"read"`  // until the last line was stored
	Fold  float64 `json:"fold"`  // from there until the folds had caught up
	Roll  float64 `json:"roll"`  // rolling up days and months
	Total float64 `json:"total"` // all of it
}

// Run imports the files in order, waits for the folds and prints a summary.
func (c *importCommand) Run(ctx context.Context, std streams, g *globals) error {
	return g.withStore(ctx, std.err, importTuning, func(s *store) error {
		summary, err := c.run(ctx, std, s)
		if err != nil {
			return err
		}
		if g.JSON {
			err = printJSON(std.out, summary)
		} else {
			err = summary.print(std.out)
		}
		if err == nil && summary.Lines > 0 && summary.Malformed == summary.Lines {
			err = fmt.Errorf("not_a_log: no line is in the format %s", summary.Formats[0])
		}
		return errors.Join(err, summary.unread)
	})
}

// checkFiles refuses files that cannot be read before anything is made.
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
	bar := newReadProgress(std.err, c.Quiet, c.Files)
	defer bar.close()
	im, err := intake.New(analytics.NewCollector(s.table, analytics.CollectorOptions{}), bar, c.options())
	if err != nil {
		return nil, err
	}
	summary := new(importSummary)
	var read, folded time.Duration
	err = s.folding(ctx, func(ctx context.Context) error {
		if summary.unread, err = c.readFiles(ctx, std, im); err != nil {
			return err
		}
		bar.close()
		read = time.Since(start)
		err := s.worker.Drain(ctx)
		folded = time.Since(start)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("import: %w\nWhat was imported stays; import the same files again to go on where it stopped", err)
	}
	if _, err := reconcile.RollUp(ctx, s.table, c.Site, time.Now()); err != nil {
		return nil, err
	}
	total := time.Since(start)
	summary.Summary = im.Summary
	summary.Seconds = importSeconds{Read: read.Seconds(), Fold: (folded - read).Seconds(), Roll: (total - folded).Seconds(), Total: total.Seconds()}
	return summary, nil
}

func (c *importCommand) options() intake.Options {
	return intake.Options{Site: c.Site, Format: intake.Format(c.Format), Bots: c.IncludeBots, Assets: c.IncludeAssets, Hosts: c.Host}
}

// readFiles imports the files in order. unread are those that could not be read to their end.
func (c *importCommand) readFiles(ctx context.Context, std streams, im *intake.Importer) (unread, err error) {
	for _, name := range c.Files {
		err := im.File(ctx, name, std.in)
		if damaged := (*intake.DamagedError)(nil); errors.As(err, &damaged) { // what was read of it stays, and the others go on
			unread = errors.Join(unread, err)
		} else if err != nil {
			return unread, fmt.Errorf("%s: %w", name, err)
		}
	}
	return unread, nil
}

// siteForImport makes the site when there is none.
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

func (s *importSummary) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s lines: %s imported", grouped(s.Lines), grouped(s.Imported))
	for _, part := range []struct {
		n    int64
		what string
	}{
		{s.Duplicates, "already there"}, {s.Skipped.Assets, "assets left out"}, {s.Skipped.Bots, "of bots left out"},
		{s.Skipped.Hosts, "of other hosts left out"}, {s.Skipped.Other, "no page views"}, {s.Malformed, "malformed"}, {s.Rejected, "rejected"},
	} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", %s %s", grouped(part.n), part.what)
		}
	}
	fmt.Fprintf(&b, ".\n%.1f s: %.1f reading and storing, %.1f folding the rest, %.1f rolling up; %s lines a second.\n",
		s.Seconds.Total, s.Seconds.Read, s.Seconds.Fold, s.Seconds.Roll, grouped(int64(float64(s.Lines)/max(s.Seconds.Total, 0.001))))
	for _, line := range s.Examples {
		fmt.Fprintln(&b, "malformed:", line)
	}
	if more := s.Malformed - int64(len(s.Examples)); more > 0 {
		fmt.Fprintf(&b, "malformed: and %s more\n", grouped(more))
	}
	for _, reason := range slices.Sorted(maps.Keys(s.Reasons)) {
		fmt.Fprintf(&b, "rejected: %s: %d\n", reason, s.Reasons[reason])
	}
	_, err := io.WriteString(w, b.String())
	return err
}
