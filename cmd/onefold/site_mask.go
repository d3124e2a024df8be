package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/internal/mask"
	"github.com/onefold/onefold/table"
)

type siteMask struct {
	Show siteMaskShow `cmd:"" help:"Show what is masked."`
	Set  siteMaskSet  `cmd:"" help:"Set what is masked in events from now on."`
	Try  siteMaskTry  `cmd:"" help:"Print how paths are masked. Nothing is stored."`
}

// noMask clears a list of rules.
const noMask = "none"

// maskFlags are rules of a command line. A list that is not given stays unchanged.
type maskFlags struct {
	Detect  []string `help:"Detectors: 'email', 'phone', 'uuid', 'token', or 'none'. Replaces the list."`
	Pattern []string `sep:"none" help:"Pattern of paths, such as '/customers/:customer/**', or none. Repeat for more. Replaces the list."`
}

// apply changes rules as the flags say.
func (f *maskFlags) apply(r *mask.Rules) {
	if f.Detect != nil {
		r.Detect = nil
		for _, kind := range f.Detect {
			if kind != noMask {
				r.Detect = append(r.Detect, mask.Kind(kind))
			}
		}
	}
	if f.Pattern != nil {
		r.Paths = slices.DeleteFunc(slices.Clone(f.Pattern), func(p string) bool { return p == noMask })
	}
}

// Validate checks the flags. Kong calls it.
func (f *maskFlags) Validate() error {
	var r mask.Rules
	f.apply(&r)
	if _, err := r.Compile(); err != nil {
		return fmt.Errorf("bad_%w", err) // bad_mask: …
	}
	return nil
}

type siteMaskShow struct {
	ID string `arg:"" help:"Site ID."`
}

// Run shows what the site masks.
func (c *siteMaskShow) Run(ctx context.Context, std streams, g *globals) error {
	get := func(t *table.Table) (analytics.Site, error) { return analytics.GetSite(ctx, t, c.ID) }
	return g.withSite(ctx, std, c.ID, get, func(site *analytics.Site) error { return printMask(std, site) })
}

type siteMaskSet struct {
	ID string `arg:"" help:"Site ID."`
	maskFlags
}

// Run changes what the site masks.
func (c *siteMaskSet) Run(ctx context.Context, std streams, g *globals) error {
	if c.Detect == nil && c.Pattern == nil {
		return fmt.Errorf("no_change: give --detect or --pattern; `onefold site mask show %s` shows the present rules", c.ID)
	}
	change := func(t *table.Table) (analytics.Site, error) {
		return analytics.UpdateSite(ctx, t, c.ID, func(site *analytics.Site) error {
			c.apply(&site.Mask)
			return nil
		})
	}
	return g.withSite(ctx, std, c.ID, change, func(site *analytics.Site) error { return printMask(std, site) })
}

type siteMaskTry struct {
	ID    string   `arg:"" help:"Site ID."`
	Paths []string `arg:"" name:"path" help:"Paths or URLs."`
	maskFlags
}

// Run prints the paths as events would have them.
func (c *siteMaskTry) Run(ctx context.Context, std streams, g *globals) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		site, err := analytics.GetSite(ctx, s.table, c.ID)
		if err != nil {
			return cmdenv.SiteError(c.ID, err)
		}
		c.apply(&site.Mask)
		stored, err := analytics.StoredPaths(&site, c.Paths)
		if err != nil {
			return cmdenv.SiteError(c.ID, err)
		}
		if g.JSON {
			return printJSON(std.out, stored)
		}
		for _, path := range stored {
			if _, err := fmt.Fprintln(std.out, printable(path)); err != nil {
				return err
			}
		}
		return nil
	})
}

func printMask(std streams, site *analytics.Site) error {
	w := tabwriter.NewWriter(std.out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "detectors\t%s\n", cmp.Or(detectors(&site.Mask), noMask))
	for _, pattern := range site.Mask.Paths {
		fmt.Fprintf(w, "pattern\t%s\n", printable(pattern))
	}
	return w.Flush()
}

// masks describes rules in one line.
func masks(r *mask.Rules) string {
	return fmt.Sprintf("%s; %d patterns", cmp.Or(detectors(r), noMask), len(r.Paths))
}

func detectors(r *mask.Rules) string {
	names := make([]string, len(r.Detect))
	for i, kind := range r.Detect {
		names[i] = string(kind)
	}
	return strings.Join(names, ", ")
}
