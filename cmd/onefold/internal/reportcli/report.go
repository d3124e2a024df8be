package reportcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/digest"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/table"
)

// Reports are the commands for reports that are sent regularly.
type Reports struct {
	Add    reportAdd    `cmd:"" help:"Send a report of a site every day, week or month."`
	List   reportList   `cmd:"" help:"List the reports of a site."`
	Delete reportDelete `cmd:"" help:"Delete a report."`
	Send   reportSend   `cmd:"" help:"Send a report about the last period now. A running server or worker delivers it."`
}

// reportOutput is the JSON form of a report.
type reportOutput struct {
	ID       string       `json:"id"`
	Site     string       `json:"site"`
	Name     string       `json:"name,omitempty"`
	Every    digest.Every `json:"every"`
	Hour     int          `json:"hour"`
	Channels []string     `json:"channels,omitempty"`
	Off      bool         `json:"off,omitempty"`
	Next     time.Time    `json:"next,omitzero"`
	LastSent time.Time    `json:"lastSent,omitzero"`
}

func reportOutputOf(r *digest.Report) reportOutput {
	out := reportOutput{ID: r.ReportID, Site: r.SiteID, Name: r.Name, Every: r.Every, Hour: r.Hour, Channels: r.Channels, Off: r.Off, LastSent: r.LastSent}
	if !r.Off {
		out.Next = r.Next
	}
	return out
}

type reportAdd struct {
	Site    string   `arg:"" help:"Site ID."`
	ID      string   `arg:"" optional:"" help:"Report ID (default: a new one)."`
	Every   string   `help:"Period of the report: daily, weekly or monthly. Weeks begin on Monday." enum:"daily,weekly,monthly" default:"weekly"`
	Hour    int      `help:"Hour at which it is sent, 0 to 23, in the site's time zone." default:"8"`
	Channel []string `help:"ID of a channel to send to. Repeat or separate by commas (default: all channels of the site)."`
	Name    string   `help:"Heading of the report (default: the name of the site)."`
}

// Run creates the report.
func (c *reportAdd) Run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		key := digest.Key{SiteID: c.Site, ReportID: c.ID}
		if _, err := digest.Reports.Get(ctx, s.Table, key); err == nil {
			return fmt.Errorf("report_exists: report %q already exists; `onefold site report list %s` shows it", c.ID, c.Site)
		}
		r, err := digest.Put(ctx, s.Table, digest.Report{Key: key, Name: c.Name, Every: digest.Every(c.Every), Hour: c.Hour, Channels: c.Channel})
		if err != nil {
			return cmdenv.SiteError(c.Site, err)
		}
		if env.JSON {
			return terminal.JSON(env.Out, reportOutputOf(&r))
		}
		_, err = fmt.Fprintf(env.Out, "Created report %s; it is sent next at %s. To see it now: onefold site report send %s %s\n", r.ReportID, r.Next.Format(time.RFC3339), c.Site, r.ReportID)
		return err
	})
}

type reportList struct {
	Site string `arg:"" help:"Site ID."`
}

// Run lists the reports.
func (c *reportList) Run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		if _, err := analytics.GetSite(ctx, s.Table, c.Site); err != nil {
			return cmdenv.SiteError(c.Site, err)
		}
		all, err := digest.ReportsOfSite.Collect(ctx, s.Table, digest.SiteIn{SiteID: c.Site})
		if err != nil {
			return err
		}
		if env.JSON {
			out := make([]reportOutput, len(all))
			for i := range all {
				out[i] = reportOutputOf(&all[i])
			}
			return terminal.JSON(env.Out, out)
		}
		if len(all) == 0 {
			_, err := fmt.Fprintf(env.Out, "No reports yet. Create one with: onefold site report add %s --every weekly\n", c.Site)
			return err
		}
		w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "REPORT\tEVERY\tHOUR\tNEXT\tCHANNELS\tNAME")
		for i := range all {
			r, next := &all[i], all[i].Next.Format(time.RFC3339)
			if r.Off {
				next = "off"
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", r.ReportID, r.Every, r.Hour, next, cmp.Or(strings.Join(r.Channels, ", "), "all"), terminal.Printable(r.Name))
		}
		return w.Flush()
	})
}

// oneReport names a report of a site.
type oneReport struct {
	Site string `arg:"" help:"Site ID."`
	ID   string `arg:"" help:"Report ID."`
}

func (c *oneReport) key() digest.Key { return digest.Key{SiteID: c.Site, ReportID: c.ID} }

// explain adds advice to an error about a report.
func (c *oneReport) explain(err error) error {
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return fmt.Errorf("no_such_report: there is no report %q; `onefold site report list %s` lists all reports", c.ID, c.Site)
	}
	return err
}

type reportDelete struct{ oneReport }

// Run deletes the report.
func (c *reportDelete) Run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		if _, err := digest.Delete(ctx, s.Table, c.key()); err != nil {
			return c.explain(err)
		}
		_, err := fmt.Fprintf(env.Out, "Deleted report %s.\n", c.ID)
		return err
	})
}

type reportSend struct{ oneReport }

// Run sends a report now.
func (c *reportSend) Run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		n, err := digest.SendNow(ctx, s.Table, c.key())
		if err != nil {
			return c.explain(err)
		}
		if n == 0 {
			return fmt.Errorf("no_channel: the report has no channel to go to; create one with `onefold site channel add %s`", c.Site)
		}
		_, err = fmt.Fprintf(env.Out, "%s of report %s wait to be sent by a running server or worker.\n", terminal.Count(n, "message"), c.ID)
		return err
	})
}
