package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/onefold/onefold/cmd/internal/bulkimport"
	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/internal/terminal"
)

// importTuning is for imports. Patience lets a service be unavailable for a while, so that an outage
// does not end an import that has run for hours.
var importTuning = tuning{
	works: true, flushBytes: bulkimport.FlushBytes, flushAge: bulkimport.FlushAge, cacheBytes: bulkimport.CacheBytes, known: bulkimport.Known, patience: 2 * time.Minute,
}

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
	return summary.printResult(std.out, g.JSON)
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
	if err := c.checkFiles(); err != nil {
		return nil, err
	}
	bar := terminal.NewFiles(std.err, c.Quiet, c.Files)
	defer bar.Close()
	im := bulkimport.Import{Table: s.table, Worker: s.worker, Files: c.Files, Stdin: std.in, Progress: bar, Options: c.options()}
	r, err := im.Run(ctx)
	if err != nil {
		return nil, err
	}
	return &importSummary{Summary: r.Summary, Seconds: r.Seconds, unread: r.Damage}, nil
}

func (c *importCommand) options() logimport.Options {
	return logimport.Options{Site: c.Site, Format: logimport.Format(c.Format), Bots: c.IncludeBots, Assets: c.IncludeAssets, Hosts: c.Host}
}

// read reads the files in order and passes their events to an ingester. If a file cannot be read to its
// end, that is noted and the next files are read.
func (c *importCommand) read(ctx context.Context, std streams, ingester logimport.Ingester, into *importSummary) (err error) {
	bar := terminal.NewFiles(std.err, c.Quiet, c.Files)
	defer bar.Close()
	into.Summary, into.unread, err = logimport.Read(ctx, ingester, bar, c.options(), std.in, c.Files)
	return err
}
