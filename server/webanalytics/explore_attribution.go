package webanalytics

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/webanalytics/query"
)

type attributionRequest struct {
	middleware.SitePath
	DayRange
	FilterParams
	By       string `query:"by" default:"source" maxLength:"80" doc:"Dimension with one value for each visit, such as source, channel, utm_campaign or entry_page."`
	Lookback int    `query:"lookback" minimum:"1" maximum:"90" default:"30" doc:"Days before the revenue in which visits count."`
	HalfLife int    `query:"halfLife" minimum:"1" maximum:"90" default:"7" doc:"Days after which a visit counts half, for time_decay."`
	Sort     string `query:"sort" enum:"first,last,linear,time_decay" default:"linear" doc:"Model to sort by."`
	Offset   int    `query:"offset" minimum:"0" maximum:"100000" doc:"Number of results to skip."`
	Limit    int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of results."`
}

type attributionBody struct {
	From     string       `json:"from"`
	To       string       `json:"to"`
	By       string       `json:"by"`
	Lookback int          `json:"lookback"`
	HalfLife int          `json:"halfLife"`
	Currency string       `json:"currency"`
	Revenue  string       `json:"revenue" doc:"Revenue of the range, an exact decimal. For each model, the revenue of all values adds up to it."`
	Events   int64        `json:"events" doc:"Events with revenue."`
	Known    int64        `json:"known" doc:"Those of identified users, whose visits of earlier days count. Of others, only the visits of the day are known."`
	Rows     []creditBody `json:"rows"`
	Total    int          `json:"total" doc:"Number of values on all pages."`
	Source   string       `json:"source" enum:"raw,warehouse"`
	Notes    []string     `json:"notes" doc:"Notes for readers of these numbers."`
}

// creditBody is what is attributed to one value.
type creditBody struct {
	Value     string `json:"value" doc:"(none) stands for visits without a value."`
	Events    int64  `json:"events" doc:"Events with revenue before which there was a visit with the value."`
	First     string `json:"first" doc:"Revenue if the first visit gets all."`
	Last      string `json:"last" doc:"Revenue if the last visit gets all."`
	Linear    string `json:"linear" doc:"Revenue if all visits get the same."`
	TimeDecay string `json:"timeDecay" doc:"Revenue if a visit gets half as much as one that began a half-life later."`
}

type attributionAnswer struct{ Body attributionBody }

func (s *Service) exploreAttributionRoutes(api huma.API) {
	op := statisticsOperation("attribution", "attribution", "Attribute the revenue of a day range to sources, campaigns and other dimensions")
	op.Description = "Divides the revenue of each event among the visits of the same person that began in the lookback window before it, by four models at once. " +
		"Each amount is divided in cents, or in its last digit if that is finer; the units that remain after rounding down go to the visits that lost most, and among equal ones to the later."
	huma.Register(api, middleware.Guard(middleware.ForStatistics, op), s.attribution)
}

func (s *Service) attribution(ctx context.Context, in *attributionRequest) (*attributionAnswer, error) {
	days, filters, err := s.question(ctx, in.SitePath, in.DayRange, in.FilterParams)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	site, err := analytics.GetSite(ctx, s.table, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	ctx, cancel := context.WithTimeout(ctx, rawTimeout)
	defer cancel()
	out, err := s.raw.Attribution(ctx, explore.AttributionIn{Range: days, Filters: filters, By: analytics.Dimension(in.By), Lookback: in.Lookback, HalfLife: in.HalfLife})
	if err == nil {
		err = s.leftOut(ctx, days, &out.Notes)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	body := attributionBody{
		From: days.From, To: days.To, By: in.By, Lookback: in.Lookback, HalfLife: in.HalfLife, Currency: allOf(&site).Currency,
		Revenue: out.Revenue, Events: out.Events, Known: out.Known, Total: len(out.Credits), Source: string(out.Source), Notes: out.Notes, Rows: []creditBody{},
	}
	explore.SortCredits(out.Credits, explore.Model(in.Sort))
	for _, c := range query.Page(out.Credits, in.Offset, in.Limit) {
		body.Rows = append(body.Rows, creditBody{
			c.Value, c.Events, c.Revenue[explore.FirstTouch], c.Revenue[explore.LastTouch], c.Revenue[explore.Linear], c.Revenue[explore.TimeDecay],
		})
	}
	return &attributionAnswer{body}, nil
}
