// Package server serves onefold over HTTP. It assembles the routes of the products, adds accounts,
// health checks, metrics and the dashboard, and maps errors to status codes. Domain logic stays in
// the packages that it calls.
//
// A request passes these layers, outermost first (Server.routes builds them):
//
//	CountPanics          counts a panic; net/http then closes the connection
//	WithClientAddress    finds the client's address, behind trusted proxies too
//	securityHeaders
//	load.Gate            keeps the memory of all requests within a budget, if there is one
//	Wrap of a product    answers before routing, such as the ingest of web events
//	unknownPaths         answers unknown paths of the API with a problem
//	Metrics.Observe      measures the operation
//	Authorize            identifies the caller and checks the operation's permission
//	the operation        calls its domain package; middleware.Error maps the error
//
// An operation without a permission cannot be registered: CheckGuards makes New fail.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/onefold/onefold/dynamo/resilient"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/internal/useragent"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/accounts/passkey"
	"github.com/onefold/onefold/server/capacity"
	"github.com/onefold/onefold/server/devices"
	"github.com/onefold/onefold/server/events"
	"github.com/onefold/onefold/server/fleetquery"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/load"
	"github.com/onefold/onefold/server/webanalytics"
	"github.com/onefold/onefold/table"
)

// Options configure a server. Table, Worker and Analytics.Collector are required. Statistics are
// never public by default: people must log in, programs need a key, and a site's settings may make
// its statistics public.
type Options struct {
	Table    *table.Table
	Worker   *fold.Worker    // its lag is reported by /healthz and /metrics; the caller runs it
	Accounts *accounts.Store // default: the accounts in Table

	// Service and StreamService are the services behind Table and Worker, if they can become
	// unreachable. /readyz and /metrics report their state. Default: none.
	Service       *resilient.Store
	StreamService *resilient.Streams
	// Drain empties the spools of the Collectors while Service is unreachable. /readyz and /metrics
	// report its state; the caller runs it. Default: none.
	Drain *spool.Drain

	// TryWrite checks with a small write whether the table accepts writes. /readyz and /healthz
	// report the result. It may outlast its context. Default: no writes are tried, as for a store
	// that is a service, where writes cost money.
	TryWrite func(context.Context) error
	// Failing returns the failed parts that the server can do without, for /healthz. Default: none.
	Failing func() []Part

	Analytics webanalytics.Options
	Devices   devices.Options
	Fleets    fleetquery.Options
	Events    events.Options
	Capacity  capacity.Options

	Collectors []prometheus.Collector // additional ones for /metrics

	MetricsToken string // /metrics requires "Authorization: Bearer <token>"; "": no token
	MetricsApart bool   // /metrics is not served here: the caller serves Metrics at a separate address

	// SecurityContact is a URI for reporting vulnerabilities, published in
	// /.well-known/security.txt. Default: no such file is served.
	SecurityContact string

	Token string // "Authorization: Bearer <token>" reads all sites; "": no such token

	TrustProxy bool           // take the client's address from X-Forwarded-For, and its location from the headers of an edge; only behind a proxy that sets them
	Proxies    []netip.Prefix // networks of proxies before the last one, which are not clients; used with TrustProxy

	// PublicURL is the URL at which people reach the server, such as https://onefold.example.com.
	// Passkeys are bound to its host name, and mail about accounts links to it. Default: passkeys
	// are unavailable.
	PublicURL string

	// OpenID is a provider that people can log in with in addition to passwords. Default: none.
	OpenID *OpenID

	// Mail emails a person about their account: logins with a new browser, rate-limited attempts,
	// and changes to how the person logs in. Default: no mail is sent.
	Mail func(context.Context, Letter) error

	// Load keeps the memory of requests within a budget. Default: no limit.
	Load *load.Gate

	MaxConnections int // maximum concurrent connections, default 10,000; beyond it, idle connections are replaced, then new ones wait

	ShutdownFor time.Duration // how long a shutdown waits for requests in flight; default 10 s
	Version     string
	Logger      *slog.Logger // default: discards
	Clock       func() time.Time
}

