// Package server is the HTTP face of onefold: it takes events in, gives statistics out and tells its health. It maps
// requests to the verbs of the products and their errors to status codes, and holds no rule of its own. Only cmd
// starts it.
package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/refusals"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/geo"
	"github.com/onefold/onefold/internal/useragent"
	"github.com/onefold/onefold/table"
)

// Options configure a server. Table, Collector and Worker are required. Statistics are never public by accident: they
// are for people who log in, for keys, and for what a site's settings make public.
type Options struct {
	Table     *table.Table
	Collector *analytics.Collector
	Worker    *fold.Worker    // asked for its lag by /healthz and /metrics; cmd runs it
	Accounts  *accounts.Store // default: those of Table

	Token string // reads all sites as "Authorization: Bearer <token>"; "": there is none

	TrustProxy  bool           // take the client's address from X-Forwarded-For, and its place from an edge; only behind a proxy that sets them
	Proxies     []netip.Prefix // the networks of proxies before the last one: they are no clients. Used with TrustProxy
	Places      *geo.DB        // places of addresses; default: only what a trusted edge says
	TrackerPath string         // also serves the tracker here, such as /js/numbers.js
	EventPath   string         // also takes single events here; a page's tracker is told by its data-api

	EventRate   float64       // events a second from one address, sustained; default 100
	EventBurst  int           // events at once from one address; default 2,000
	SiteRate    float64       // events a second of one site, sustained, ten times as many at once; default 10,000
	ShutdownFor time.Duration // how long requests under way may take to finish at shutdown; default 10 s
	Version     string
	Logger      *slog.Logger // default: discards
	Clock       func() time.Time
}

func (o *Options) defaults() error {
	switch {
	case o.Table == nil || o.Collector == nil || o.Worker == nil:
		return errors.New("server: Table, Collector and Worker are required")
	case o.Token != "" && len(o.Token) < minTokenBytes:
		return errors.New("server: a token that reads statistics has at least 16 characters")
	}
	if o.Accounts == nil {
		o.Accounts = accounts.New(o.Table, accounts.Options{})
	}
	if o.EventRate <= 0 {
		o.EventRate = 100
	}
	if o.EventBurst <= 0 {
		o.EventBurst = maxEvents * 2
	}
	if o.SiteRate <= 0 {
		o.SiteRate = 10_000
	}
	if o.ShutdownFor <= 0 {
		o.ShutdownFor = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o.checkAliases()
}

const minTokenBytes = 16

// Server answers HTTP requests. Make one with New; it holds no global state, so a process can have several.
type Server struct {
	o       Options
	since   time.Time
	token   [sha256.Size]byte // of Options.Token, so that comparing takes the same time whatever was sent
	agents  *useragent.Parser
	limits  *limiter // by address
	logins  *throttle
	guests  *limiter // by network
	origins *http.CrossOriginProtection
	metrics *metrics
	handler http.Handler

	siteLimits *limiter // by site
	refusals   *refusals.Counter

	raw           *explore.Explorer
	verifications verifications
	realtimes     realtimes
	erasing       chan struct{} // holds one while somebody is erased: it reads all raw events of a site
	background    *background
}

// New makes a server. It fails when a required option is missing.
func New(o Options) (*Server, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	agents, err := useragent.New(0)
	if err != nil {
		return nil, err
	}
	s := &Server{
		o:       o,
		since:   o.Clock(),
		token:   sha256.Sum256([]byte(o.Token)),
		agents:  agents,
		limits:  newLimiter(o.EventRate, o.EventBurst, o.Clock),
		logins:  newThrottle(o.Clock),
		guests:  newLimiter(guestRate, guestBurst, o.Clock),
		origins: http.NewCrossOriginProtection(),
		metrics: newMetrics(o.Worker, o.Clock),

		siteLimits: newLimiter(o.SiteRate, max(int(10*o.SiteRate), maxEvents), o.Clock),
		refusals:   refusals.NewCounter(o.Table),

		raw:        explore.New(o.Table, explore.Options{}),
		background: newBackground(),
		erasing:    make(chan struct{}, 1),
	}
	if s.handler, err = s.routes(); err != nil {
		return nil, err
	}
	return s, nil
}

// Handler returns the server as an http.Handler, for those who do not Run it. They call Close when they are done.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends streams and what goes on in the background, and waits for it. Run does so itself.
func (s *Server) Close() { s.background.close() }

// Run serves on the listener until ctx ends, then lets the requests under way finish.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	web := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          errorLog(s.o.Logger),
	}
	counting, stop := context.WithCancel(context.WithoutCancel(ctx))
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		s.refusals.Run(counting, func(err error) { s.o.Logger.Warn("refusals not written yet", "error", err) })
	}()
	defer func() { // when no request can add to them any more
		stop()
		<-counted
	}()
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	defer s.background.close()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	s.background.close() // streams would keep the server from ending
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.ShutdownFor)
	defer cancel()
	err := web.Shutdown(grace)
	if err != nil { // requests that would outlive the table
		err = errors.Join(err, web.Close())
	}
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
