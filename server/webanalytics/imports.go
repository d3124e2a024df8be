package webanalytics

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/internal/middleware"
)

// ImportedEvent is a historical event from a log or another program's export, with what it says
// about the visitor.
type ImportedEvent struct {
	ID        string `json:"id" minLength:"26" maxLength:"26" doc:"ULID made from the event's time and content. An event that is sent again with the same ID counts once."`
	Name      string `json:"name,omitempty" maxLength:"120" doc:"Name of a custom event. If empty, the event is a page view."`
	URL       string `json:"url" minLength:"1" maxLength:"8192" doc:"URL of the page, or its path."`
	Referrer  string `json:"referrer,omitempty" maxLength:"8192"`
	Address   string `json:"address,omitempty" maxLength:"256" doc:"The visitor's address, or another ID that is constant for the day. Used to compute the visitor ID, then discarded."`
	UserAgent string `json:"userAgent,omitempty" maxLength:"8192" doc:"Used to compute the visitor ID, then discarded."`
	UserID    string `json:"userId,omitempty" maxLength:"128"`
	SessionID string `json:"sessionId,omitempty" maxLength:"64"`
	analytics.Client
	Properties map[string]string `json:"props,omitempty" maxProperties:"30"`
	Revenue    string            `json:"revenue,omitempty" maxLength:"40" doc:"Decimal."`
	Currency   string            `json:"currency,omitempty" maxLength:"16" doc:"ISO 4217 code of the revenue's currency, which is converted to the site's if the server has exchange rates. Default: the site's."`
}

type importRequest struct {
	middleware.SitePath
	Body struct {
		Events []ImportedEvent `json:"events" minItems:"1" maxItems:"1000"`
		DryRun bool            `json:"dryRun,omitempty" doc:"Report the outcomes without storing anything."`
	}
}

func (s *Service) importRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "import", Method: http.MethodPost, Path: "/api/v1/sites/{site}/import", DefaultStatus: http.StatusAccepted, MaxBodyBytes: maxBatchBytes,
		Summary: "Import up to 1,000 historical events",
		Description: "Returns 202 once they are durable, with an outcome for each. Accepts events of any age, of any host, and of bots: filtering them out " +
			"is up to the sender. Used by `onefold import --server`. There is no rate limit; send one request at a time.",
		Tags: []string{"ingest"}, Errors: []int{http.StatusNotFound},
	}), s.importEvents)
}

func (s *Service) importEvents(ctx context.Context, in *importRequest) (*outcomes, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ingestFor)
	defer cancel()
	hits := make([]analytics.Hit, len(in.Body.Events))
	for i := range in.Body.Events {
		hits[i] = in.Body.Events[i].hit()
		hits[i].Rates = s.o.Rates.Content()
	}
	take := s.o.Collector.Ingest
	if in.Body.DryRun {
		take = s.o.Collector.Preview
	}
	became, err := take(ctx, in.Site, hits)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(outcomes)
	answer.Body.Now, answer.Body.Outcomes = s.mw.Clock().UnixMilli(), became
	if !in.Body.DryRun {
		s.metrics.count(became)
	}
	return answer, nil
}

func (e *ImportedEvent) hit() analytics.Hit {
	return analytics.Hit{
		Imported: true, EventID: e.ID, Name: e.Name, URL: e.URL, Referrer: e.Referrer, Address: e.Address, UserAgent: e.UserAgent,
		UserID: e.UserID, SessionID: e.SessionID, Client: e.Client, Properties: e.Properties, Revenue: e.Revenue, Currency: e.Currency,
	}
}