func (o *Options) defaults() error {
	if o.Table == nil || o.Worker == nil {
		return errors.New("server: Table and Worker are required")
	}
	if err := checkContact(o.SecurityContact); err != nil {
		return err
	}
	if o.MetricsToken != "" && len(o.MetricsToken) < middleware.MinTokenBytes {
		return errors.New("server: the metrics token must have at least 16 characters")
	}
	if o.Accounts == nil {
		o.Accounts = accounts.New(o.Table, accounts.Options{})
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = 10_000
	}
	if o.ShutdownFor <= 0 {
		o.ShutdownFor = 10 * time.Second
	}
	if o.Events.CaughtUp == nil {
		o.Events.CaughtUp = o.Worker.Drain
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return nil
}

// declared lists what must be known of the products apart from their services.
var declared = []struct {
	// prefix begins the names of the product's types in the API document, because products have
	// types with the same name. paths are parts of import paths: a package whose path contains one
	// of them belongs to the product.
	prefix  string
	paths   []string
	problem func(error) error // maps the product's errors to responses; nil: another line's does
}{
	{"", nil, webanalytics.Problem},
	{"Query", []string{"/server/webanalytics/query"}, nil},
	{"Telemetry", []string{"/telemetry", "/server/devices"}, devices.Problem},
	{"Telemetry", []string{"/server/fleetquery"}, fleetquery.Problem},
	{"EventStore", []string{"/eventstore", "/server/events"}, events.Problem},
}

// product is the server part of one product, such as web analytics. To add one, add a package
// alongside webanalytics, a field to Options, a line to declared, and a call in makeProducts.
type product interface {
	// Register adds the product's operations to the API, each with its authorization, and other
	// handlers to the mux.
	Register(huma.API, *http.ServeMux) error
	// Wrap adds middleware that runs before operations are looked up.
	Wrap(http.Handler) http.Handler
	// Run runs background work while the server runs. When ctx ends, no requests are in flight any
	// more.
	Run(ctx context.Context)
	// Close ends streams and background work, and waits for them.
	Close()
}

// Server answers HTTP requests. Create one with New. It has no global state, so a process can have
// several.
type Server struct {
	o        Options
	since    time.Time
	mw       *middleware.Stack
	products []product
	visits   *webanalytics.Service
	devices  *devices.Service
	handler  http.Handler
	agents   *useragent.Parser
	party    *passkey.Party      // nil if passkeys are unavailable
	signIns  *middleware.Limiter // passkey logins, by network
	notices  *notices
	intake   *intake
	writes   trial
	listener atomic.Pointer[connections] // nil before Run
}

// New creates a server. It fails if a required option is missing or PublicURL is invalid.
func New(o Options) (*Server, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	mw, err := middleware.New(middleware.Options{
		Accounts: o.Accounts, Token: o.Token, TrustProxy: o.TrustProxy, Proxies: o.Proxies, Logger: o.Logger, Clock: o.Clock,
		Public: func(ctx context.Context, site string) (bool, error) {
			return webanalytics.IsPublic(ctx, o.Table, site)
		},
		Problems: problems(),
	})
	if err != nil {
		return nil, err
	}
	agents, err := useragent.New(0)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, agents: agents, signIns: middleware.NewLimiter(passkeyRate, passkeyBurst, o.Clock), writes: trial{try: o.TryWrite, clock: o.Clock}, since: o.Clock(), mw: mw}
	if o.PublicURL != "" {
		if s.party, err = passkey.NewParty(o.PublicURL); err != nil {
			return nil, fmt.Errorf("server: public URL: %w", err)
		}
	}
	if err := s.makeProducts(); err != nil {
		return nil, err
	}
	registerMetrics(&mw.Metrics, o.Worker, o.Clock)
	registerServices(&mw.Metrics, &o)
	mw.Metrics.MustRegister(&serverCollector{s}, BuildInfo(o.Version))
	mw.Metrics.MustRegister(o.Collectors...)
	if o.Load != nil {
		mw.Metrics.MustRegister(o.Load.Collectors()...)
	}
	if s.handler, err = s.routes(); err != nil {
		return nil, err
	}
	s.notices = newNotices(&s.o)
	return s, nil
}

func problems() (all []func(error) error) {
	for _, p := range declared {
		if p.problem != nil {
			all = append(all, p.problem)
		}
	}
	return all
}

func (s *Server) makeProducts() (err error) {
	if s.visits, err = webanalytics.New(s.mw, s.o.Table, s.o.Worker, s.o.Analytics); err != nil {
		return err
	}
	if s.devices, err = devices.New(s.mw, s.o.Table, s.o.Worker, s.o.Devices); err != nil {
		return err
	}
	if s.o.Events.Lag == nil {
		s.o.Events.Lag = func() (*float64, string) {
			lag := FoldsBehind(s.o.Worker, s.since, s.o.Clock())
			return lag.Seconds(), lag.Unknown
		}
	}
	happened, err := events.New(s.mw, s.o.Table, s.o.Events)
	if err != nil {
		return err
	}
	taken, err := capacity.New(s.mw, s.o.Table, s.o.Capacity)
	s.products = []product{s.visits, s.devices, fleetquery.New(s.mw, s.o.Table, s.o.Clock, s.o.Fleets), happened, taken}
	return err
}

// Handler returns the server as an http.Handler, for callers that do not use Run. They must call
// Close when they are done.
func (s *Server) Handler() http.Handler { return s.handler }

// Metrics returns the handler of /metrics, to serve it at a separate address.
func (s *Server) Metrics() http.Handler { return s.metrics() }

// Devices returns the service that devices talk to, for protocols other than HTTP.
func (s *Server) Devices() *devices.Service { return s.devices }

// Close ends streams and background work, and waits for them. Run calls it itself.
func (s *Server) Close() {
	for _, p := range s.products {
		p.Close()
	}
	s.notices.Close()
}

// Run serves on the listener until ctx ends, then waits for the requests in flight.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	web, listener := s.web(nil), bounded(l, s.o.MaxConnections)
	s.listener.Store(listener)
	web.Handler, web.ConnState, web.ConnContext = listener.serving(s.handler), listener.observe, listener.remember
	defer s.runProducts(ctx)() // no request can arrive after it
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	defer s.Close()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	s.Close() // open streams would keep the server from shutting down
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.ShutdownFor)
	defer cancel()
	err := web.Shutdown(grace)
	if err != nil { // requests must not outlive the table
		err = errors.Join(err, web.Close())
	}
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// web returns the HTTP server of a handler. Its timeouts keep clients from holding idle
// connections.
func (s *Server) web(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          errorLog(s.o.Logger),
	}
}

// runProducts runs the products until stop is called, which waits for them.
func (s *Server) runProducts(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	for _, p := range s.products {
		running.Go(func() { p.Run(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}
