package notices

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/alerts"
	"github.com/onefold/onefold/server/internal/middleware"
)

// SiteRulePath names an alert rule of a site.
type SiteRulePath struct {
	middleware.SitePath
	Rule string `path:"rule" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" patternDescription:"letters, digits, _ and -" doc:"ID of the rule."`
}

func (in *SiteRulePath) key() alerts.Key { return alerts.Key{SiteID: in.Site, RuleID: in.Rule} }

// SiteRuleForm has the settings of an alert rule that people choose.
type SiteRuleForm struct {
	Name string `json:"name,omitempty" maxLength:"100"`
	alerts.Settings
	Channels []string `json:"channels,omitempty" maxItems:"20" doc:"IDs of channels. Default: all of the site."`
	Off      bool     `json:"off,omitempty" doc:"Nothing is judged."`
}

type siteRuleBody struct {
	ID string `json:"id"`
	SiteRuleForm
	State  string        `json:"state" enum:"ok,pending,firing,off" doc:"pending: the condition holds, but not yet for as long as the rule wants."`
	Since  time.Time     `json:"since,omitzero" doc:"Start of the first unusual hour, if pending or firing."`
	Alert  *alerts.Alert `json:"alert,omitempty" doc:"The alert, if it is firing."`
	Judged time.Time     `json:"judgedUntil" doc:"End of the last judged hour."`
	Next   time.Time     `json:"next,omitzero" doc:"When the next hour is judged."`
}

func ruleFormOf(r *alerts.Rule) SiteRuleForm {
	return SiteRuleForm{r.Name, r.Settings, r.Channels, r.Off}
}

func describeRule(r *alerts.Rule) siteRuleBody {
	b := siteRuleBody{ID: r.RuleID, SiteRuleForm: ruleFormOf(r), State: r.Standing(), Judged: r.Judged, Alert: r.State.Alert}
	if !r.Off {
		b.Next = r.Next
	}
	if r.State.First != 0 {
		b.Since = time.UnixMilli(r.State.First).UTC().Add(-time.Hour)
	}
	return b
}

type siteRulesAnswer struct {
	Body struct {
		Rules []siteRuleBody   `json:"rules"`
		Kinds []alerts.KindDef `json:"kinds" doc:"The kinds that a rule can have, with their settings and defaults."`
	}
}

type putSiteRuleRequest struct {
	SiteRulePath
	Body SiteRuleForm
}

type siteRuleAnswer struct{ Body siteRuleBody }

type siteAlertsRequest struct {
	middleware.SitePath
	Cursor string `query:"cursor" doc:"From the previous page."`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"Maximum number of results."`
}

type siteAlertsAnswer struct {
	Body struct {
		Alerts []alerts.Alert `json:"alerts" doc:"Latest first."`
		Cursor string         `json:"cursor,omitempty"`
	}
}

type previewRequest struct {
	middleware.SitePath
	Days int `query:"days" minimum:"1" maximum:"30" default:"7" doc:"Number of days until now."`
	Body struct{ alerts.Settings }
}

type previewAnswer struct{ Body alerts.Previewed }

func (s *Service) alertRoutes(api huma.API) {
	const alertsPath, list, one = sitePath + "/alerts", sitePath + "/alert-rules", sitePath + "/alert-rules/{rule}"
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "site-alerts", Method: http.MethodGet, Path: alertsPath, Summary: "List the alerts of a site", Tags: tags,
		Description: "Alerts are kept for a year after they have ended.",
	}), s.alerts)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "site-alert-rules", Method: http.MethodGet, Path: list, Summary: "List the alert rules of a site with their state", Tags: tags,
	}), s.rules)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "put-site-alert-rule", Method: http.MethodPut, Path: one, MaxBodyBytes: middleware.MaxSmallBody, Summary: "Create or replace an alert rule of a site", Tags: tags,
		Description: "It judges hours that end from now on, ten minutes after their end. A change of its settings ends a firing alert of the rule without a message.",
	}), s.putRule)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "delete-site-alert-rule", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent, Summary: "Delete an alert rule of a site",
		Description: "A firing alert ends without a message. Its alerts stay listed.", Tags: tags, Errors: []int{http.StatusNotFound},
	}), s.deleteRule)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "preview-site-alert-rule", Method: http.MethodPost, Path: alertsPath + "/preview", MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Show what an alert rule would have done", Description: "Judges the last days with the counts as they are now. Nothing is stored or sent.", Tags: tags,
	}), s.preview)
}

func (s *Service) alerts(ctx context.Context, in *siteAlertsRequest) (*siteAlertsAnswer, error) {
	if _, err := analytics.GetSite(ctx, s.table, in.Site); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	page, err := alerts.AlertsOfSite.Page(ctx, s.table, alerts.SiteIn{SiteID: in.Site}, in.Cursor, in.Limit)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(siteAlertsAnswer)
	answer.Body.Alerts, answer.Body.Cursor = append([]alerts.Alert{}, page.Items...), page.Next
	return answer, nil
}

func (s *Service) rules(ctx context.Context, in *middleware.SitePath) (*siteRulesAnswer, error) {
	all, err := listed(ctx, s, in.Site, func(ctx context.Context) ([]alerts.Rule, error) {
		return alerts.RulesOfSite.Collect(ctx, s.table, alerts.SiteIn{SiteID: in.Site})
	}, describeRule)
	if err != nil {
		return nil, err
	}
	answer := new(siteRulesAnswer)
	answer.Body.Rules, answer.Body.Kinds = all, alerts.Kinds
	return answer, nil
}

func (s *Service) putRule(ctx context.Context, in *putSiteRuleRequest) (*siteRuleAnswer, error) {
	_, was, err := before(ctx, s, alerts.Rules, in.key(), ruleFormOf)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	r, err := alerts.Put(ctx, s.table, alerts.Rule{Key: in.key(), Name: b.Name, Settings: b.Settings, Channels: b.Channels, Off: b.Off})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.record(ctx, "alert_rule.put", in.Site, in.Rule, was, ruleFormOf(&r))
	return &siteRuleAnswer{describeRule(&r)}, nil
}

func (s *Service) deleteRule(ctx context.Context, in *SiteRulePath) (*struct{}, error) {
	r, err := alerts.Delete(ctx, s.table, in.key())
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.record(ctx, "alert_rule.delete", in.Site, in.Rule, ruleFormOf(&r), nil)
	return nil, nil
}

func (s *Service) preview(ctx context.Context, in *previewRequest) (*previewAnswer, error) {
	p, err := alerts.Preview(ctx, s.table, alerts.Rule{Key: alerts.Key{SiteID: in.Site}, Settings: in.Body.Settings}, in.Days)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &previewAnswer{p}, nil
}
