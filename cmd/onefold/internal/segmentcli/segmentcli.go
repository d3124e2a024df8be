// Package segmentcli has the commands for segments of sites.
package segmentcli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/segments"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/table"
)

// byCommand is the actor in audit entries of commands.
const byCommand = "command"

// Commands are the commands for segments.
type Commands struct {
	List   segmentList   `cmd:"" help:"List the segments of a site."`
	Create segmentCreate `cmd:"" help:"Save filters as a segment. Repeating the command changes nothing."`
	Update segmentUpdate `cmd:"" help:"Change a segment's name, description or filters."`
	Delete segmentDelete `cmd:"" help:"Delete a segment."`
}

// segmentOutput is the JSON form of a segment.
type segmentOutput struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Filters     []string `json:"filters"`
	Owner       string   `json:"owner,omitempty"`
}

func outputOfSegment(s *segments.Segment) segmentOutput {
	return segmentOutput{s.SegmentID, s.Name, s.Description, s.Filters, s.Owner}
}

// Explain adds stable codes to errors of segments and of filters that name them.
func Explain(site string, err error) error {
	switch {
	case errors.Is(err, segments.ErrSegment):
		return fmt.Errorf("bad_segment: %w", err)
	case errors.Is(err, segments.ErrTaken):
		return fmt.Errorf("segment_exists: %w", err)
	case errors.Is(err, segments.ErrUnknown):
		return fmt.Errorf("unknown_segment: %w; `onefold segment list --site %s` lists all segments", err, site)
	}
	return cmdenv.SiteError(site, err)
}

type segmentList struct {
	Site string `required:"" help:"Site ID."`
}

// Run lists the segments of the site.
func (c *segmentList) Run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		if _, err := analytics.GetSite(ctx, s.Table, c.Site); err != nil {
			return Explain(c.Site, err)
		}
		all, err := segments.List(ctx, s.Table, c.Site)
		if err != nil {
			return err
		}
		list := make([]segmentOutput, len(all))
		for i := range all {
			list[i] = outputOfSegment(&all[i])
		}
		return terminal.List[segmentOutput]{
			JSON: env.JSON, Columns: "ID\tNAME\tFILTERS\tDESCRIPTION",
			Empty: fmt.Sprintf("No segments yet. Create one with: onefold segment create --site %s NAME --filter country:is:DE", c.Site),
			Row: func(s *segmentOutput) []any {
				return []any{s.ID, terminal.Printable(s.Name), terminal.Printable(strings.Join(s.Filters, " and ")), terminal.Printable(s.Description)}
			},
		}.Print(env.Out, list)
	})
}

type segmentCreate struct {
	Site        string   `required:"" help:"Site ID."`
	Name        string   `arg:"" help:"Name, unique within the site. The segment's ID is made of it."`
	Filter      []string `required:"" sep:"none" help:"Filter dimension:op:value|value, such as 'country:is:DE|AT'. Repeat for more; visits must match all." placeholder:"FILTER"`
	Description string   `help:"Purpose of the segment."`
}

// Run creates the segment.
func (c *segmentCreate) Run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		n := segments.Segment{Key: segments.Key{SiteID: c.Site}, Name: c.Name, Description: c.Description, Filters: c.Filter, Owner: byCommand}
		stored, created, err := segments.Create(ctx, s.Table, n)
		if err == nil && created {
			err = recordSegment(ctx, s.Table, "create", &stored, nil, outputOfSegment(&stored))
		}
		if err != nil {
			return Explain(c.Site, err)
		}
		return printSegment(env, &stored)
	})
}

func recordSegment(ctx context.Context, t *table.Table, did string, of *segments.Segment, before, after any) error {
	return accounts.New(t, accounts.Options{}).RecordChange(ctx, accounts.Entry{Actor: byCommand, Action: "segment." + did, Site: of.SiteID, Subject: of.SegmentID}, before, after)
}

func printSegment(env *cmdenv.Env, s *segments.Segment) error {
	if env.JSON {
		return terminal.JSON(env.Out, outputOfSegment(s))
	}
	_, err := fmt.Fprintf(env.Out, "%s: %s. Use it as the filter segment:is:%s.\n", s.SegmentID, terminal.Printable(strings.Join(s.Filters, " and ")), s.SegmentID)
	return err
}

type segmentUpdate struct {
	Site        string   `required:"" help:"Site ID."`
	ID          string   `arg:"" help:"ID or name of the segment."`
	Name        string   `help:"New name. The ID stays."`
	Filter      []string `sep:"none" help:"New filters, instead of the present ones. Repeat for more." placeholder:"FILTER"`
	Description *string  `help:"New description; '' for none."`
}

// Run changes the segment.
func (c *segmentUpdate) Run(ctx context.Context, env *cmdenv.Env) error {
	if c.Name == "" && c.Filter == nil && c.Description == nil {
		return fmt.Errorf("no_change: give --name, --filter or --description")
	}
	return env.Open(ctx, func(s *cmdenv.Store) error {
		found, err := segments.Find(ctx, s.Table, c.Site, c.ID)
		if err == nil && c.Filter != nil && !slices.Equal(c.Filter, found.Filters) {
			err = checkUnshared(ctx, s.Table, &found)
		}
		if err != nil {
			return Explain(c.Site, err)
		}
		before, after, err := segments.Update(ctx, s.Table, found.Key, func(g *segments.Segment) error {
			if c.Name != "" {
				g.Name = c.Name
			}
			if c.Filter != nil {
				g.Filters = c.Filter
			}
			if c.Description != nil {
				g.Description = *c.Description
			}
			return nil
		})
		if err == nil && !after.Same(&before) {
			err = recordSegment(ctx, s.Table, "update", &after, outputOfSegment(&before), outputOfSegment(&after))
		}
		if err != nil {
			return Explain(c.Site, err)
		}
		return printSegment(env, &after)
	})
}

// checkUnshared rejects a change of what shared links show.
func checkUnshared(ctx context.Context, t *table.Table, of *segments.Segment) error {
	shares, err := accounts.New(t, accounts.Options{}).Shares(ctx, of.SiteID)
	if err != nil {
		return err
	}
	if names := accounts.ShowingOnly(of.SegmentID, shares); len(names) > 0 {
		return fmt.Errorf("segment_in_use: the shared link %q shows only this segment; revoke it first, in the dashboard under Settings, Sharing", names[0])
	}
	return nil
}

type segmentDelete struct {
	Site string `required:"" help:"Site ID."`
	ID   string `arg:"" help:"ID or name of the segment."`
}

// Run deletes the segment.
func (c *segmentDelete) Run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		found, err := segments.Find(ctx, s.Table, c.Site, c.ID)
		if err == nil {
			err = checkUnshared(ctx, s.Table, &found)
		}
		if err == nil {
			found, err = segments.Delete(ctx, s.Table, found.Key)
		}
		if err == nil {
			err = recordSegment(ctx, s.Table, "delete", &found, outputOfSegment(&found), nil)
		}
		if err != nil {
			return Explain(c.Site, err)
		}
		if env.JSON {
			return terminal.JSON(env.Out, map[string]string{"deleted": found.SegmentID})
		}
		_, err = fmt.Fprintln(env.Out, "deleted")
		return err
	})
}
