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

// Imported describes the days of a report that come from other analytics products. It is nil if
// there are none.
type Imported struct {
	From     string `json:"from"` // first and last of these days within the range
	To       string `json:"to"`
	Included bool   `json:"included"` // whether the report counts them
	Note     string `json:"note"`     // a remark for readers, a sentence or two
}

// Notes about imported days. These days are sums computed elsewhere and cannot be broken down
// further.
const (
	noteImported = "%s to %s include imported data: visitors of several days are the sum of the days."
	noteNoHours  = "%s to %s are imported and have no hours: they are not counted here. Ask by day."
	noteNoVisits = "%s to %s are imported as daily counts, without visits to look into: they are not counted here."
)

// loadImported loads the imported counts of the range.
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
	return imported.Find(ctx, t, imported.Selection{
		SiteID: site.SiteID, From: from, To: to, KeepDays: site.Retention.Of(analytics.Day),
		OwnSince: func(ctx context.Context) (string, bool, error) { return ownSince(ctx, t, site, cal) },
	})
}

// ImportedDays returns the days of a range with imported counts, or nil. It is for answers computed
// from events or visits, which these days lack. Errors: table.ErrNotFound for the site.
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

// aboutImported returns the report's remark about imported days.
func (r *reporter) aboutImported() *Imported {
	switch {
	case r.imported == nil:
		return nil
	case r.in.Period == analytics.Hour:
		return sayImported(r.imported, noteNoHours, false)
	}
	return sayImported(r.imported, noteImported, true)
}

// withImported returns a bucket with its imported counts added.
func (r *reporter) withImported(start string, own *analytics.Stats) *analytics.Stats {
	if r.imported == nil || r.in.Period == analytics.Hour {
		return own
	}
	c := r.imported.Total(start)
	return plus(own, &c)
}

// plus returns a copy of own with imported totals added.
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

// addImported adds the imported counts of the report's dimension. It returns the totals against
// which missing values are computed: own totals, and those of imported days that measured the
// dimension.
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

// ownSince returns the first day with the site's own statistics, or "". exact is false if only the
// month is left; day is then the first of the month.
func ownSince(ctx context.Context, t *table.Table, site *analytics.Site, cal calendar.Zone) (day string, exact bool, err error) {
	exact = true
	for _, period := range []analytics.Period{analytics.Hour, analytics.Day, analytics.Month} {
		oldest, err := analytics.StatsByTime.Page(ctx, t, site.StatsIn(period, "", ""), "", 1)
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

// ImportInto returns the destination of imported counts: the site's days before its own counts, and
// before today, which is not over. Errors: table.ErrNotFound for the site.
func ImportInto(ctx context.Context, t *table.Table, siteID string) (into imported.Destination, err error) {
	site, err := analytics.GetSite(ctx, t, siteID)
	if err != nil {
		return into, err
	}
	cal, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return into, err
	}
	masks, err := site.Mask.Compile()
	if err != nil {
		return into, err
	}
	since, _, err := ownSince(ctx, t, &site, cal)
	into = imported.Destination{
		SiteID: siteID, Until: cal.Day(t.Now()), KeepDays: site.Retention.Of(analytics.Day), KeepMonths: site.Retention.Of(analytics.Month),
		Mask: masks,
	}
	if since != "" {
		into.Until = min(into.Until, since)
	}
	return into, err
}
