package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/cmd/onefold/internal/devicecli"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/recount"
)

// rangeFlags select a site or a fleet, and a range of days.
type rangeFlags struct {
	Site   string `required:"" xor:"of" help:"Site ID. Required unless --fleet is given."`
	Fleet  string `required:"" xor:"of" help:"Fleet ID. Required unless --site is given."`
	Device string `help:"Device of the fleet (default: all)."`
	From   string `help:"First day, YYYY-MM-DD, in the time zone of the site or fleet (default: first day with statistics)."`
	To     string `help:"Last day, inclusive (default: last day with statistics)."`
}

// Validate checks the flags. Kong calls it.
func (r *rangeFlags) Validate() error {
	if r.Site != "" && r.Device != "" {
		return errors.New("--device can only be used with --fleet")
	}
	return nil
}

type verifyCommand struct {
	rangeFlags
}

// Run compares stored statistics with the raw facts. If they differ, the exit code is 3.
func (c *verifyCommand) Run(ctx context.Context, std streams, g *globals) error {
	if c.Fleet != "" {
		found, err := c.recount(ctx, std, g, verifyFleetAndKeep)
		return differing(found.Count, "--fleet "+c.Fleet, err)
	}
	found, err := c.reconcile(ctx, std, g, verifyAndKeep)
	return differing(found.Count, "--site "+c.Site, err)
}

// differing returns the error of a comparison that found n differences.
func differing(n int64, of string, err error) error {
	if err == nil && n > 0 {
		err = &exitError{exitDifferences, fmt.Errorf("differences: %s not consistent with the raw facts; run `onefold rebuild %s` to repair", terminal.Count(n, "item"), of)}
	}
	return err
}

// verifyAndKeep verifies a site and stores the result for the dashboard.
func verifyAndKeep(ctx context.Context, t *table.Table, w reconcile.Folded, in reconcile.RangeIn, progress func(reconcile.Progress)) (reconcile.Differences, error) {
	found, err := reconcile.Verify(ctx, t, w, in, progress)
	if err == nil {
		err = reconcile.Keep(ctx, t, &reconcile.Verification{
			SiteKey: analytics.SiteKey{SiteID: in.Site}, At: t.Now().UTC(), From: in.From, To: in.To, Of: found.Days, Found: found,
		})
	}
	return found, err
}

// verifyFleetAndKeep is verifyAndKeep for a fleet.
func verifyFleetAndKeep(ctx context.Context, t *table.Table, w telemetry.Folded, in recount.RangeIn, progress func(recount.Progress)) (recount.Differences, error) {
	found, err := recount.Verify(ctx, t, w, in, progress)
	if err == nil {
		err = recount.Keep(ctx, t, &recount.Verification{
			FleetKey: telemetry.FleetKey{FleetID: in.Fleet}, At: t.Now().UTC(), Device: in.Device, From: in.From, To: in.To, Of: found.Devices, Found: found,
		})
	}
	return found, err
}

type rebuildCommand struct {
	rangeFlags
}

// Run replaces statistics that differ from the raw facts.
func (c *rebuildCommand) Run(ctx context.Context, std streams, g *globals) (err error) {
	if c.Fleet != "" {
		_, err = c.recount(ctx, std, g, recount.Rebuild)
	} else {
		_, err = c.reconcile(ctx, std, g, reconcile.Rebuild)
	}
	return err
}

type (
	reconciler func(context.Context, *table.Table, reconcile.Folded, reconcile.RangeIn, func(reconcile.Progress)) (reconcile.Differences, error)
	recounter  func(context.Context, *table.Table, telemetry.Folded, recount.RangeIn, func(recount.Progress)) (recount.Differences, error)
)

func (r *rangeFlags) reconcile(ctx context.Context, std streams, g *globals, work reconciler) (found reconcile.Differences, err error) {
	err = r.compare(ctx, std, g, "day", func(ctx context.Context, s *store, bar *terminal.Units) error {
		from, to, err := analytics.RecentDays(ctx, s.table, r.Site, r.From, r.To, 0)
		if err == nil {
			found, err = work(ctx, s.table, s.worker, reconcile.RangeIn{Site: r.Site, From: from, To: to}, func(p reconcile.Progress) { bar.Update(p.Day, p.Done, p.Of) })
		}
		return cmdenv.SiteError(r.Site, err)
	})
	if err != nil {
		return found, err
	}
	if g.JSON {
		return found, printJSON(std.out, found)
	}
	return found, printDifferences(std.out, &found)
}

func (r *rangeFlags) recount(ctx context.Context, std streams, g *globals, work recounter) (found recount.Differences, err error) {
	err = r.compare(ctx, std, g, "device", func(ctx context.Context, s *store, bar *terminal.Units) error {
		in := recount.RangeIn{Fleet: r.Fleet, Device: r.Device, From: r.From, To: r.To}
		found, err = work(ctx, s.table, s.worker, in, func(p recount.Progress) { bar.Update(p.Device, p.Done, p.Of) })
		return devicecli.ExplainRecount(in, err)
	})
	if err != nil {
		return found, err
	}
	if g.JSON {
		return found, printJSON(std.out, found)
	}
	return found, devicecli.PrintDifferences(std.out, &found)
}

// compare folds all changes, then runs work with a progress bar that counts units.
func (r *rangeFlags) compare(ctx context.Context, std streams, g *globals, unit string, work func(context.Context, *store, *terminal.Units) error) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		if err := s.worker.Drain(ctx); err != nil { // only days with statistics are verified
			return err
		}
		bar := terminal.NewUnits(std.err, unit)
		defer bar.Close()
		err := s.folding(ctx, func(ctx context.Context) error { return work(ctx, s, bar) })
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("%w; run the same command again to continue after the last finished %s", err, unit)
		}
		return err
	})
}

func printDifferences(out io.Writer, d *reconcile.Differences) error {
	p := &printer{out: out}
	p.line("%s, %s, %s compared: %s differ", terminal.Count(d.Days, "day"), terminal.Count(d.Events, "raw event"), terminal.Count(d.Items, "derived item"), grouped(d.Count))
	if d.Repaired > 0 {
		p.line("%s repaired", grouped(d.Repaired))
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
		p.line("%s skipped because some raw events have expired, the first %s", terminal.Count(d.SealedDays, "day"), d.Sealed[0])
	}
	for _, key := range d.Busy {
		p.line("%s was written continuously and could not be compared; run the command again", printable(key))
	}
	return p.err
}

// printer prints lines and keeps the first error.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format+"\n", args...)
	}
}
