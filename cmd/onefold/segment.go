package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/segments"
	"github.com/onefold/onefold/server/accounts"
)

type segmentCommands struct {
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

// segmentFailed adds stable codes to errors.
func segmentFailed(site string, err error) error {
	switch {
	case errors.Is(err, segments.ErrSegment):
		return fmt.Errorf("bad_segment: %w", err)
	case errors.Is(err, segments.ErrTaken):
		return fmt.Errorf("segment_exists: %w", err)
	case errors.Is(err, segments.ErrUnknown):
		return fmt.Errorf("unknown_segment: %w; `onefold segment list --site %s` lists all segments", err, site)
	}
	return siteError(site, err)
}

type segmentList struct {
	Site string `required:"" help:"Site ID."`
}

// Run lists the segments of the site.
func (c *segmentList) Run(ctx context.Context, std streams, g *globals) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		if _, err := analytics.GetSite(ctx, s.table, c.Site); err != nil {
			return siteError(c.Site, err)
		}
		all, err := segments.List(ctx, s.table, c.Site)
		if err != nil {
			return err
		}
		list := make([]segmentOutput, len(all))
		for i := range all {
			list[i] = outputOfSegment(&all[i])
		}
		if g.JSON {
			return printJSON(std.out, list)
		}
		if len(list) == 0 {
			_, err := fmt.Fprintf(std.out, "No segments yet. Create one with: onefold segment create --site %s NAME --filter country:is:DE\n", c.Site)
			return err
		}
		w := tabwriter.NewWriter(std.out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tFILTERS\tDESCRIPTION")
		for _, s := range list {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.ID, printable(s.Name), printable(strings.Join(s.Filters, " and ")), printable(s.Description))
		}
		return w.Flush()
	})
}

type segmentCreate struct {
	Site        string   `required:"" help:"Site ID."`
	Name        string   `arg:"" help:"Name, unique within the site. The segment's ID is made of it."`
	Filter      []string `required:"" sep:"none" help:"Filter dimension:op:value|value, such as 'country:is:DE|AT'. Repeat for more; visits must match all." placeholder:"FILTER"`
	Description string   `help:"Purpose of the segment."`
}

// Run creates the segment.
func (c *segmentCreate) Run(ctx context.Context, std streams, g *globals) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		n := segments.Segment{Key: segments.Key{SiteID: c.Site}, Name: c.Name, Description: c.Description, Filters: c.Filter, Owner: byCommand}
		stored, created, err := segments.Create(ctx, s.table, n)
		if err == nil && created {
			err = s.recordSegment(ctx, "create", &stored, nil, outputOfSegment(&stored))
		}
		if err != nil {
			return segmentFailed(c.Site, err)
		}
		return printSegment(std, g, &stored)
	})
}

func (s *store) recordSegment(ctx context.Context, did string, of *segments.Segment, before, after any) error {
	return s.accounts.RecordChange(ctx, accounts.Entry{Actor: byCommand, Action: "segment." + did, Site: of.SiteID, Subject: of.SegmentID}, before, after)
}

func printSegment(std streams, g *globals, s *segments.Segment) error {
	if g.JSON {
		return printJSON(std.out, outputOfSegment(s))
	}
	_, err := fmt.Fprintf(std.out, "%s: %s. Use it as the filter segment:is:%s.\n", s.SegmentID, printable(strings.Join(s.Filters, " and ")), s.SegmentID)
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
func (c *segmentUpdate) Run(ctx context.Context, std streams, g *globals) error {
	if c.Name == "" && c.Filter == nil && c.Description == nil {
		return fmt.Errorf("no_change: give --name, --filter or --description")
	}
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		found, err := segments.Find(ctx, s.table, c.Site, c.ID)
		if err == nil && c.Filter != nil {
			err = s.checkUnshared(ctx, &found)
		}
		if err != nil {
			return segmentFailed(c.Site, err)
		}
		before, after, err := segments.Update(ctx, s.table, found.Key, func(g *segments.Segment) error {
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
			err = s.recordSegment(ctx, "update", &after, outputOfSegment(&before), outputOfSegment(&after))
		}
		if err != nil {
			return segmentFailed(c.Site, err)
		}
		return printSegment(std, g, &after)
	})
}

// checkUnshared rejects a change of what shared links show.
func (s *store) checkUnshared(ctx context.Context, of *segments.Segment) error {
	shares, err := s.accounts.Shares(ctx, of.SiteID)
	if err != nil {
		return err
	}
	for i := range shares {
		if only := shares[i].Segment; only != nil && only.ID == of.SegmentID {
			return fmt.Errorf("segment_in_use: the shared link %q shows only this segment; revoke it first, in the dashboard under Settings, Sharing", shares[i].Name)
		}
	}
	return nil
}

type segmentDelete struct {
	Site string `required:"" help:"Site ID."`
	ID   string `arg:"" help:"ID or name of the segment."`
}

// Run deletes the segment.
func (c *segmentDelete) Run(ctx context.Context, std streams, g *globals) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		found, err := segments.Find(ctx, s.table, c.Site, c.ID)
		if err == nil {
			err = s.checkUnshared(ctx, &found)
		}
		if err == nil {
			found, err = segments.Delete(ctx, s.table, found.Key)
		}
		if err == nil {
			err = s.recordSegment(ctx, "delete", &found, outputOfSegment(&found), nil)
		}
		if err != nil {
			return segmentFailed(c.Site, err)
		}
		if g.JSON {
			return printJSON(std.out, map[string]string{"deleted": found.SegmentID})
		}
		_, err = fmt.Fprintln(std.out, "deleted")
		return err
	})
}
