package webanalytics

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/filtered"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/internal/useragent"
	"github.com/onefold/onefold/server/internal/middleware"
)

// countBot counts rejected events of bots: AI crawlers by name, others by kind.
func (s *Service) countBot(ctx context.Context, site string, agent *useragent.Agent, n int) error {
	day, err := s.o.Collector.Today(ctx, site)
	if err != nil {
		return err
	}
	kind, reason := filtered.Bot, agent.BotReason
	if agent.AICrawler {
		kind, reason = filtered.AICrawler, agent.BotName
	}
	s.filtered.Count(filtered.DayKey{SiteID: site, Day: day}, kind, reason, n)
	return nil
}

// countRejected counts the rejected outcomes.
func (s *Service) countRejected(ctx context.Context, site string, outcomes []analytics.Outcome) {
	for i := range outcomes {
		if outcomes[i].Status != analytics.Rejected {
			continue
		}
		day, err := s.o.Collector.Today(ctx, site)
		if err != nil { // the site existed a moment ago; the outcomes stand anyway
			s.mw.Logger.WarnContext(ctx, "counting rejected events failed", "site", site, "error", err)
			return
		}
		s.filtered.Count(filtered.DayKey{SiteID: site, Day: day}, kindOf(outcomes[i].Reason), string(outcomes[i].Reason), 1)
	}
}

type refusalsRequest struct {
	Site string `path:"site" maxLength:"128" doc:"ID of the site."`
	From string `query:"from" doc:"First day, in the site's time zone, YYYY-MM-DD. Default: 29 days before the last."`
	To   string `query:"to" doc:"Last day, inclusive. Default: today."`
}

type refusalsAnswer struct {
	Body struct {
		From       string          `json:"from"`
		To         string          `json:"to"`
		Bots       []reasonCount   `json:"bots" doc:"Events of bots, by kind, without AI crawlers. data_center and referrer_spam are those in lists of the operator."`
		AICrawlers []reasonCount   `json:"aiCrawlers" doc:"Events of AI crawlers and agents, by name."`
		Refused    []reasonCount   `json:"refused" doc:"Other rejected events, by reason."`
		Days       []refusalsOfDay `json:"days" doc:"Days with rejected events."`
	}
}

type reasonCount struct {
	Value  string `json:"value"`
	Events int64  `json:"events"`
}

type refusalsOfDay struct {
	Day        string `json:"day"`
	Bots       int64  `json:"bots"`
	AICrawlers int64  `json:"aiCrawlers"`
	Refused    int64  `json:"refused"`
}

func (s *Service) refusalRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "bots", Method: http.MethodGet, Path: "/api/v1/sites/{site}/bots",
		Summary: "Count rejected events, by reason", Tags: []string{"statistics"},
		Description: "Counts are kept in memory and written every ten seconds. A server that is killed loses those of the last ten seconds.",
	}), s.bots)
}

func (s *Service) bots(ctx context.Context, in *refusalsRequest) (*refusalsAnswer, error) {
	from, to, err := s.recentDays(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := s.filtered.Flush(ctx); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(refusalsAnswer)
	answer.Body.From, answer.Body.To = from, to
	var total filtered.Day
	answer.Body.Days = []refusalsOfDay{}
	for day, err := range filtered.ByDay.All(ctx, s.table, filtered.RangeIn{SiteID: in.Site, From: from, To: to + "~"}) {
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		total.Add(&day)
		answer.Body.Days = append(answer.Body.Days, refusalsOfDay{Day: day.Day, Bots: sum(day.Bots), AICrawlers: sum(day.AI), Refused: sum(day.Others)})
	}
	answer.Body.Bots, answer.Body.AICrawlers, answer.Body.Refused = counts(total.Bots), counts(total.AI), counts(total.Others)
	return answer, nil
}

// recentDays returns the requested days. The default ends today, because bots also come on days
// without visitors.
func (s *Service) recentDays(ctx context.Context, in *refusalsRequest) (from, to string, err error) {
	today, err := s.o.Collector.Today(ctx, in.Site)
	if err != nil {
		return "", "", s.mw.Error(ctx, err)
	}
	to = cmp.Or(in.To, today)
	from = cmp.Or(in.From, calendar.ShiftDay(to, 1-reportDays))
	for _, day := range []string{from, to} {
		if _, err := calendar.ParseDay(day); err != nil {
			return "", "", middleware.Problem(http.StatusUnprocessableEntity, "bad_range", "Write days as YYYY-MM-DD, such as 2026-05-12.")
		}
	}
	return from, to, nil
}

func sum(counts map[string]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// counts sorts counts, largest first.
func counts(of map[string]int64) []reasonCount {
	list := make([]reasonCount, 0, len(of))
	for _, value := range slices.Sorted(maps.Keys(of)) {
		list = append(list, reasonCount{value, of[value]})
	}
	slices.SortStableFunc(list, func(a, b reasonCount) int { return int(b.Events - a.Events) })
	return list
}
