package explore

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
)

// Kind is what to export.
type Kind string

// The kinds of exports.
const (
	Events   Kind = "events"   // raw events in order of time
	Sessions Kind = "sessions" // sessions in order of start
	Stats    Kind = "stats"    // figures by bucket
)

// ExportIn selects the content of an export.
type ExportIn struct {
	Range
	Filters []Filter
	Kind    Kind
	Format  Format
	Period  analytics.Period // for Stats; default analytics.Day
}

// Export writes rows as they are read, so its memory does not depend on their number, except that
// an export of events with filters holds one day at a time. After an error the output is
// incomplete. Errors: ErrQuestion, ErrTooMuch, ErrGone, ErrArchive, report.ErrInvalid,
// report.ErrExpired, table.ErrNotFound, those of w.
func (x *Explorer) Export(ctx context.Context, in ExportIn, w io.Writer) error {
	names := map[Kind][]string{Events: eventColumns, Sessions: sessionColumns, Stats: statsColumns}[in.Kind]
	if names == nil {
		return fmt.Errorf("%w: export %q: want events, sessions or stats", ErrQuestion, in.Kind)
	}
	if err := in.check(); err != nil {
		return err
	}
	sheet, err := NewSheet(w, in.Format, names)
	if err != nil {
		return err
	}
	switch in.Kind {
	case Events:
		err = x.exportEvents(ctx, in, sheet)
	case Sessions:
		_, err = x.eachSession(ctx, in.Range, in.Filters, x.out, func(s *analytics.Session) error { return sheet.Row(sessionRow(s)...) })
	default:
		err = x.exportStats(ctx, in, sheet)
	}
	if err != nil {
		return err
	}
	return sheet.Close()
}

// exportEvents streams the events. With filters it reads each day twice: first to find the selected
// visits.
func (x *Explorer) exportEvents(ctx context.Context, in ExportIn, sheet *Sheet) error {
	s, err := x.siteOf(ctx, in.Range)
	if err != nil {
		return err
	}
	if len(in.Filters) == 0 && x.o.Archive == nil {
		return s.writeEvents(ctx, in.From, in.To, sheet, nil)
	}
	if s, err = x.scan(ctx, in.Range, in.Filters); err != nil {
		return err
	}
	s.turn = x.out
	if len(in.Filters) == 0 {
		for _, day := range s.days {
			if err := s.writeEvents(ctx, day, day, sheet, nil); err != nil {
				return err
			}
		}
		return nil
	}
	return s.eachRaw(ctx, func(day string, all []*visit) error {
		wanted := make(map[string]bool)
		for _, v := range all {
			for i := range v.facts {
				wanted[v.facts[i].id] = true
			}
		}
		if len(wanted) == 0 {
			return nil
		}
		return s.writeEvents(ctx, day, day, sheet, wanted)
	})
}

// writeEvents writes the events of a range of days with the wanted IDs; nil means all.
func (s *scan) writeEvents(ctx context.Context, first, last string, sheet *Sheet, wanted map[string]bool) error {
	from, err := s.cal.Start(first)
	if err != nil {
		return err
	}
	_, to, err := s.cal.Bounds(last)
	if err != nil {
		return err
	}
	events := analytics.EventsBetween(&s.site, from, to, "").All(ctx, s.x.t)
	if _, archived := s.archived[first]; archived { // such ranges are one day
		events = s.x.archived(ctx, s.site.SiteID, from, to)
	}
	for e, err := range events {
		if err != nil {
			return fmt.Errorf("explore: export events of %s: %w", s.site.SiteID, err)
		}
		if e.Erased || wanted != nil && !wanted[e.EventID] {
			continue
		}
		if err := sheet.Row(eventRow(&e)...); err != nil {
			return err
		}
	}
	return nil
}

var eventColumns = slices.Concat(
	[]string{"at", "id", "kind", "name", "path", "hostname", "visitor", "session", "user"}, traitColumns(),
	[]string{"revenue", "engaged_ms", "scroll", "lcp", "inp", "cls", "properties", "paid", "paid_currency"},
)

// traitColumns returns the columns of the dimensions that are traits; appendTraits fills them.
func traitColumns() (names []string) {
	for _, d := range analytics.TraitDefs {
		names = append(names, string(d.Name))
	}
	return names
}

func appendTraits(row []any, t *analytics.Traits) []any {
	for _, d := range analytics.TraitDefs {
		row = append(row, *d.Of(t))
	}
	return row
}

func eventRow(e *analytics.Event) []any {
	kind := "pageview"
	if e.Name != "" {
		kind = "event"
	}
	properties := e.Properties
	if properties == nil {
		properties = map[string]string{}
	}
	row := append(make([]any, 0, len(eventColumns)), moment(timeOf(e.EventID)), e.EventID, kind, e.Name, e.Path, e.Host, e.VisitorID, e.SessionID, e.UserID)
	row = appendTraits(row, &e.Traits)
	return append(row, amount(cmp.Or(e.Revenue, "0")), e.EngagedMS, int64(e.Scroll), e.LCP, e.INP, e.Shift(), properties, amount(e.Paid.Amount), e.Paid.Currency)
}

var sessionColumns = append([]string{
	"id", "start", "end", "seconds", "entry", "exit", "page_views", "events", "conversions", "revenue", "visitor", "user",
}, traitColumns()...)

func sessionRow(s *analytics.Session) []any {
	row := append(make([]any, 0, len(sessionColumns)), s.SessionID, moment(s.Start), moment(s.End), (s.End-s.Start)/1000, s.EntryPath, s.ExitPath,
		s.PageViews, s.Events, s.Conversions, amount(cmp.Or(s.Revenue, "0")), s.VisitorID, s.UserID)
	return appendTraits(row, &s.Traits)
}

// moment formats a time in epoch milliseconds.
func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

var statsColumns = []string{
	"start", "visitors", "visits", "page_views", "events", "bounces", "seconds", "revenue", "conversions", "engaged_seconds",
}

func (x *Explorer) exportStats(ctx context.Context, in ExportIn, sheet *Sheet) error {
	ask := report.Request{Site: in.Site, From: in.From, To: in.To, Period: in.Period}
	var out report.Report
	var err error
	if len(in.Filters) == 0 {
		out, err = report.Statistics(ctx, x.t, ask)
	} else {
		var counted Report
		counted, err = x.Report(ctx, ask, in.Filters)
		out = counted.Report
	}
	if err != nil {
		return err
	}
	for _, b := range out.Buckets {
		err := sheet.Row(b.Start, b.Visitors, b.Visits, b.PageViews, b.Events, b.Bounces, b.Seconds, amount(b.Revenue), b.Conversions, b.EngagedSeconds)
		if err != nil {
			return err
		}
	}
	return nil
}
