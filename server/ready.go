package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/dynamo/resilient"
	"github.com/onefold/onefold/server/internal/middleware"
)

type readyAnswer struct {
	Status int
	Body   struct {
		Status string        `json:"status" enum:"ready,spooling,unreachable,full,unwritable" doc:"spooling: events and readings are kept here until the store answers; other requests are rejected. full: requests that add data are rejected. unwritable: a write failed or timed out."`
		Reason string        `json:"reason,omitempty" doc:"Why the server is not ready, and what to do about it."`
		Store  serviceHealth `json:"store"`
		Spool  *spoolHealth  `json:"spool,omitempty" doc:"Events and readings that wait for the store, if this server has a spool."`
	}
}

// serviceHealth is the state of a store that is a service.
type serviceHealth struct {
	State      resilient.State `json:"state" enum:"closed,open,half_open" doc:"State of the circuit breaker: closed while the store answers."`
	Since      time.Time       `json:"since,omitzero" doc:"When the breaker entered that state."`
	RetryAfter float64         `json:"retryAfterSeconds,omitempty" doc:"Seconds until the store is tried again."`
	Trips      int64           `json:"trips" doc:"How often the store became unreachable since the start."`
	InFlight   int64           `json:"inFlight" doc:"Requests in flight."`
	Waiting    int64           `json:"waiting" doc:"Requests waiting to be sent."`
}

// spoolHealth is the state of the spool.
type spoolHealth struct {
	Records  int64   `json:"records"`
	Bytes    int64   `json:"bytes"`
	MaxBytes int64   `json:"maxBytes"`
	Oldest   float64 `json:"oldestSeconds" doc:"Age in seconds of the oldest waiting record."`
}

// spoolHealth returns the state of the spool, or nil without one. full reports that it accepts no
// more.
func (s *Server) spoolHealth() (h *spoolHealth, full bool) {
	if s.o.Drain == nil {
		return nil, true
	}
	st := s.o.Drain.Spool.Stats()
	h = &spoolHealth{Records: st.Records, Bytes: st.Bytes, MaxBytes: st.MaxBytes}
	if st.Records > 0 {
		h.Oldest = s.o.Clock().Sub(st.Oldest).Seconds()
	}
	return h, st.MaxBytes-st.Bytes < minRoom
}

// minRoom is the free space, in bytes, that a spool needs for requests to be worth sending here:
// one large request.
const minRoom = 4 << 20

func (s *Server) readyRoutes(api huma.API) {
	huma.Register(api, middleware.Guard(middleware.ForAnyone, huma.Operation{
		OperationID: "ready", Method: http.MethodGet, Path: "/readyz",
		Summary: "Report whether the server is ready for requests", Tags: []string{"operations"},
		Description: "For load balancers. Reports what recent requests to the store found, and asks the store only if they found it unreachable. 503 while the store does not answer, unless a spool has room: then 200 with status spooling. For an embedded table it tries a write, at most one a second.",
	}), s.ready)
}

func (s *Server) ready(ctx context.Context, _ *struct{}) (*readyAnswer, error) {
	answer := &readyAnswer{Status: http.StatusOK}
	answer.Body.Status, answer.Body.Store.State = "ready", resilient.Closed
	if s.o.Service != nil {
		if c := s.o.Service.Condition(); c.State != resilient.Closed && c.Wait == 0 {
			_ = s.probe(ctx) // the result shows below. A load balancer that sends no more requests here must not keep the store from being found again
		}
		st := s.o.Service.Stats()
		answer.Body.Store = serviceHealth{
			State: st.Breaker.State, Since: st.Breaker.Since.UTC(), RetryAfter: st.Breaker.Wait.Seconds(), Trips: st.Breaker.Trips,
			InFlight: st.InFlight, Waiting: st.Waiting,
		}
	}
	var full bool
	answer.Body.Spool, full = s.spoolHealth()
	if status, reason := s.trouble(ctx); status != "" {
		answer.Status, answer.Body.Status, answer.Body.Reason = http.StatusServiceUnavailable, status, reason
		return answer, nil
	}
	switch {
	case answer.Body.Store.State == resilient.Closed:
	case !full:
		answer.Body.Status = "spooling"
	default:
		answer.Status, answer.Body.Status = http.StatusServiceUnavailable, "unreachable"
	}
	return answer, nil
}
