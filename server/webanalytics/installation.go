package webanalytics

import (
	"context"
	"errors"
	"net/http"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/installation"
	"github.com/onefold/onefold/internal/referral"
	"github.com/onefold/onefold/server/internal/middleware"
)

// reasonUnknownSite is the reason in the report of a page whose tag has the ID of no site.
const reasonUnknownSite analytics.Reason = "unknown_site"

// reportInstallation adds the report of a page, the only event, to a check. It stores no event.
func (s *Service) reportInstallation(ctx context.Context, site string, from *Sender, events []Event) (*outcomes, error) {
	if len(events) > 1 {
		return nil, middleware.Problem(http.StatusUnprocessableEntity, "check_alone", "An event with a check must be the only one of its request.")
	}
	e := &events[0]
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
