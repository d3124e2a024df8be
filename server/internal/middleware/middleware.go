// Package middleware is the middleware that the routes of all products share: it identifies and
// authorizes callers, limits their rates, maps errors to problems, and measures requests.
package middleware

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/onefold/onefold/server/accounts"
)

// Options configure a Stack. All fields except Token, TrustProxy, Proxies and Problems are required.
type Options struct {
	Accounts *accounts.Store
	Token    string // "Authorization: Bearer <token>" reads all sites; "": no such token

	TrustProxy bool           // take the client's address from X-Forwarded-For
	Proxies    []netip.Prefix // networks of proxies before the last one, which are not clients; used with TrustProxy

	Public   func(ctx context.Context, site string) (bool, error) // reports whether a site's statistics are public
	Problems []func(error) error                                  // map errors of products to responses; they return nil for other errors

	Logger *slog.Logger
	Clock  func() time.Time
}

// Stack is the middleware of all routes. Create one with New.
type Stack struct {
	Options
	Metrics Metrics

	token     [sha256.Size]byte // hash of Options.Token, so that comparisons take the same time for every input
	logins    *throttle
	anonymous *Limiter // by network
	senders   keys
	origins   *http.CrossOriginProtection

	recheck func() (ticks <-chan time.Time, stop func()) // ticks when the callers of open streams are to be looked up again
}

// MinTokenBytes is the minimum length of a configured token.
const MinTokenBytes = 16

// New creates a Stack. It fails if Options.Token is too short.
func New(o Options) (*Stack, error) {
	if o.Token != "" && len(o.Token) < MinTokenBytes {
		return nil, errors.New("server: the token for reading statistics must have at least 16 characters")
	}
	return &Stack{
		Options:   o,
		Metrics:   newMetrics(o.Clock),
		token:     sha256.Sum256([]byte(o.Token)),
		logins:    newThrottle(o.Clock),
		anonymous: NewLimiter(anonymousRate, anonymousBurst, o.Clock),
		senders:   keys{known: map[[sha256.Size]byte]knownKey{}},
		origins:   http.NewCrossOriginProtection(),
		recheck: func() (<-chan time.Time, func()) {
			t := time.NewTicker(recheckStreams)
			return t.C, t.Stop
		},
	}, nil
}

// MaxSmallBody is the maximum body size of requests with a few settings.
const MaxSmallBody = 64 << 10

// RecordChange records a change with the API bodies before and after; nil means that there is none.
func (s *Stack) RecordChange(ctx context.Context, e accounts.Entry, before, after any) {
	if err := e.Change(before, after); err != nil { // record the entry even without the changed fields
		s.Logger.ErrorContext(ctx, "recording the changed fields failed", "action", e.Action, "actor", e.Actor, "subject", e.Subject, "error", err)
	}
	s.Record(ctx, e)
}

// Record adds an entry to the audit record. If that fails, the change stands and the entry is
// logged.
func (s *Stack) Record(ctx context.Context, e accounts.Entry) {
	if err := s.Accounts.Record(context.WithoutCancel(ctx), e); err != nil {
		s.Logger.ErrorContext(ctx, "recording a change failed", "action", e.Action, "actor", e.Actor, "subject", e.Subject, "error", err)
	}
}
