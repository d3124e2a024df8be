package webanalytics

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/useragent"
	"github.com/onefold/onefold/server/internal/middleware"
)

const (
	eventPath  = "/api/event"
	eventsPath = "/api/events"

	maxEvents     = 1000
	maxEventBytes = 64 << 10
	maxBatchBytes = 4 << 20

	ingestFor = 30 * time.Second // time limit for storing events
)

// Event is a page view or custom event as sent by a client.
type Event struct {
	_ struct{} `additionalProperties:"true"` // unknown fields are ignored

	ID       string    `json:"id,omitempty" maxLength:"26" doc:"ULID that the client made when the event happened. An event that is sent again with the same ID counts once."`
	Retry    bool      `json:"retry,omitempty" doc:"The event may have been sent before. Set it when you send an event again without knowing its outcome: it then counts once even if the visitor's address has changed since."`
	At       time.Time `json:"at,omitzero" doc:"When the event happened, for clients that do not make ULIDs. Default: the time of the ID, otherwise now."`
	Name     string    `json:"name,omitempty" maxLength:"120" doc:"Name of a custom event. If empty or 'pageview', the event is a page view."`
	URL      string    `json:"url" minLength:"1" maxLength:"4096" doc:"URL of the page, or its path."`
	Referrer string    `json:"referrer,omitempty" maxLength:"4096"`
	analytics.Reported
	UserID     string            `json:"userId,omitempty" maxLength:"128" doc:"ID of the user, if the site identifies users."`
	SessionID  string            `json:"sessionId,omitempty" maxLength:"64" doc:"The client's own session ID. Without it, visits end after 30 minutes without events."`
	Properties map[string]string `json:"props,omitempty" maxProperties:"30"`
	Revenue    string            `json:"revenue,omitempty" maxLength:"40" example:"12.50" doc:"Decimal."`
	Currency   string            `json:"currency,omitempty" maxLength:"16" example:"USD" doc:"ISO 4217 code of the revenue's currency, which is converted to the site's if the server has exchange rates. Default: the site's."`
	analytics.Engagement
	analytics.Vitals
	Check   string   `json:"check,omitempty" maxLength:"300" doc:"Token of a check of the installation. The event is not stored; its outcome is reported to the check. It must be the only one of its request."`
	Visitor *Visitor `json:"visitor,omitempty" doc:"The visitor, for events sent by a server. Needs a key of the site with scope ingest or write."`
}

type oneEvent struct {
	Sender
	Body struct {
		_    struct{} `additionalProperties:"true"`
		Site string   `json:"site" minLength:"1" maxLength:"128"`
		Event
	}
}

type manyEvents struct {
	Sender
	LinesOf string `query:"site" doc:"The site of the events in application/x-ndjson. Required with that type, otherwise ignored."`
	Body    struct {
		_      struct{} `additionalProperties:"true"`
		Site   string   `json:"site" minLength:"1" maxLength:"128"`
		Events []Event  `json:"events" minItems:"1" maxItems:"1000"`
	}
}

// outcomes is the response to an ingest request: one outcome per event, in order.
type outcomes struct {
	Body struct {
		Outcomes []analytics.Outcome `json:"outcomes"`
		Now      int64               `json:"now" doc:"The server's clock, in milliseconds since 1970. An event that was too_old or in_the_future can be sent again with a new ID."`
	}
}

func (s *Service) ingestRoutes(api huma.API) {
	one := middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: oneOperation, Method: http.MethodPost, Path: eventPath, DefaultStatus: http.StatusAccepted, MaxBodyBytes: maxEventBytes,
		Summary: "Ingest one event", Tags: []string{"ingest"},
		Description: "Returns 202 once the event's outcome is decided: stored and durable; queued, which is durable and stored when the table can be reached again; duplicate; or rejected with a reason. " +
			"A rejected event is not an error of the request, and sending it again does not help. Unknown fields are ignored.",
	})
	take := func(ctx context.Context, in *oneEvent) (*outcomes, error) {
		return s.ingest(ctx, in.Body.Site, &in.Sender, []Event{in.Body.Event}, nil)
	}
	huma.Register(api, one, take)
	if s.o.EventPath != "" {
		one.OperationID, one.Path, one.Hidden = aliasOperation, s.o.EventPath, true
		huma.Register(api, one, take)
	}
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: manyOperation, Method: http.MethodPost, Path: eventsPath, DefaultStatus: http.StatusAccepted, MaxBodyBytes: maxBatchBytes,
		Summary: "Ingest up to 1,000 events", Tags: []string{"ingest"},
		Description: "Returns 202 once they are durable, with an outcome for each. As application/x-ndjson, each line is an event of at most 64 KB, and the site is a query parameter. " +
			"Empty lines are ignored. An invalid or too long line is rejected alone, as bad_line or line_too_long; a JSON body with an invalid event is rejected as a whole.",
		RequestBody: &huma.RequestBody{Content: map[string]*huma.MediaType{linesType: {Schema: &huma.Schema{Type: huma.TypeString, Description: "One event per line: an object as in the events of application/json."}}}},
	}), func(ctx context.Context, in *manyEvents) (*outcomes, error) {
		return s.ingest(ctx, in.Body.Site, &in.Sender, in.Body.Events, nil)
	})
	s.pixelRoutes(api)
	s.refusalRoutes(api)
}

