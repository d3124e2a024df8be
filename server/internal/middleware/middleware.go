// Package middleware is what every route of the server runs behind: authentication and authorization, rate limits,
// request metrics, and the mapping of errors to problem documents.
package middleware

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/onefold/onefold/accounts"
)

// Options configure a door. All but Token, TrustProxy, Proxies and Problems are required.
type Options struct {
	Accounts *accounts.Store
	Token    string // reads all sites as "Authorization: Bearer <token>"; "": there is none

	TrustProxy bool           // take the client's address from X-Forwarded-For
	Proxies    []netip.Prefix // the networks of proxies before the last one: they are no clients. Used with TrustProxy

	Public   func(ctx context.Context, site string) (bool, error) // whether a site shows its statistics to everyone
	Problems []func(error) error                                  // the answers to errors of products; nil for other errors

	Logger *slog.Logger
	Clock  func() time.Time
}

// Door lets requests in. Make one with New.
type Door struct {
	Options
	Metrics Metrics

	token   [sha256.Size]byte // of Options.Token, so that comparing takes the same time whatever was sent
	logins  *throttle
	guests  *Limiter // by network
	senders keys
	origins *http.CrossOriginProtection

	recheck func() (ticks <-chan time.Time, stop func()) // when an open stream's caller is looked up again
}

// MinTokenBytes is the length of the shortest token that may be chosen.
const MinTokenBytes = 16

// New makes a door.
func New(o Options) (*Door, error) {
	if o.Token != "" && len(o.Token) < MinTokenBytes {
		return nil, errors.New("server: a token that reads statistics has at least 16 characters")
	}
	return &Door{
		Options: o,
		Metrics: newMetrics(o.Clock),
		token:   sha256.Sum256([]byte(o.Token)),
		logins:  newThrottle(o.Clock),
		guests:  NewLimiter(guestRate, guestBurst, o.Clock),
		senders: keys{known: map[[sha256.Size]byte]knownKey{}},
		origins: http.NewCrossOriginProtection(),
		recheck: func() (<-chan time.Time, func()) {
			t := time.NewTicker(recheckStreams)
			return t.C, t.Stop
		},
	}, nil
}

// MaxSmallBody bounds requests that hold a few settings.
const MaxSmallBody = 64 << 10

// RecordChange is Record of a change from one state of something to another, as bodies of the API; nil is what is not there.
func (d *Door) RecordChange(ctx context.Context, e accounts.Entry, before, after any) {
	if err := e.Change(before, after); err != nil { // the entry is worth having without, too
		d.Logger.ErrorContext(ctx, "what a change changed was not recorded", "action", e.Action, "actor", e.Actor, "subject", e.Subject, "error", err)
	}
	d.Record(ctx, e)
}

// Record writes a change down. What was done stays done when that fails; the log has it then.
func (d *Door) Record(ctx context.Context, e accounts.Entry) {
	if err := d.Accounts.Record(context.WithoutCancel(ctx), e); err != nil {
		d.Logger.ErrorContext(ctx, "a change was not recorded", "action", e.Action, "actor", e.Actor, "subject", e.Subject, "error", err)
	}
}
