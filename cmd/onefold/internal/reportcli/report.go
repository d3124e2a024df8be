package reportcli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

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
		if err := unused(ctx, s, reportNoun, digest.Reports, key, c.Site, c.ID); err != nil {
			return err
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
	l := listing[digest.Report, reportOutput]{
		site: c.Site, output: reportOutputOf, header: "REPORT\tEVERY\tHOUR\tNEXT\tCHANNELS\tNAME",
		all: func(ctx context.Context, t *table.Table) ([]digest.Report, error) {
			return digest.ReportsOfSite.Collect(ctx, t, digest.SiteIn{SiteID: c.Site})
		},
		empty: fmt.Sprintf("No reports yet. Create one with: onefold site report add %s --every weekly", c.Site),
		row: func(r *digest.Report) string {
			next := r.Next.Format(time.RFC3339)
			if r.Off {
				next = "off"
			}
			return fmt.Sprintf("%s\t%s\t%d\t%s\t%s\t%s", r.ReportID, r.Every, r.Hour, next, cmp.Or(strings.Join(r.Channels, ", "), "all"), terminal.Printable(r.Name))
		},
	}
	return l.run(ctx, env)
}

// oneReport names a report of a site.
type oneReport struct {
	Site string `arg:"" help:"Site ID."`
	ID   string `arg:"" help:"Report ID."`
}

func (c *oneReport) key() digest.Key { return digest.Key{SiteID: c.Site, ReportID: c.ID} }

type reportDelete struct{ oneReport }

// Run deletes the report.
func (c *reportDelete) Run(ctx context.Context, env *cmdenv.Env) error {
	return reportNoun.remove(ctx, env, c.Site, c.ID, func(t *table.Table) error {
		_, err := digest.Delete(ctx, t, c.key())
		return err
	})
}

type reportSend struct{ oneReport }

// Run sends a report now.
func (c *reportSend) Run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		n, err := digest.SendNow(ctx, s.Table, c.key())
		if err != nil {
			return reportNoun.missing(c.Site, c.ID, err)
		}
		if n == 0 {
			return fmt.Errorf("no_channel: the report has no channel to go to; create one with `onefold site channel add %s`", c.Site)
		}
		_, err = fmt.Fprintf(env.Out, "%s of report %s wait to be sent by a running server or worker.\n", terminal.Count(n, "message"), c.ID)
		return err
	})
}
