package report

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/analytics"

	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/analytics/internal/tally"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/decimal"
	"github.com/onefold/onefold/table"
)

// Imported says which days of a report are known from what other analytics counted. It is not nil where there are such.
type Imported struct {
	From     string `json:"from"` // first and last of these days, both in the range
	To       string `json:"to"`
	Included bool   `json:"included"` // the report counts them
	Note     string `json:"note"`     // what a reader has to know, a sentence or two
}

// What reports say of imported days. These are sums that other analytics made: of them nobody can tell more.
const (
	noteImported = "%s to %s include imported data: visitors of several days are the sum of the days."
	noteNoHours  = "%s to %s are imported and have no hours: they are not counted here. Ask by day."
	noteNoVisits = "%s to %s are imported as daily counts, without visits to look into: they are not counted here."
)

// loadImported finds what is imported of the range.
func (r *reporter) loadImported(ctx context.Context) (err error) {
	r.imported, err = findImported(ctx, r.t, &r.site, r.cal, r.in.From, r.in.To)
	if err != nil || r.in.Period == analytics.Hour {
		return err
	}
	if err = r.imported.LoadTotals(ctx, r.in.Period == analytics.Month); errors.Is(err, imported.ErrGone) {
		return fmt.Errorf("%w: %w", ErrExpired, err)
	}
	return err
}

func findImported(ctx context.Context, t *table.Table, site *analytics.Site, cal calendar.Zone, from, to string) (*imported.View, error) {
	return imported.Find(ctx, t, imported.Ask{
		SiteID: site.SiteID, From: from, To: to, KeepDays: site.Retention.Of(analytics.Day),
		OwnSince: func(ctx context.Context) (string, bool, error) { return ownSince(ctx, t, site, cal) },
	})
}

// ImportedDays says which days of a range are known from imported counts; nil for none. It is for answers that are made of
// events or visits, of which these days have none. Errors: ErrInvalid for a malformed range, table.ErrNotFound.
func ImportedDays(ctx context.Context, t *table.Table, siteID, from, to string) (*Imported, error) {
	site, err := analytics.GetSite(ctx, t, siteID)
	if err != nil {
		return nil, err
	}
	cal, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return nil, err
	}
	v, err := findImported(ctx, t, &site, cal, from, to)
	if err != nil || v == nil {
		return nil, err
	}
	return sayImported(v, noteNoVisits, false), nil
}

func sayImported(v *imported.View, note string, included bool) *Imported {
	from, to := v.Range()
	return &Imported{From: from, To: to, Included: included, Note: fmt.Sprintf(note, from, to)}
}

// aboutImported is what the report says of its imported days.
func (r *reporter) aboutImported() *Imported {
	switch {
	case r.imported == nil:
		return nil
	case r.in.Period == analytics.Hour:
		return sayImported(r.imported, noteNoHours, false)
	}
	return sayImported(r.imported, noteImported, true)
}

// withImported is a bucket with what is imported of it.
func (r *reporter) withImported(start string, own *analytics.Stats) *analytics.Stats {
	if r.imported == nil || r.in.Period == analytics.Hour {
		return own
	}
	c := r.imported.Total(start)
	return plus(own, &c)
}

// plus adds imported totals to a copy of statistics.
func plus(own *analytics.Stats, c *imported.Counts) *analytics.Stats {
	sum, n := *own, c.Sum()
	sum.NewVisitors += c.Visitors
	sum.PageViews += n.PageViews
	sum.Visits += n.Visits
	sum.Bounces += n.Bounces
	sum.Seconds += n.Seconds
	sum.Events += n.Events
	sum.EngagedMS += n.EngagedMS
	sum.Revenue = decimal.Add(sum.Revenue, n.Revenue)
	return &sum
}

// addImported adds what is imported of the report's dimension. The totals that it returns are those of which a value may be
// missing: own ones, and those of imported days on which the dimension was measured.
func (r *reporter) addImported(ctx context.Context, own *analytics.Stats, values tally.Values, other *tally.Count) (*analytics.Stats, error) {
	if r.imported == nil || r.in.Period == analytics.Hour {
		return own, nil
	}
	covered, err := r.imported.Values(ctx, r.in.By, values, other)
	if errors.Is(err, imported.ErrGone) {
		err = fmt.Errorf("%w: %w", ErrExpired, err)
	}
	return plus(own, &imported.Counts{Other: covered}), err
}

// ownSince is the first day of a site that has statistics of its own; "" for none. It is not exact where only the month is
// left: it is then the month's first.
func ownSince(ctx context.Context, t *table.Table, site *analytics.Site, cal calendar.Zone) (day string, exact bool, err error) {
	exact = true
	for _, period := range []analytics.Period{analytics.Hour, analytics.Day, analytics.Month} {
		oldest, err := analytics.StatsByTime.Page(ctx, t, analytics.StatsIn{SiteID: site.SiteID, Period: period}, "", 1)
		if err != nil || len(oldest.Items) == 0 {
			if err != nil {
				return "", false, err
			}
			continue
		}
		from, _, err := oldest.Items[0].Days(cal)
		switch {
		case err != nil:
			return "", false, err
		case period != analytics.Month && (day == "" || from < day):
			day = from
		case period == analytics.Month && (day == "" || from < day && calendar.MonthOf(from) < calendar.MonthOf(day)):
			day, exact = from, false
		}
	}
	return day, exact, nil
}

// ImportInto says where imported counts of a site go: its days until it counts itself, or until today, which is not over.
func ImportInto(ctx context.Context, t *table.Table, siteID string) (into imported.Into, err error) {
	site, err := analytics.GetSite(ctx, t, siteID)
	if err != nil {
		return into, err
	}
	cal, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return into, err
	}
	since, _, err := ownSince(ctx, t, &site, cal)
	into = imported.Into{
		SiteID: siteID, Until: cal.Day(t.Now()), KeepDays: site.Retention.Of(analytics.Day), KeepMonths: site.Retention.Of(analytics.Month),
	}
	if since != "" {
		into.Until = min(into.Until, since)
	}
	return into, err
}
