package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/analytics/imported/exports"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/cmd/internal/goruntime"
	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/cmd/internal/terminal"
)

// countsMemory is the soft memory limit of an import of daily counts, in bytes.
const countsMemory = 512 << 20

// ofCounts reports whether the files hold daily counts rather than events. A mix of both is an
// error.
func (c *importCommand) ofCounts() (bool, error) {
	switch forced := exports.Format(c.Format) == exports.Plausible || exports.Format(c.Format) == exports.GA4; {
	case forced && c.Follow:
		return false, errors.New("not_a_log: daily counts cannot be followed; omit --follow")
	case forced:
		return true, nil
	case c.Follow || logimport.Format(c.Format) != logimport.Auto:
		return false, nil
	}
	counts := 0
	for _, name := range c.Files {
		if name == "-" {
			continue
		}
		yes, err := exports.Detect(name)
		if err != nil {
			return false, fmt.Errorf("no_such_file: %w", err)
		}
		if yes {
			counts++
		}
	}
	if counts > 0 && counts < len(c.Files) {
		return false, errors.New("mixed_files: some files hold daily counts and some hold events; import them with two commands")
	}
	return counts > 0, nil
}

// runCounts imports daily counts. For a dry run it prints what it would import.
func (c *importCommand) runCounts(ctx context.Context, std streams, g *globals) (err error) {
	if c.Server != "" {
		return c.sendCounts(ctx, std, g)
	}
	defer goruntime.LimitMemory(countsMemory)()
	var s *store
	if c.DryRun {
		s, err = c.rehearsalStore(ctx, std.err, g)
	} else {
		s, err = g.openStore(ctx, std.err, importTuning)
	}
	if err != nil {
		return err
	}
	result, err := c.counts(ctx, std, s)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	return printImportCounts(std.out, &result, g.JSON)
}

// sendCounts uploads the files to a running server, which imports them.
func (c *importCommand) sendCounts(ctx context.Context, std streams, g *globals) error {
	remote, err := logimport.NewRemote(c.Server, c.Key)
	if err != nil {
		return err
	}
	files, err := exports.Files(c.Files...)
	if err != nil {
		return fmt.Errorf("no_such_file: %w", err)
	}
	bar := terminal.NewSteps(std.err, c.Quiet, "counts")
	defer bar.Close()
	result, err := remote.Counts(ctx, c.Site, files, c.DryRun, bar.Update)
	bar.Close()
	if err != nil {
		return err
	}
	return printImportCounts(std.out, result, g.JSON)
}

func printImportCounts(w io.Writer, r *imported.Result, asJSON bool) error {
	if asJSON {
		return printJSON(w, r)
	}
	return printCounts(w, r)
}

func (c *importCommand) counts(ctx context.Context, std streams, s *store) (result imported.Result, err error) {
	if !c.DryRun {
		if err := logimport.EnsureSite(ctx, s.table, c.Site); err != nil {
			return result, err
		}
		if err := s.worker.Drain(ctx); err != nil { // the import skips days that the site has counted itself
			return result, err
		}
	}
	into, err := report.ImportInto(ctx, s.table, c.Site)
	if err != nil {
		return result, err
	}
	e, err := exports.Open(c.Files...)
	if err != nil {
		return result, countsError(err)
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	bar := terminal.NewSteps(std.err, c.Quiet, "counts")
	defer bar.Close()
	result, err = imported.Run(ctx, s.table, into, e, imported.Options{DryRun: c.DryRun, Progress: bar.Update})
	bar.Close()
	if err != nil {
		return result, countsError(fmt.Errorf("import into %s: %w", c.Site, err))
	}
	return result, nil
}

// countsError adds an error code.
func countsError(err error) error {
	switch {
	case errors.Is(err, exports.ErrFormat):
		return fmt.Errorf("unknown_format: %w", err)
	case errors.Is(err, exports.ErrTooMuch), errors.Is(err, imported.ErrTooMuch):
		return fmt.Errorf("too_much: %w", err)
	case errors.Is(err, imported.ErrNothing):
		return fmt.Errorf("nothing_to_import: %w", err)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%w\nThe stored part of the import is not counted yet; import the same files again to complete it", err)
	}
	return err
}

func printCounts(w io.Writer, r *imported.Result) error {
	p := &printer{out: w}
	verb := "imported"
	if r.Dry {
		verb = "would be imported"
	}
	p.line("%s: %s %s, %s to %s: %s, %s, %s, %s.", r.Format, terminal.Count(r.Days, "day"), verb, r.From, r.To,
		terminal.Count(r.PageViews, "page view"), terminal.Count(r.Visits, "visit"), terminal.Count(r.Visitors, "visitor"), terminal.Count(r.Events, "event"))
	if r.Cut > 0 {
		p.line("%s skipped: from %s on the site has its own counts, or the day is not over.", terminal.Count(r.Cut, "day"), r.Until)
	}
	if r.Held > 0 {
		p.line("%s skipped: another import has that day and dimension already.", terminal.Count(r.Held, "count"))
	}
	for i := range r.Tables {
		t := &r.Tables[i]
		if t.Problem != "" {
			p.line("not read: %s: %s", printable(t.File), t.Problem)
			continue
		}
		ignored := ""
		if len(t.Ignored) > 0 {
			ignored = "; not counted: " + printable(strings.Join(t.Ignored, ", "))
		}
		p.line("%s: %s%s", printable(t.File), terminal.Count(t.Rows, "row"), ignored)
	}
	for _, line := range r.Shown {
		p.line("malformed: %s", printable(line))
	}
	if more := r.Malformed - int64(len(r.Shown)); more > 0 {
		p.line("malformed: and %s more", grouped(more))
	}
	p.line("To undo, run `onefold imports delete --site %s %s`.", r.SiteID, r.ImportID)
	return p.err
}
