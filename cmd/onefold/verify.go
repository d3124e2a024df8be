package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
	"github.com/onefold/onefold/table"
)

// rangeFlags name a site and days of it.
type rangeFlags struct {
	Site string `required:"" help:"The site."`
	From string `help:"First day, YYYY-MM-DD, in the site's time zone. Default: the first that has statistics."`
	To   string `help:"Last day, included. Default: the last that has statistics."`
}

type verifyCommand struct {
	rangeFlags
}

// Run compares what is stored with what the raw facts say, and ends with code 3 when they differ.
func (c *verifyCommand) Run(ctx context.Context, std streams, g *globals) error {
	found, err := c.reconcile(ctx, std, g, verifyAndKeep)
	if err == nil && found.Count > 0 {
		err = &exitError{exitDifferences, fmt.Errorf("differences: %s not what the raw facts say; `onefold rebuild --site %s` mends that", terminal.Count(found.Count, "item"), c.Site)}
	}
	return err
}

// verifyAndKeep also writes down how it ended, for the dashboard to show.
func verifyAndKeep(ctx context.Context, t *table.Table, w reconcile.Folded, in reconcile.RangeIn, progress func(reconcile.Progress)) (reconcile.Differences, error) {
	found, err := reconcile.Verify(ctx, t, w, in, progress)
	if err == nil {
		err = reconcile.Keep(ctx, t, &reconcile.Verification{
			SiteKey: analytics.SiteKey{SiteID: in.Site}, At: t.Now().UTC(), From: in.From, To: in.To, Of: found.Days, Found: found,
		})
	}
	return found, err
}

type rebuildCommand struct {
	rangeFlags
}

// Run replaces what differs from the raw facts.
func (c *rebuildCommand) Run(ctx context.Context, std streams, g *globals) error {
	_, err := c.reconcile(ctx, std, g, reconcile.Rebuild)
	return err
}

type reconciler func(context.Context, *table.Table, reconcile.Folded, reconcile.RangeIn, func(reconcile.Progress)) (reconcile.Differences, error)

func (r *rangeFlags) reconcile(ctx context.Context, std streams, g *globals, work reconciler) (found reconcile.Differences, err error) {
	err = g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		if err := s.worker.Drain(ctx); err != nil { // the days to verify are those that have statistics
			return err
		}
		from, to, err := analytics.RecentDays(ctx, s.table, r.Site, r.From, r.To, 0)
		if err != nil {
			return siteError(r.Site, err)
		}
		bar := newDayProgress(std.err)
		defer bar.close()
		err = s.folding(ctx, func(ctx context.Context) (err error) {
			found, err = work(ctx, s.table, s.worker, reconcile.RangeIn{Site: r.Site, From: from, To: to}, bar.update)
			return err
		})
		bar.close()
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("%w; the same command goes on after the last day that it finished", err)
		}
		if err != nil {
			return siteError(r.Site, err)
		}
		if g.JSON {
			return printJSON(std.out, found)
		}
		return printDifferences(std.out, &found)
	})
	return found, err
}

func printDifferences(out io.Writer, d *reconcile.Differences) error {
	p := &printer{out: out}
	p.line("%s, %s, %s compared: %s differ", terminal.Count(d.Days, "day"), terminal.Count(d.Events, "raw event"), terminal.Count(d.Items, "derived item"), grouped(d.Count))
	if d.Mended > 0 {
		p.line("%s mended", grouped(d.Mended))
	}
	for _, diff := range d.List {
		p.line("%s %s %s", diff.Kind, diff.Entity, printable(diff.Key))
		if diff.Stored != "" {
			p.line("  stored  %s", diff.Stored)
		}
		if diff.Want != "" {
			p.line("  facts   %s", diff.Want)
		}
	}
	if more := d.Count - int64(len(d.List)); more > 0 {
		p.line("and %s more", grouped(more))
	}
	if d.SealedDays > 0 {
		p.line("%s left out, since raw events of theirs have expired, the first %s", terminal.Count(d.SealedDays, "day"), d.Sealed[0])
	}
	for _, key := range d.Busy {
		p.line("%s was written to without a pause and could not be compared; run it again", printable(key))
	}
	return p.err
}

// printer writes lines and keeps the first error.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format+"\n", args...)
	}
}
