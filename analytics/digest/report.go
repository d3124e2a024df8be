// Package digest sends the statistics of sites to people regularly: every day, week or month, at an
// hour of the site's time zone, with what changed since the period before and what changed it.
//
// # One stored message per period, channel and recipient
//
// The time at which a report is next due is stored with it. A process that finds a report due creates
// its messages, whose IDs consist of that time, the report, the channel and the recipient. It then
// moves the due time on, on the condition that no other process has. If it dies in between, the next
// process creates the same messages again, which changes nothing. So there is one stored message per
// period, channel and recipient, over restarts and with several servers, without a lease. Package
// table/delivery sends it at least once, with the same ID.
package digest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/upsert"
)

const (
	maxReports  = 20 // per site
	maxThrough  = 20
	defaultHour = 8
)

// ErrReport is returned for an invalid report. The message says what to change, and ends with a stable
// code.
var ErrReport = errors.New("digest: report")

// Every is how often a report is sent.
type Every string

// The periods. Weeks begin on Monday.
const (
	Daily   Every = "daily"
	Weekly  Every = "weekly"
	Monthly Every = "monthly"
)

// Key names a report of a site.
type Key struct {
	SiteID   string `dynamodbav:"siteId"`
	ReportID string `dynamodbav:"reportId"`
}

// Report is a report that is sent regularly.
type Report struct {
	Key
	Name     string    `dynamodbav:"name,omitempty"` // default: that of the site
	Every    Every     `dynamodbav:"every"`
	Hour     int       `dynamodbav:"hour"`               // 0 to 23, in the site's time zone
	Channels []string  `dynamodbav:"channels,omitempty"` // IDs; empty: all of the site
	Off      bool      `dynamodbav:"off,omitempty"`
	Next     time.Time `dynamodbav:"next"`               // when it is due
	LastSent time.Time `dynamodbav:"lastSent,omitempty"` // due time of the last one
	Created  time.Time `dynamodbav:"created"`
}

// Reports holds the reports of sites.
var Reports = table.Define[Report, Key]("analytics.report", table.Def[Report]{
	PK: "SITE#{siteId}", SK: "REPORT#{reportId}",
	Indexes: []table.Index[Report]{{
		Name: "gsi1", PK: "SITE_REPORTS", SK: "DUE#{next:ms}#{siteId}#{reportId}",
		When: func(r *Report) bool { return !r.Off }, WhenReads: []string{"off"},
	}},
	Doc:     "A report of a site that is sent every day, week or month.",
	Example: func(r *Report) { r.Every, r.Hour, r.Off = Weekly, defaultHour, false },
})

// SiteIn selects a site.
type SiteIn struct {
	SiteID string `dynamodbav:"siteId"`
}

// ReportsOfSite queries the reports of a site, by ID.
var ReportsOfSite = table.NewQuery(Reports, table.QueryDef[SiteIn]{
	ID: "WN4", Question: "the reports of a site", Load: table.Load{PerSecond: 0.01, Items: 2, ItemBytes: 200},
})

type dueIn struct {
	To time.Time `dynamodbav:"to"`
}

var dueReports = table.NewQuery(Reports, table.QueryDef[dueIn]{
	ID: "WN5", Question: "the reports that are due", Index: "gsi1", From: "DUE#", To: "DUE#{to:ms}",
	Load: table.Load{PerSecond: 0.02, Items: 1, ItemBytes: 200},
})

// Schema holds the entities and access patterns of this package.
var Schema = table.MustSchema("analytics.digest", Reports, ReportsOfSite, dueReports)

func (r *Report) check() error {
	wrong := func(field, what string, args ...any) error {
		return fmt.Errorf("%w: %s: %s (report_%s)", ErrReport, field, fmt.Sprintf(what, args...), field)
	}
	switch {
	case !notify.CheckID(r.ReportID):
		return wrong("id", "use at most 64 letters, digits, _ and -")
	case !notify.CheckName(r.Name):
		return wrong("name", "use at most 100 bytes on one line")
	case r.Every != Daily && r.Every != Weekly && r.Every != Monthly:
		return wrong("every", "use daily, weekly or monthly")
	case r.Hour < 0 || r.Hour > 23:
		return wrong("hour", "use 0 to 23")
	case len(r.Channels) > maxThrough:
		return wrong("channels", "use at most %d", maxThrough)
	}
	return nil
}

// Put creates or replaces a report, and schedules it for the next time at which a period ends. If the
// schedule of an existing report is unchanged, a report that is already due is still sent. Errors:
// ErrReport, table.ErrNotFound for an unknown site.
func Put(ctx context.Context, t *table.Table, r Report) (Report, error) {
	if r.ReportID == "" {
		r.ReportID = notify.NewID()
	}
	if err := r.check(); err != nil {
		return r, err
	}
	site, err := analytics.GetSite(ctx, t, r.SiteID)
	if err != nil {
		return r, err
	}
	if err := checkChannels(ctx, t, &r); err != nil {
		return r, err
	}
	zone, err := calendar.LoadZone(site.TimeZone)
	if err != nil {
		return r, fmt.Errorf("digest: %s: %w", r.SiteID, err)
	}
	now := t.Now().UTC().Truncate(time.Millisecond)
	if r.Next, err = r.after(zone, now); err != nil {
		return r, fmt.Errorf("digest: %s: %w", r.SiteID, err)
	}
	r.Created = now
	stored, err := upsert.Item(ctx, t, Reports, r.Key, func(stored *Report, exists bool) (err error) {
		replaced := r
		if exists {
			replaced.keep(stored, now)
		} else {
			err = hasRoom(ctx, t, r.SiteID)
		}
		*stored = replaced
		return err
	})
	if err != nil && !errors.Is(err, ErrReport) {
		err = fmt.Errorf("digest: %s: %w", r.SiteID, err)
	}
	return stored, err
}

// keep copies what people do not choose from the current report.
func (r *Report) keep(current *Report, now time.Time) {
	r.Created, r.LastSent = current.Created, current.LastSent
	same := r.Every == current.Every && r.Hour == current.Hour && !current.Off
	if same && !current.Next.After(now) {
		r.Next = current.Next // it is due, and not yet sent
	}
}

// hasRoom returns an error if a site has the maximum number of reports.
func hasRoom(ctx context.Context, t *table.Table, siteID string) error {
	all, err := ReportsOfSite.Collect(ctx, t, SiteIn{siteID})
	if err == nil && len(all) >= maxReports {
		err = fmt.Errorf("%w: the site already has %d reports, the maximum (report_limit)", ErrReport, maxReports)
	}
	return err
}

func checkChannels(ctx context.Context, t *table.Table, r *Report) error {
	missing, err := notify.MissingChannel(ctx, t, r.SiteID, r.Channels)
	if err == nil && missing != "" {
		err = fmt.Errorf("%w: the site has no channel %q (report_channels)", ErrReport, missing)
	}
	return err
}

// Delete deletes a report and returns it. Errors: table.ErrNotFound.
func Delete(ctx context.Context, t *table.Table, k Key) (Report, error) {
	r, err := Reports.Get(ctx, t, k)
	if err == nil {
		err = Reports.Delete(ctx, t, k, table.Present())
	}
	if errors.Is(err, table.ErrCondition) {
		err = table.ErrNotFound
	}
	if err != nil {
		return r, fmt.Errorf("digest: delete report %s: %w", k.ReportID, err)
	}
	return r, nil
}
