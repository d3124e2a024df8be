package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/table"
)

type importsCommands struct {
	List   importsList   `cmd:"" help:"List the imports of a site."`
	Delete importsDelete `cmd:"" help:"Delete an import and subtract its counts."`
}

type importsList struct {
	Site string `required:"" help:"Site ID."`
}

// Run lists the imports of the site.
func (c *importsList) Run(ctx context.Context, std streams, g *globals) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		if _, err := analytics.GetSite(ctx, s.table, c.Site); err != nil {
			return cmdenv.SiteError(c.Site, err)
		}
		all, err := imported.ImportsOfSite.Collect(ctx, s.table, imported.SiteIn{SiteID: c.Site})
		if err != nil {
			return err
		}
		return terminal.List[imported.Import]{JSON: g.JSON, Columns: "ID\tFORMAT\tSTATE\tFROM\tTO\tPAGE VIEWS\tVISITS\tIMPORTED", Row: func(im *imported.Import) []any {
			return []any{im.ImportID, im.Format, im.State, im.From, im.To, grouped(im.PageViews), grouped(im.Visits), im.At.Format("2006-01-02 15:04")}
		}}.Print(std.out, all)
	})
}

type importsDelete struct {
	Site string `required:"" help:"Site ID."`
	ID   string `arg:"" help:"Import ID, as shown by imports list."`
}

// Run deletes the import.
func (c *importsDelete) Run(ctx context.Context, std streams, g *globals) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		if _, err := analytics.GetSite(ctx, s.table, c.Site); err != nil {
			return cmdenv.SiteError(c.Site, err)
		}
		err := imported.Delete(ctx, s.table, imported.ImportKey{SiteID: c.Site, ImportID: c.ID})
		if errors.Is(err, table.ErrNotFound) {
			return fmt.Errorf("no_such_import: there is no import %q; `onefold imports list --site %s` lists all imports", c.ID, c.Site)
		}
		if err != nil {
			return err
		}
		if g.JSON {
			return printJSON(std.out, map[string]string{"deleted": c.ID})
		}
		_, err = fmt.Fprintln(std.out, "deleted")
		return err
	})
}
