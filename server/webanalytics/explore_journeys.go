package webanalytics

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/server/internal/middleware"
)

type journeysRequest struct {
	middleware.SitePath
	DayRange
	FilterParams
	Page      string `query:"page" required:"true" minLength:"1" maxLength:"512" doc:"Path of the page that journeys start from or lead to."`
	Direction string `query:"direction" enum:"forward,back" default:"forward" doc:"Pages after the page, or before it."`
	Steps     int    `query:"steps" minimum:"1" maximum:"5" default:"3" doc:"Number of steps from the page."`
}

type journeysAnswer struct {
	Body struct {
		Levels [][]pageVisitsBody `json:"levels" doc:"The page, then the pages one step away, and so on. (exit) and (entry) are where visits end or begin; (other) groups the pages beyond the top eight."`
		Links  []linkBody         `json:"links"`
		Source string             `json:"source" enum:"raw,warehouse"`
		Notes  []string           `json:"notes"`
	}
}

type pageVisitsBody struct {
	Page   string `json:"page"`
	Visits int64  `json:"visits"`
}

type linkBody struct {
	From   [2]int `json:"from" doc:"Level, and index within it."`
	To     [2]int `json:"to"`
	Visits int64  `json:"visits"`
}

type retentionRequest struct {
	middleware.SitePath
	DayRange
	FilterParams
	By    string `query:"by" enum:"week,day" default:"week" doc:"Weeks begin on Mondays."`
	Began string `query:"began" maxLength:"600" doc:"First action of users, in the form of a filter: event:is:signup. Dimensions are event, page, goal and others; the op is is, contains or matches. Cohorts are then of the week or day in which they first did it in the range. Default: any visit."`
	Again string `query:"again" maxLength:"600" doc:"Action that is counted from then on, such as goal:is:order. Default: any visit."`
}

type retentionAnswer struct {
	Body struct {
		Cohorts []cohortBody `json:"cohorts" doc:"Identified users, grouped by when they were first seen, or first did began, in the range."`
		Notes   []string     `json:"notes"`
	}
}

type cohortBody struct {
	Start    string  `json:"start" doc:"First day of the week or day."`
	Users    int64   `json:"users"`
	Returned []int64 `json:"returned" doc:"Users seen, or who did again, in each week or day from start on."`
}

func (s *Service) exploreJourneyRoutes(api huma.API) {
	huma.Register(api, middleware.AppliesRestriction(middleware.Guard(middleware.ForStatistics, statisticsOperation("journeys", "journeys", "Get the journeys of visits from a page or to it"))), s.journeys)
	huma.Register(api, middleware.AppliesRestriction(middleware.Guard(middleware.ForStatistics, statisticsOperation("retention", "retention", "Get the retention of identified users"))), s.retention)
}

func (s *Service) journeys(ctx context.Context, in *journeysRequest) (*journeysAnswer, error) {
	days, filters, err := s.question(ctx, in.SitePath, in.DayRange, in.FilterParams)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	ctx, cancel := context.WithTimeout(ctx, rawTimeout)
	defer cancel()
	ways, err := s.raw.Journeys(ctx, explore.JourneysIn{Range: days, Filters: filters, Page: in.Page, Direction: explore.Direction(in.Direction), Steps: in.Steps})
	if err == nil {
		err = s.leftOut(ctx, days, &ways.Notes)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(journeysAnswer)
	answer.Body.Source, answer.Body.Notes = string(ways.Source), ways.Notes
	answer.Body.Levels, answer.Body.Links = make([][]pageVisitsBody, len(ways.Levels)), make([]linkBody, len(ways.Links))
	for i, level := range ways.Levels {
		for _, p := range level {
			answer.Body.Levels[i] = append(answer.Body.Levels[i], pageVisitsBody(p))
		}
	}
	for i, l := range ways.Links {
		answer.Body.Links[i] = linkBody(l)
	}
	return answer, nil
}

func (s *Service) retention(ctx context.Context, in *retentionRequest) (*retentionAnswer, error) {
	days, filters, err := s.question(ctx, in.SitePath, in.DayRange, in.FilterParams)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	ask := explore.RetentionIn{Range: days, Filters: filters, By: in.By}
	if ask.Began, err = s.action(ctx, in.Site, in.Began); err == nil {
		ask.Again, err = s.action(ctx, in.Site, in.Again)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	ctx, cancel := context.WithTimeout(ctx, rawTimeout)
	defer cancel()
	out, err := s.raw.Retention(ctx, ask)
	if err == nil {
		err = s.leftOut(ctx, days, &out.Notes)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(retentionAnswer)
	answer.Body.Notes, answer.Body.Cohorts = out.Notes, make([]cohortBody, len(out.Cohorts))
	for i, c := range out.Cohorts {
		answer.Body.Cohorts[i] = cohortBody(c)
	}
	return answer, nil
}

// action parses an action of users; "" is nil.
func (s *Service) action(ctx context.Context, siteID, text string) (*explore.Filter, error) {
	if text == "" {
		return nil, nil
	}
	f, err := explore.ParseFilter(text)
	if err == nil {
		err = s.filters.CheckProperties(ctx, siteID, "", []explore.Filter{f})
	}
	return &f, err
}
