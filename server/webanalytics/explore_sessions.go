package webanalytics

import (
	"cmp"
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/server/internal/middleware"
)

// SessionFields are the fields of a session in a list.
type SessionFields struct {
	ID        string    `json:"id"`
	Start     time.Time `json:"start"`
	End       time.Time `json:"end"`
	Entry     string    `json:"entry"`
	Exit      string    `json:"exit"`
	PageViews int64     `json:"pageViews"`
	Events    int64     `json:"events"`
	Country   string    `json:"country,omitempty"`
	Region    string    `json:"region,omitempty"`
	City      string    `json:"city,omitempty"`
	Browser   string    `json:"browser,omitempty"`
	OS        string    `json:"os,omitempty"`
	Device    string    `json:"device,omitempty"`
	Source    string    `json:"source,omitempty"`
	Channel   string    `json:"channel,omitempty"`
	Referrer  string    `json:"referrer,omitempty"`
	UserID    string    `json:"userId,omitempty"`
	Revenue   string    `json:"revenue" doc:"Exact decimal, in the site's currency."`
}

type visitsRequest struct {
	middleware.SitePath
	DayRange
	FilterParams
	CursorParams
}

// CursorParams select a page of a list.
type CursorParams struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Maximum number of results."`
	Cursor string `query:"cursor" maxLength:"2048" doc:"From the previous page. Default: the beginning."`
}

type visitsAnswer struct {
	Body struct {
		Sessions []SessionFields `json:"sessions" doc:"Newest first. There may be fewer than the limit although more follow."`
		Cursor   string          `json:"cursor,omitempty" doc:"Absent on the last page."`
		Source   string          `json:"source" enum:"statistics,raw,warehouse"`
		Notes    []string        `json:"notes"`
	}
}

type visitRequest struct {
	middleware.SitePath
	ID string `path:"id" maxLength:"64" doc:"ID of the session."`
}

// stepBody is one event of a session.
type stepBody struct {
	At      time.Time         `json:"at"`
	Kind    string            `json:"kind" enum:"pageview,event"`
	Name    string            `json:"name,omitempty" doc:"Name of a custom event."`
	Path    string            `json:"path"`
	Props   map[string]string `json:"props,omitempty"`
	Revenue string            `json:"revenue,omitempty" doc:"In the site's currency."`
	Paid    *paidBody         `json:"paid,omitempty" doc:"The payment that the revenue was converted from, if it was in another currency."`
}

type paidBody struct {
	Amount      string `json:"amount" doc:"Exact decimal."`
	Currency    string `json:"currency" doc:"ISO 4217 code."`
	Unconverted bool   `json:"unconverted,omitempty" doc:"There was no exchange rate, so it does not count as revenue."`
}

type visitAnswer struct {
	Body struct {
		SessionFields
		Timeline []stepBody `json:"timeline"`
		Notes    []string   `json:"notes"`
	}
}

type userVisitsRequest struct {
	middleware.SitePath
	User string `path:"user" minLength:"1" maxLength:"128" doc:"ID of the user, as sent in userId."`
	CursorParams
}

func (s *Service) exploreSessionRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForRead, statisticsOperation("sessions", "sessions", "List the sessions of a day range, newest first")), s.visits)
	huma.Register(api, middleware.Guard(middleware.ForRead, statisticsOperation("session", "sessions/{id}", "Get a session with its events")), s.visit)
	huma.Register(api, middleware.Guard(middleware.ForRead, statisticsOperation("user-sessions", "users/{user}/sessions", "List the sessions of an identified user, newest first")), s.userVisits)
}

func (s *Service) visits(ctx context.Context, in *visitsRequest) (*visitsAnswer, error) {
	days, filters, err := s.question(ctx, in.SitePath, in.DayRange, in.FilterParams)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	ctx, cancel := context.WithTimeout(ctx, rawTimeout)
	defer cancel()
	page, err := s.raw.Sessions(ctx, explore.SessionsIn{Range: days, Filters: filters, Cursor: in.Cursor, Limit: in.Limit})
	if err == nil {
		err = s.leftOut(ctx, days, &page.Notes)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return describeVisits(&page), nil
}

func (s *Service) visit(ctx context.Context, in *visitRequest) (*visitAnswer, error) {
	line, err := s.raw.Timeline(ctx, in.Site, in.ID)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(visitAnswer)
	answer.Body.SessionFields, answer.Body.Notes = describeVisit(&line.Session), line.Notes
	answer.Body.Timeline = make([]stepBody, len(line.Events))
	for i := range line.Events {
		answer.Body.Timeline[i] = describeStep(&line.Events[i])
	}
	return answer, nil
}

func (s *Service) userVisits(ctx context.Context, in *userVisitsRequest) (*visitsAnswer, error) {
	page, err := s.raw.UserSessions(ctx, in.Site, in.User, in.Cursor, in.Limit)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return describeVisits(&page), nil
}

func describeVisits(page *explore.SessionPage) *visitsAnswer {
	answer := new(visitsAnswer)
	answer.Body.Cursor, answer.Body.Source, answer.Body.Notes = page.Cursor, string(page.Source), page.Notes
	answer.Body.Sessions = make([]SessionFields, len(page.Sessions))
	for i := range page.Sessions {
		answer.Body.Sessions[i] = describeVisit(&page.Sessions[i])
	}
	return answer
}

func describeVisit(s *analytics.Session) SessionFields {
	return SessionFields{
		ID: s.SessionID, Start: time.UnixMilli(s.Start).UTC(), End: time.UnixMilli(s.End).UTC(), Entry: s.EntryPath, Exit: s.ExitPath,
		PageViews: s.PageViews, Events: s.Events, Country: s.Country, Region: s.Region, City: s.City, Browser: s.Browser, OS: s.OS,
		Device: s.Device, Source: s.Source.Name, Channel: s.Channel, Referrer: s.Referrer, UserID: s.UserID, Revenue: cmp.Or(s.Revenue, "0"),
	}
}

func describeStep(e *analytics.Event) stepBody {
	step := stepBody{At: explore.TimeOf(e), Kind: "pageview", Name: e.Name, Path: e.Path, Props: e.Properties, Revenue: e.Revenue}
	if e.Name != "" {
		step.Kind = "event"
	}
	if e.Paid.Currency != "" {
		step.Paid = &paidBody{e.Paid.Amount, e.Paid.Currency, e.Paid.Unconverted}
	}
	return step
}
