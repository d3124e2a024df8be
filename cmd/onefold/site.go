package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/storeurl"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/cmd/onefold/internal/reportcli"
	"github.com/onefold/onefold/internal/mask"
	"github.com/onefold/onefold/table"
)

type siteCommands struct {
	Create siteCreate `cmd:"" help:"Create a site."`
	List   siteList   `cmd:"" help:"List the sites."`
	Show   siteShow   `cmd:"" help:"Show a site's settings."`

	Channel reportcli.Channels `cmd:"" help:"Set where the reports and alerts of a site are sent."`
	Report  reportcli.Reports  `cmd:"" help:"Send reports of a site every day, week or month."`
	Alert   reportcli.Alerts   `cmd:"" help:"Send alerts when the traffic of a site is unusual."`

	Mask    siteMask    `cmd:"" help:"Show, set and try what is masked in a site's paths."`
	Reshard siteReshard `cmd:"" help:"Set how many partitions hold a site's future events. Nothing is rewritten; reads merge all partitions."`
}

type siteCreate struct {
	ID       string   `arg:"" help:"Site ID, as the tracker sends it: lower-case letters, digits, '.', '-' and '_'."`
	Timezone string   `help:"IANA time zone of the site's days, such as Europe/Berlin." default:"UTC" env:"ONEFOLD_TIMEZONE"`
	Domain   []string `help:"Domain of the site. Repeat for more."`
}

// siteOutput is the JSON form of a site. It omits the import key, which is secret.
type siteOutput struct {
	ID        string     `json:"id"`
	TimeZone  string     `json:"timezone"`
	Domains   []string   `json:"domains"`
	CreatedAt time.Time  `json:"createdAt"`
	Shards    int        `json:"shards"`
	Retention string     `json:"retention"`
	Mask      mask.Rules `json:"mask"`
}

func outputOf(s analytics.Site) siteOutput {
	domains := s.Domains
	if domains == nil {
		domains = []string{}
	}
	return siteOutput{
		ID: s.SiteID, TimeZone: s.TimeZone, Domains: domains, CreatedAt: s.CreatedAt,
		Shards: s.Sharding.At(time.Now()), Retention: retention(s.Retention), Mask: s.Mask,
	}
}

// Run creates the site.
func (c *siteCreate) Run(ctx context.Context, std streams, g *globals) error {
	return g.withStore(ctx, std.err, tuning{}, func(s *store) error {
		site, err := analytics.CreateSite(ctx, s.table, analytics.NewSite{ID: c.ID, TimeZone: c.Timezone, Domains: c.Domain})
		if errors.Is(err, table.ErrExists) {
			return fmt.Errorf("site_exists: site %q already exists; `onefold site show %s` shows it", c.ID, c.ID)
		}
		if err != nil {
			return err
		}
		if g.JSON {
			return printJSON(std.out, outputOf(site))
		}
		_, err = fmt.Fprintf(std.out, "Created %s (%s). Next: onefold import --site %s access.log, or onefold serve.\n", site.SiteID, site.TimeZone, site.SiteID)
		return err
	})
}

type siteList struct{}

// Run lists the sites.
func (c *siteList) Run(ctx context.Context, std streams, g *globals) error {
	sites := []siteOutput{}
	err := g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		for site, err := range analytics.ListSites(ctx, s.table, "") {
			if err != nil {
				return err
			}
			sites = append(sites, outputOf(site))
		}
		return nil
	})
	if err != nil && !errors.Is(err, storeurl.ErrNoTable) {
		return err
	}
	return terminal.List[siteOutput]{
		JSON: g.JSON, Empty: "No sites yet. Create one with: onefold site create my-site", Columns: "SITE\tTIME ZONE\tDOMAINS\tCREATED",
		Row: func(s *siteOutput) []any {
			return []any{s.ID, s.TimeZone, strings.Join(s.Domains, ", "), s.CreatedAt.Format(time.DateOnly)}
		},
	}.Print(std.out, sites)
}

// retention describes how long each tier is kept.
func retention(r analytics.Retention) string {
	days := func(d time.Duration) string {
		if d == 0 {
			return "forever"
		}
		return fmt.Sprintf("%d d", int(d.Hours()/24))
	}
	return fmt.Sprintf("raw %s, hours %s, days %s, months %s", days(r.Raw()), days(r.Of(analytics.Hour)), days(r.Of(analytics.Day)), days(r.Of(analytics.Month)))
}

type siteShow struct {
	ID string `arg:"" help:"Site ID."`
}

// Run shows the site.
func (c *siteShow) Run(ctx context.Context, std streams, g *globals) error {
	get := func(t *table.Table) (analytics.Site, error) { return analytics.GetSite(ctx, t, c.ID) }
	return g.withSite(ctx, std, c.ID, get, func(site *analytics.Site) error {
		out := outputOf(*site)
		w := tabwriter.NewWriter(std.out, 0, 8, 2, ' ', 0)
		fmt.Fprintf(w, "site\t%s\ntime zone\t%s\ndomains\t%s\ncreated\t%s\npartitions\t%d\nretention\t%s\nmasks\t%s\n",
			out.ID, out.TimeZone, strings.Join(out.Domains, ", "), out.CreatedAt.Format(time.RFC3339), out.Shards, out.Retention, masks(&site.Mask))
		return w.Flush()
	})
}

// withSite gets or changes a site, then prints it as JSON, or for people with tell.
func (g *globals) withSite(ctx context.Context, std streams, id string, get func(*table.Table) (analytics.Site, error), tell func(*analytics.Site) error) error {
	return g.withStore(ctx, std.err, tuning{existing: true}, func(s *store) error {
		site, err := get(s.table)
		if err != nil {
			return cmdenv.SiteError(id, err)
		}
		if g.JSON {
			return printJSON(std.out, outputOf(site))
		}
		return tell(&site)
	})
}

type siteReshard struct {
	ID     string `arg:"" help:"Site ID."`
	Shards int    `arg:"" help:"Number of partitions, 1 to 256. Each takes about 1,000 events per second."`
}

// Validate checks the flags. Kong calls it.
func (c *siteReshard) Validate() error {
	if c.Shards < 1 || c.Shards > table.MaxShards {
		return fmt.Errorf("bad_shards: the number of partitions must be 1 to %d, not %d", table.MaxShards, c.Shards)
	}
	return nil
}

// Run adds a step to the site's sharding history. Old steps stay, because stored events keep their
// partitions.
func (c *siteReshard) Run(ctx context.Context, std streams, g *globals) error {
	set := func(t *table.Table) (analytics.Site, error) { return analytics.SetShards(ctx, t, c.ID, c.Shards) }
	return g.withSite(ctx, std, c.ID, set, func(site *analytics.Site) error {
		step := site.Sharding[len(site.Sharding)-1]
		_, err := fmt.Fprintf(std.out, "Events of %s from %s on are spread over %s, visitors from the following day. Stored events stay where they are; reports read both.\n",
			site.SiteID, step.From.Format(time.RFC3339), terminal.Count(step.N, "partition"))
		return err
	})
}
