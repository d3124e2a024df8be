package webanalytics

import (
	"cmp"
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

// siteLine is a site in the list of sites.
type siteLine struct {
	ID               string        `json:"id"`
	Name             string        `json:"name"`
	Domains          []string      `json:"domains"`
	TimeZone         string        `json:"timezone"`
	Role             accounts.Role `json:"role" enum:"viewer,admin,owner"`
	Visitors         int64         `json:"visitors" doc:"Visitors of the last seven days, including today."`
	PreviousVisitors int64         `json:"previousVisitors" doc:"Visitors of the seven days before."`
	Trend            []int64       `json:"trend" doc:"Visitors of each of the last seven days."`
}

type sitesAnswer struct {
	Body struct {
		Sites []siteLine `json:"sites"`
	}
}

const (
	trendDays = 7
	// trendSites is the maximum number of sites in a list that get figures; the others have none.
	// atOnce is how many sites are read in parallel.
	trendSites = 100
	atOnce     = 4
)

func (s *Service) sites(ctx context.Context, _ *struct{}) (*sitesAnswer, error) {
	who := middleware.CallerOf(ctx)
	answer := new(sitesAnswer)
	lines := []siteLine{}
	for site, err := range analytics.ListSites(ctx, s.table, "") {
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		if who.May(middleware.ForRead, site.SiteID) {
			lines = append(lines, siteLine{
				ID: site.SiteID, Name: cmp.Or(site.Name, site.SiteID), Domains: orEmpty(site.Domains), TimeZone: site.TimeZone,
				Role: who.Grants.On(site.SiteID), Trend: []int64{},
			})
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range lines[:min(len(lines), trendSites)] {
		group.Go(func() error { return s.fillTrend(groupCtx, &lines[i]) })
	}
	if err := group.Wait(); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer.Body.Sites = lines
	return answer, nil
}

// fillTrend reads the figures of two weeks of a site.
func (s *Service) fillTrend(ctx context.Context, line *siteLine) error {
	zone, err := calendar.LoadZone(line.TimeZone)
	if err != nil {
		return err
	}
	today := zone.Day(s.mw.Clock())
	out, err := report.Statistics(ctx, s.table, report.Request{
		Site: line.ID, From: calendar.ShiftDay(today, 1-2*trendDays), To: today, Period: analytics.Day,
	})
	if errors.Is(err, report.ErrExpired) {
		return nil // daily statistics are kept for less than two weeks
	}
	if err != nil {
		return err
	}
	for i := range out.Buckets {
		visitors := out.Buckets[i].Visitors
		if i < trendDays {
			line.PreviousVisitors += visitors
			continue
		}
		line.Visitors += visitors
		line.Trend = append(line.Trend, visitors)
	}
	return nil
}
