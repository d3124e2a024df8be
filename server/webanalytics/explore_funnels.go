package webanalytics

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

type funnelStep struct {
	Path  string `json:"path,omitempty" maxLength:"512" doc:"Path of a page view. * matches text without a slash, ** any text."`
	Event string `json:"event,omitempty" maxLength:"512" doc:"Name of a custom event."`
	Name  string `json:"name,omitempty" maxLength:"512" readOnly:"true"`
}

// FunnelCourse defines a funnel.
type FunnelCourse struct {
	Steps         []funnelStep `json:"steps" minItems:"2" maxItems:"12" doc:"In this order, within one visit. Other events may come between."`
	WindowMinutes int          `json:"windowMinutes,omitempty" minimum:"0" maximum:"1440" doc:"Time limit from the first step to the last. Default: the visit."`
}

type funnelBody struct {
	ID   string `json:"id,omitempty" readOnly:"true"`
	Name string `json:"name" minLength:"1" maxLength:"100"`
	FunnelCourse
}

type funnelsAnswer struct {
	Body struct {
		Funnels []funnelBody `json:"funnels"`
	}
}

type newFunnelRequest struct {
	middleware.SitePath
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"100"`
		FunnelCourse
	}
}

type funnelAnswer struct{ Body funnelBody }

// FunnelPath names a funnel of a site.
type FunnelPath struct {
	middleware.SitePath
	ID string `path:"id" maxLength:"64" doc:"ID of the funnel."`
}

// FunnelParams select the visits of a funnel report.
type FunnelParams struct {
	DayRange
	FilterParams
	By string `query:"by" maxLength:"80" doc:"Break down by a dimension of visits, such as country."`
}

type funnelReportRequest struct {
	FunnelPath
	FunnelParams
}

type funnelPreviewRequest struct {
	middleware.SitePath
	FunnelParams
	Body FunnelCourse
}

type funnelReportAnswer struct {
	Body struct {
		Steps  []stepCountBody   `json:"steps"`
		Groups []funnelGroupBody `json:"groups,omitempty"`
		Source string            `json:"source" enum:"raw,warehouse"`
		Notes  []string          `json:"notes"`
	}
}

type stepCountBody struct {
	Name    string  `json:"name"`
	Visits  int64   `json:"visits"`
	DropOff int64   `json:"dropOff" doc:"Visits that reached the previous step but not this one."`
	Rate    float64 `json:"rate" doc:"Share of the visits that reached the first step, 0 to 1."`
}

type funnelGroupBody struct {
	Value  string  `json:"value"`
	Visits []int64 `json:"visits" doc:"Visits that reached each step."`
}

func (s *Service) exploreFunnelRoutes(api huma.API) {
	const list = "/api/v1/sites/{site}/funnels"
	huma.Register(api, middleware.AppliesRestriction(middleware.Guard(middleware.ForStatistics, statisticsOperation("funnels", "funnels", "List the funnels of a site"))), s.funnels)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "add-funnel", Method: http.MethodPost, Path: list, DefaultStatus: http.StatusCreated, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Create a funnel", Tags: []string{"statistics"},
	}), s.addFunnel)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "delete-funnel", Method: http.MethodDelete, Path: list + "/{id}", DefaultStatus: http.StatusNoContent,
		Summary: "Delete a funnel", Tags: []string{"statistics"},
	}), s.deleteFunnel)
	huma.Register(api, middleware.AppliesRestriction(middleware.Guard(middleware.ForStatistics, statisticsOperation("funnel-report", "funnels/{id}/report", "Get the report of a funnel"))), s.funnelReport)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "preview-funnel", Method: http.MethodPost, Path: list + "/preview", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Get the report of a funnel without saving it", Tags: []string{"statistics"},
	}), s.funnelPreview)
}

func (s *Service) funnels(ctx context.Context, in *middleware.SitePath) (*funnelsAnswer, error) {
	all, err := s.raw.Funnels(ctx, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(funnelsAnswer)
	answer.Body.Funnels = make([]funnelBody, len(all))
	for i := range all {
		answer.Body.Funnels[i] = describeFunnel(&all[i])
	}
	return answer, nil
}

func (s *Service) addFunnel(ctx context.Context, in *newFunnelRequest) (*funnelAnswer, error) {
	f, err := s.raw.CreateFunnel(ctx, in.Site, in.Body.Name, in.Body.course())
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "funnel.create", Site: in.Site, Subject: f.FunnelID}, nil, describeFunnel(&f))
	return &funnelAnswer{describeFunnel(&f)}, nil
}

func (s *Service) deleteFunnel(ctx context.Context, in *FunnelPath) (*struct{}, error) {
	f, err := s.raw.Funnel(ctx, in.Site, in.ID)
	if err == nil {
		err = s.raw.DeleteFunnel(ctx, in.Site, in.ID)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "funnel.delete", Site: in.Site, Subject: in.ID}, describeFunnel(&f), nil)
	return nil, nil
}

func (s *Service) funnelReport(ctx context.Context, in *funnelReportRequest) (*funnelReportAnswer, error) {
	f, err := s.raw.Funnel(ctx, in.Site, in.ID)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return s.followFunnel(ctx, in.SitePath, &in.FunnelParams, f.FunnelDefinition)
}

func (s *Service) funnelPreview(ctx context.Context, in *funnelPreviewRequest) (*funnelReportAnswer, error) {
	return s.followFunnel(ctx, in.SitePath, &in.FunnelParams, in.Body.course())
}

func (s *Service) followFunnel(ctx context.Context, site middleware.SitePath, in *FunnelParams, c explore.FunnelDefinition) (*funnelReportAnswer, error) {
	days, filters, err := s.question(ctx, site, in.DayRange, in.FilterParams)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	ctx, cancel := context.WithTimeout(ctx, rawTimeout)
	defer cancel()
	report, err := s.raw.FunnelReport(ctx, explore.FunnelIn{Range: days, FunnelDefinition: c, Filters: filters, By: analytics.Dimension(in.By)})
	if err == nil {
		err = s.leftOut(ctx, days, &report.Notes)
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(funnelReportAnswer)
	answer.Body.Source, answer.Body.Notes = string(report.Source), report.Notes
	for _, step := range report.Steps {
		answer.Body.Steps = append(answer.Body.Steps, stepCountBody(step))
	}
	for _, g := range report.Groups {
		answer.Body.Groups = append(answer.Body.Groups, funnelGroupBody(g))
	}
	return answer, nil
}

func (c *FunnelCourse) course() explore.FunnelDefinition {
	course := explore.FunnelDefinition{WindowMinutes: c.WindowMinutes}
	for _, step := range c.Steps {
		course.Steps = append(course.Steps, explore.Step{Path: step.Path, Event: step.Event})
	}
	return course
}

func describeFunnel(f *explore.Funnel) funnelBody {
	body := funnelBody{ID: f.FunnelID, Name: f.Name, FunnelCourse: FunnelCourse{WindowMinutes: f.WindowMinutes}}
	for _, step := range f.Steps {
		body.Steps = append(body.Steps, funnelStep{step.Path, step.Event, step.Name()})
	}
	return body
}
