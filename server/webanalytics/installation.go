package webanalytics

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/installation"
	"github.com/onefold/onefold/internal/referral"
	"github.com/onefold/onefold/server/internal/middleware"
)

// reasonUnknownSite is the reason in the report of a page whose tag has the ID of no site.
const reasonUnknownSite analytics.Reason = "unknown_site"

type installationBody struct {
	Parameter string              `json:"parameter" doc:"Value of the parameter onefold with which to open a page of the site."`
	Expires   time.Time           `json:"expires"`
	Report    *installationReport `json:"report,omitempty" doc:"Absent until the page has reported."`
}

type installationReport struct {
	At      time.Time        `json:"at"`
	Site    string           `json:"site" doc:"Site ID of the page's tag."`
	Host    string           `json:"host" doc:"Host of the page."`
	Ignored bool             `json:"ignored" doc:"The browser is excluded with ?onefold=ignore."`
	Refused bool             `json:"refused" doc:"The tag respects a signal that the browser sends: Do Not Track or Global Privacy Control."`
	Package bool             `json:"package" doc:"The tracker is the npm package, not the script."`
	Status  analytics.Status `json:"status" enum:"stored,rejected" doc:"What would become of an event of the page."`
	Reason  analytics.Reason `json:"reason,omitempty" doc:"Of a rejection, as for events; also unknown_site."`
	Detail  string           `json:"detail,omitempty"`
}

type installationAnswer struct{ Body installationBody }

func (s *Service) installationRoutes(api huma.API) {
	const path = "/api/v1/sites/{site}/installation"
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "check-installation", Method: http.MethodPost, Path: path, DefaultStatus: http.StatusCreated,
		Summary: "Check the tracker of a site", Tags: []string{"sites"},
		Description: "Open a page of the site in a browser within ten minutes, with ?onefold= and the parameter. Its tracker reports once, to where it sends events. The server itself contacts no page. A new check replaces the last one.",
	}), s.checkInstallation)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "installation", Method: http.MethodGet, Path: path,
		Summary: "Get the report of the last check of the tracker", Tags: []string{"sites"}, Errors: []int{http.StatusNotFound},
	}), s.installation)
}

func (s *Service) checkInstallation(ctx context.Context, in *struct{ middleware.SitePath }) (*installationAnswer, error) {
	c, err := installation.Start(ctx, s.table, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return describeInstallation(&c), nil
}

func (s *Service) installation(ctx context.Context, in *struct{ middleware.SitePath }) (*installationAnswer, error) {
	c, err := installation.Last(ctx, s.table, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return describeInstallation(&c), nil
}

func describeInstallation(c *installation.Check) *installationAnswer {
	answer := &installationAnswer{installationBody{Parameter: "check_" + c.Token, Expires: c.ExpiresAt}}
	if r := c.Report; r != nil {
		answer.Body.Report = &installationReport{r.At, r.TagSite, r.Host, r.Ignored, r.Refused, r.Package, r.Outcome.Status, r.Outcome.Reason, r.Outcome.Detail}
	}
	return answer
}

// reportInstallation adds the report of a page to a check. It stores no event.
func (s *Service) reportInstallation(ctx context.Context, site string, from *Sender, e *Event) (*outcomes, error) {
	outcome, err := s.previewEvent(ctx, site, from, e)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	has := func(property string) bool { return e.Properties[property] != "" }
	err = installation.Add(ctx, s.table, e.Check, installation.Report{
		TagSite: site, Host: referral.Locate(e.URL).Host, Ignored: has("ignored"), Refused: has("refused"), Package: has("package"), Outcome: outcome,
	})
	if errors.Is(err, installation.ErrToken) {
		return nil, middleware.Problem(http.StatusNotFound, "not_found", "This check is unknown, has ended or has its report already. Start another one.")
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(outcomes)
	answer.Body.Now, answer.Body.Outcomes = s.mw.Clock().UnixMilli(), []analytics.Outcome{outcome}
	return answer, nil
}

// previewEvent returns what would become of an event.
func (s *Service) previewEvent(ctx context.Context, site string, from *Sender, e *Event) (analytics.Outcome, error) {
	sender := *from
	if e.Visitor != nil {
		sender = from.onBehalfOf(e.Visitor)
	}
	h, agent := s.hitOf(e, &sender)
	if agent.Bot {
		return ofBot(e.ID), nil
	}
	h.Properties = nil // they describe the browser
	previewed, err := s.o.Collector.Preview(ctx, site, []analytics.Hit{h})
	if errors.Is(err, analytics.ErrUnknownSite) {
		return analytics.Outcome{Status: analytics.Rejected, Reason: reasonUnknownSite}, nil
	}
	if err != nil {
		return analytics.Outcome{}, err
	}
	return previewed[0], nil
}
