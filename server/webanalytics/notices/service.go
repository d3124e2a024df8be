// Package notices has the routes of what sites tell people: channels, reports that are sent regularly,
// alerts, the messages with their delivery, and the page on which recipients of mail unsubscribe.
package notices

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/alerts"
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
	s.alertRoutes(api)
	s.messageRoutes(api)
	s.unsubscribeRoutes(mux)
}

// record adds a change to the audit log.
func (s *Service) record(ctx context.Context, action, site, subject string, before, after any) {
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: action, Site: site, Subject: subject}, before, after)
}

// listed describes all of something that a site has. Errors: table.ErrNotFound for an unknown site.
func listed[T, B any](ctx context.Context, s *Service, site string, all func(context.Context) ([]T, error), describe func(*T) B) ([]B, error) {
	if _, err := analytics.GetSite(ctx, s.table, site); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	found, err := all(ctx)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	described := make([]B, len(found))
	for i := range found {
		described[i] = describe(&found[i])
	}
	return described, nil
}

// before describes an item for the audit log as it was before a change: nil if it did not exist.
func before[T, K, B any](ctx context.Context, s *Service, e *table.Entity[T, K], k K, describe func(*T) B) (current T, was any, err error) {
	current, err = e.Get(ctx, s.table, k)
	switch {
	case err == nil:
		return current, describe(&current), nil
	case errors.Is(err, table.ErrNotFound):
		return current, nil, nil
	}
	return current, nil, s.mw.Error(ctx, err)
}

// Problem maps an error to a response that says what to do. It returns nil for others.
func Problem(err error) error {
	switch {
	case errors.Is(err, notify.ErrChannel):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_channel", middleware.Detail(err))
	case errors.Is(err, digest.ErrReport):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_report", middleware.Detail(err))
	case errors.Is(err, alerts.ErrRule):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_rule", middleware.Detail(err))
	}
	return nil
}
