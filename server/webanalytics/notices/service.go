// Package notices has the routes of what sites tell people: channels, reports that are sent regularly,
// the messages with their delivery, and the page on which recipients of mail unsubscribe.
package notices

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics/digest"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
)

// Options configure the routes.
type Options struct {
	Senders delivery.Senders // for test messages; the zero value sends none
	// Private allows channels with private and loopback addresses. Default: they are rejected when
	// they are saved. The senders have the same option.
	Private bool
}

// Service serves the routes. Create one with New.
type Service struct {
	o     Options
	mw    *middleware.Stack
	table *table.Table
	byNow *middleware.Limiter // messages that people send at once, by site
}

// New creates the service.
func New(mw *middleware.Stack, t *table.Table, o Options) *Service {
	return &Service{o, mw, t, middleware.NewLimiter(nowRate, nowBurst, mw.Clock)}
}

// Limits of what people send at once: a site's admin could otherwise flood others with mail.
const (
	nowRate  = 1.0 / 60 // a second
	nowBurst = 20
)

func (s *Service) limit(site string) error {
	wait, ok := s.byNow.Allow(site, 1)
	if ok {
		return nil
	}
	seconds := strconv.Itoa(int(wait/time.Second) + 1)
	return huma.ErrorWithHeaders(middleware.Problem(http.StatusTooManyRequests, "rate_limited", "Too many messages were sent by hand. Try again after "+seconds+" s."), http.Header{"Retry-After": {seconds}})
}

const sitePath = "/api/v1/sites/{site}"

var tags = []string{"reports"}

// Register adds the routes.
func (s *Service) Register(api huma.API, mux *http.ServeMux) {
	s.channelRoutes(api)
	s.reportRoutes(api)
	s.messageRoutes(api)
	s.unsubscribeRoutes(mux)
}

// record adds a change to the audit log.
func (s *Service) record(ctx context.Context, action, site, subject string, before, after any) {
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: action, Site: site, Subject: subject}, before, after)
}

// Problem maps an error to a response that says what to do. It returns nil for others.
func Problem(err error) error {
	switch {
	case errors.Is(err, notify.ErrChannel):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_channel", middleware.Detail(err))
	case errors.Is(err, digest.ErrReport):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_report", middleware.Detail(err))
	}
	return nil
}