// ingest stores events. decided has an outcome with a status for each event that is already
// rejected; nil if there are none.
func (s *Service) ingest(ctx context.Context, site string, from *Sender, events []Event, decided []analytics.Outcome) (*outcomes, error) {
	told, err := s.identifiesVisitors(ctx, site, from, events)
	if err != nil {
		return nil, err
	}
	if err := s.withinRates(site, from.address, told, len(events)); err != nil {
		return nil, err
	}
	// A page that is closed sends its last events and then closes the connection. They count
	// nevertheless.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ingestFor)
	defer cancel()
	if slices.ContainsFunc(events, func(e Event) bool { return e.Check != "" }) {
		return s.reportInstallation(ctx, site, from, events)
	}
	answer := new(outcomes)
	answer.Body.Now = s.mw.Clock().UnixMilli()
	if answer.Body.Outcomes = decided; decided == nil {
		answer.Body.Outcomes = make([]analytics.Outcome, len(events))
	}
	hits, of, err := s.people(ctx, site, from, events, answer.Body.Outcomes)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if len(hits) > 0 {
		stored, err := s.o.Collector.Ingest(ctx, site, hits)
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		s.countRejected(ctx, site, stored)
		for i := range stored {
			answer.Body.Outcomes[of[i]] = stored[i]
		}
	}
	s.metrics.count(answer.Body.Outcomes)
	return answer, nil
}

// people returns the hits of events that no bot sent, with their indexes in events. Events of bots
// are counted and get their outcomes; events that already have an outcome are only counted.
func (s *Service) people(ctx context.Context, site string, from *Sender, events []Event, rejected []analytics.Outcome) (hits []analytics.Hit, of []int, err error) {
	hits, of = make([]analytics.Hit, 0, len(events)), make([]int, 0, len(events))
	var told Sender
	for i := range events {
		if rejected[i].Status != "" {
			if err := s.countBroken(ctx, site, rejected[i].Reason); err != nil {
				return nil, nil, err
			}
			continue
		}
		e, sender := &events[i], from
		if e.Visitor != nil {
			told = from.onBehalfOf(e.Visitor)
			sender = &told
		}
		h, agent := s.hitOf(e, sender)
		if agent.Bot {
			if err := s.countBot(ctx, site, &agent, 1); err != nil {
				return nil, nil, err
			}
			rejected[i] = ofBot(e.ID)
			continue
		}
		hits, of = append(hits, h), append(of, i)
	}
	return hits, of, nil
}

// hitOf returns the hit of an event, and who sent it. The hit of a bot has no more than the event's own fields.
func (s *Service) hitOf(e *Event, sender *Sender) (analytics.Hit, useragent.Agent) {
	h, agent := e.hit(sender), s.agents.Parse(sender.UserAgent)
	if agent.Bot {
		return h, agent
	}
	place := s.placeOf(sender)
	h.Browser, h.OS, h.Device = agent.Browser, agent.OS, agent.Device
	h.Country, h.Region, h.City = place.Country, place.Region, place.City
	h.DataCenter, h.Spam = s.inDataCenter(sender.address), s.isSpam(h.Referrer)
	h.Rates = s.o.Rates.Content()
	return h, agent
}

// ofBot is the outcome of an event of a bot.
func ofBot(id string) analytics.Outcome {
	return analytics.Outcome{EventID: id, Status: analytics.Rejected, Reason: reasonBot, Detail: "user agents of bots are not counted"}
}

// withinRates charges n events to the rate limits of the site and of the address. The address is
// exempt if the sender has a key.
func (s *Service) withinRates(site, address string, keyed bool, n int) error {
	if !keyed {
		if wait, ok := s.limits.Allow(middleware.Network(address), n); !ok {
			s.metrics.refused.WithLabelValues("rate_limited").Add(float64(n))
			return middleware.RateLimited("events from this address", wait)
		}
	}
	if wait, ok := s.siteLimits.Allow(site, n); !ok {
		s.metrics.refused.WithLabelValues("site_rate_limited").Add(float64(n))
		return middleware.RateLimited("events of this site", wait)
	}
	return nil
}

func (e *Event) hit(from *Sender) analytics.Hit {
	h := analytics.Hit{
		EventID: e.ID, Resent: e.Retry, At: e.At, Name: e.Name, URL: e.URL, Referrer: e.Referrer, UserAgent: from.UserAgent, Address: from.address,
		UserID: e.UserID, SessionID: e.SessionID, Client: e.Reported.Client(), Properties: e.Properties, Revenue: e.Revenue, Currency: e.Currency,
		Engagement: e.Engagement, Vitals: e.Vitals, DNT: from.dnt, GPC: from.gpc,
	}
	if h.Name == "pageview" {
		h.Name = ""
	}
	return h
}

// reasonBot is the reason for rejecting events of bots.
const reasonBot analytics.Reason = "bot"
