package webanalytics

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

type goalBody struct {
	ID       string                 `json:"id"`
	Name     string                 `json:"name"`
	Path     string                 `json:"path,omitempty"`
	PathKind analytics.PathKind     `json:"pathKind,omitempty" enum:"wildcard,regexp"`
	Event    string                 `json:"event,omitempty"`
	Value    string                 `json:"value,omitempty"`
	Currency string                 `json:"currency,omitempty"`
	Counting analytics.GoalCounting `json:"counting" enum:"session,every"`
	Since    string                 `json:"since,omitempty" doc:"First day counted with the goal's current definition. Absent if all days are."`
	Pending  bool                   `json:"pending,omitempty" doc:"Past events are still being recounted after the last change."`
}

func describeGoal(g *goals.Goal) goalBody {
	return goalBody{g.GoalID, g.Name, g.Path, g.PathKind, g.Event, g.Value, g.Currency, g.Counting, g.Since, g.Pending}
}

type goalAnswer struct{ Body goalBody }

type goalsAnswer struct {
	Body struct {
		Goals []goalBody `json:"goals"`
	}
}

// GoalSettings define a goal: a page or an event.
type GoalSettings struct {
	Name     string                 `json:"name" maxLength:"200"`
	Path     string                 `json:"path,omitempty" maxLength:"512" doc:"Path of a page. Give either path or event."`
	PathKind analytics.PathKind     `json:"pathKind,omitempty" enum:"wildcard,regexp" doc:"wildcard: * matches text without a slash, ** any text. regexp: RE2, must match the whole path. Default: wildcard."`
	Event    string                 `json:"event,omitempty" maxLength:"120" doc:"Name of a custom event."`
	Value    string                 `json:"value,omitempty" maxLength:"40" doc:"Value of one conversion, as a decimal. Default: the revenue of its events."`
	Currency string                 `json:"currency,omitempty" maxLength:"3" doc:"Default: the site's currency."`
	Counting analytics.GoalCounting `json:"counting,omitempty" enum:"session,every" doc:"Whether a visit counts once or every time. Default: session."`
}

func (b *GoalSettings) apply(g *goals.Goal) {
	g.Name, g.Path, g.PathKind, g.Event = b.Name, b.Path, b.PathKind, b.Event
	g.Value, g.Currency, g.Counting = b.Value, b.Currency, b.Counting
}

// settingsOf returns a goal's settings for the audit record.
func settingsOf(g *goals.Goal) GoalSettings {
	return GoalSettings{g.Name, g.Path, g.PathKind, g.Event, g.Value, g.Currency, g.Counting}
}

type newGoalRequest struct {
	middleware.SitePath
	Body struct {
		ID string `json:"id,omitempty" maxLength:"64" doc:"Letters, digits and . _ - . Default: generated."`
		GoalSettings
	}
}

// GoalPath names a goal of a site.
type GoalPath struct {
	middleware.SitePath
	ID string `path:"id" maxLength:"64" doc:"ID of the goal."`
}

func (p *GoalPath) key() analytics.GoalKey { return analytics.GoalKey{SiteID: p.Site, GoalID: p.ID} }

type updateGoalRequest struct {
	GoalPath
	Body struct{ GoalSettings }
}

type goalReportRequest struct {
	middleware.SitePath
	DayRange
}

type goalReportAnswer struct {
	Body struct {
		From  string         `json:"from"`
		To    string         `json:"to"`
		Goals []goals.Result `json:"goals"`
	}
}

func (s *Service) goalRoutes(api huma.API) {
	const list, one = "/api/v1/sites/{site}/goals", "/api/v1/sites/{site}/goals/{id}"
	huma.Register(api, middleware.AppliesRestriction(middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "goals", Method: http.MethodGet, Path: list, Summary: "List the goals of a site", Tags: []string{"goals"},
	})), s.goals)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "add-goal", Method: http.MethodPost, Path: list, DefaultStatus: http.StatusCreated, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Create a goal", Description: "It counts new events at once. Past events are counted soon after, as far back as raw events are kept.",
		Tags: []string{"goals"}, Errors: []int{http.StatusConflict},
	}), s.addGoal)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "update-goal", Method: http.MethodPut, Path: one, MaxBodyBytes: middleware.MaxSmallBody, Summary: "Update a goal", Tags: []string{"goals"},
	}), s.updateGoal)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "delete-goal", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent, Summary: "Delete a goal", Tags: []string{"goals"},
	}), s.deleteGoal)
	huma.Register(api, middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "goal-report", Method: http.MethodGet, Path: list + "/report", Summary: "Get the conversions of each goal", Tags: []string{"goals"},
	}), s.goalReport)
}

func (s *Service) goals(ctx context.Context, in *middleware.SitePath) (*goalsAnswer, error) {
	list, err := goals.List(ctx, s.table, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(goalsAnswer)
	answer.Body.Goals = make([]goalBody, len(list))
	for i := range list {
		answer.Body.Goals[i] = describeGoal(&list[i])
	}
	return answer, nil
}

func (s *Service) addGoal(ctx context.Context, in *newGoalRequest) (*goalAnswer, error) {
	g := goals.Goal{GoalKey: analytics.GoalKey{SiteID: in.Site, GoalID: in.Body.ID}}
	in.Body.apply(&g)
	g, err := goals.Create(ctx, s.table, g)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.goalChanged(ctx, "goal.create", g.GoalKey, nil, settingsOf(&g))
	return &goalAnswer{describeGoal(&g)}, nil
}

// goalChanged applies the goal to new events and records who changed it.
func (s *Service) goalChanged(ctx context.Context, action string, key analytics.GoalKey, before, after any) {
	s.o.Collector.Forget(key.SiteID)
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: action, Site: key.SiteID, Subject: key.GoalID}, before, after)
}

func (s *Service) updateGoal(ctx context.Context, in *updateGoalRequest) (*goalAnswer, error) {
	var before GoalSettings
	g, err := goals.Update(ctx, s.table, in.key(), func(g *goals.Goal) error {
		before = settingsOf(g)
		in.Body.apply(g)
		return nil
	})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.goalChanged(ctx, "goal.update", in.key(), before, settingsOf(&g))
	return &goalAnswer{describeGoal(&g)}, nil
}

func (s *Service) deleteGoal(ctx context.Context, in *GoalPath) (*struct{}, error) {
	g, err := analytics.Goals.Get(ctx, s.table, in.key())
	if err == nil {
		err = goals.Delete(ctx, s.table, in.key())
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.goalChanged(ctx, "goal.delete", in.key(), settingsOf(&g), nil)
	return nil, nil
}

func (s *Service) goalReport(ctx context.Context, in *goalReportRequest) (*goalReportAnswer, error) {
	from, to, err := analytics.RecentDays(ctx, s.table, in.Site, in.From, in.To, reportDays)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	results, err := goals.Report(ctx, s.table, in.Site, from, to)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(goalReportAnswer)
	answer.Body.From, answer.Body.To, answer.Body.Goals = from, to, results
	return answer, nil
}
