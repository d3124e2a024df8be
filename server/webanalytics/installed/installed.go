// Package installed has the routes to check from the dashboard whether the tracker of a site works.
package installed

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/installation"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

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
	Status  analytics.Status `json:"status" enum:"stored,rejected" doc:"Outcome that an event of the page would have."`
	Reason  analytics.Reason `json:"reason,omitempty" doc:"Of a rejection, as for events; also unknown_site."`
	Detail  string           `json:"detail,omitempty"`
}

type answer struct{ Body installationBody }

// Service serves the routes.
type Service struct {
	mw    *middleware.Stack
	table *table.Table
}

// New returns a Service.
func New(mw *middleware.Stack, t *table.Table) *Service { return &Service{mw, t} }

// Register adds the operations to the API.
func (s *Service) Register(api huma.API) {
	const path = "/api/v1/sites/{site}/installation"
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "check-installation", Method: http.MethodPost, Path: path, DefaultStatus: http.StatusCreated,
		Summary: "Check the tracker of a site", Tags: []string{"sites"},
		Description: "Open a page of the site in a browser within ten minutes, with ?onefold= and the parameter. Its tracker reports once, to where it sends events. The server itself contacts no page. A new check replaces the last one.",
	}), s.start)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "installation", Method: http.MethodGet, Path: path,
		Summary: "Get the report of the last check of the tracker", Tags: []string{"sites"}, Errors: []int{http.StatusNotFound},
	}), s.last)
}

func (s *Service) start(ctx context.Context, in *struct{ middleware.SitePath }) (*answer, error) {
	c, err := installation.Start(ctx, s.table, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return describe(&c), nil
}

func (s *Service) last(ctx context.Context, in *struct{ middleware.SitePath }) (*answer, error) {
	c, err := installation.Last(ctx, s.table, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return describe(&c), nil
}

func describe(c *installation.Check) *answer {
	a := &answer{installationBody{Parameter: "check_" + c.Token, Expires: c.ExpiresAt}}
	if r := c.Report; r != nil {
		a.Body.Report = &installationReport{r.At, r.TagSite, r.Host, r.Ignored, r.Refused, r.Package, r.Outcome.Status, r.Outcome.Reason, r.Outcome.Detail}
	}
	return a
}
