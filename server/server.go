// Package server is the HTTP face of onefold: it assembles the routes of the products, adds those of accounts, health and
// metrics and the dashboard, and serves them. It maps requests to verbs and errors to status codes, and holds no rule of
// its own. Only cmd starts it.
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

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/accounts/passkey"
	"github.com/onefold/onefold/dynamo/resilient"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/internal/useragent"
	"github.com/onefold/onefold/server/capacity"
	"github.com/onefold/onefold/server/devices"
	"github.com/onefold/onefold/server/events"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/load"
	"github.com/onefold/onefold/server/webanalytics"
	"github.com/onefold/onefold/table"
)

// Options configure a server. Table, Worker and Analytics.Collector are required. Statistics are never public by
// accident: they are for people who log in, for keys, and for what a site's settings make public.
type Options struct {
	Table    *table.Table
	Worker   *fold.Worker    // asked for its lag by /healthz and /metrics; cmd runs it
	Accounts *accounts.Store // default: those of Table

	// Service and StreamService are what Table and Worker ask when that is a service, which can be away: /readyz and /metrics
	// tell of them. Default: none.
	Service       *resilient.Store
	StreamService *resilient.Streams
	// Drain empties what Collectors keep while Service is away: /readyz and /metrics tell of it; cmd runs it. Default: none.
	Drain *spool.Drain

	// TryWrite finds out whether a write gets through, by a small one: /readyz and /healthz tell what became of it. It may take
	// longer than its context lasts. Default: it is not tried, as of a store that is a service, where writes cost.
	TryWrite func(context.Context) error
	// Failing tells which parts have failed that the server can do without: /healthz names them. Default: none.
	Failing func() []Part

	Analytics webanalytics.Options
	Devices   devices.Options
	Events    events.Options
	Capacity  capacity.Options

	Collectors []prometheus.Collector // further ones for /metrics

	MetricsToken string // /metrics asks for it as "Authorization: Bearer <token>"; "": for none
	MetricsApart bool   // /metrics is not found here: cmd serves Metrics at an address of its own

	// SecurityContact is where to report a vulnerability, as /.well-known/security.txt tells: a URI. Default: it tells of none.
	SecurityContact string

	Token string // reads all sites as "Authorization: Bearer <token>"; "": there is none

	TrustProxy bool           // take the client's address from X-Forwarded-For, and its place from an edge; only behind a proxy that sets them
	Proxies    []netip.Prefix // the networks of proxies before the last one: they are no clients. Used with TrustProxy

	// PublicURL is where people reach the server, such as https://onefold.example.com. Passkeys are for its host name, and mail
	// about accounts has it as a link. Default: there are no passkeys.
	PublicURL string

	// OpenID is a provider that people log in with, beside their passwords. Default: there is none.
	OpenID *OpenID

	// Mail sends an email to a person about the person's account: of a login with a new browser, of attempts that are slowed down, and of
	// changes to how the person logs in. Default: nobody is told.
	Mail func(context.Context, Letter) error

	// Load keeps the memory that requests take within a budget. Default: there is none.
	Load *load.Gate

	MaxConnections int // at a time; default 10,000. More find the place of an idle one, or wait

	ShutdownFor time.Duration // how long requests under way may take to finish at shutdown; default 10 s
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
		return errors.New("server: a token that reads metrics has at least 16 characters")
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

// product is what one kind of data has of the server. A further one is a package beside webanalytics, its options a field
// of Options; New makes it.
type product interface {
	// Register adds operations to the API, each guarded, and to the mux what is served beside it.
	Register(huma.API, *http.ServeMux) error
	// Wrap handles what comes before operations are looked up.
	Wrap(http.Handler) http.Handler
	// Run does what goes on while the server runs. When ctx ends, no request is under way any more.
	Run(ctx context.Context)
	// Close ends streams and work in the background, and waits for it.
	Close()
}

// Server answers HTTP requests. Make one with New; it holds no global state, so a process can have several.
type Server struct {
	o        Options
	since    time.Time
	door     *middleware.Door
	products []product
	visits   *webanalytics.Service
	devices  *devices.Service
	handler  http.Handler
	agents   *useragent.Parser
	party    *passkey.Party      // nil: there are no passkeys
	signIns  *middleware.Limiter // with passkeys, by network
	notices  *notices
	intake   *intake
	writes   trial
	listener atomic.Pointer[connections] // nil before Run
}

// New makes a server. It fails when a required option is missing.
func New(o Options) (*Server, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	d, err := middleware.New(middleware.Options{
		Accounts: o.Accounts, Token: o.Token, TrustProxy: o.TrustProxy, Proxies: o.Proxies, Logger: o.Logger, Clock: o.Clock,
		Public: func(ctx context.Context, site string) (bool, error) {
			return webanalytics.IsPublic(ctx, o.Table, site)
		},
		Problems: []func(error) error{webanalytics.Problem, devices.Problem, events.Problem},
	})
	if err != nil {
		return nil, err
	}
	agents, err := useragent.New(0)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, agents: agents, signIns: middleware.NewLimiter(passkeyRate, passkeyBurst, o.Clock), writes: trial{try: o.TryWrite, clock: o.Clock}, since: o.Clock(), door: d}
	if o.PublicURL != "" {
		if s.party, err = passkey.NewParty(o.PublicURL); err != nil {
			return nil, fmt.Errorf("server: public URL: %w", err)
		}
	}
	if err := s.makeProducts(); err != nil {
		return nil, err
	}
	registerMetrics(&d.Metrics, o.Worker, o.Clock)
	registerServices(&d.Metrics, &o)
	d.Metrics.MustRegister(&serverCollector{s}, BuildInfo(o.Version))
	d.Metrics.MustRegister(o.Collectors...)
	if o.Load != nil {
		d.Metrics.MustRegister(o.Load.Collectors()...)
	}
	if s.handler, err = s.routes(); err != nil {
		return nil, err
	}
	s.notices = newNotices(&s.o)
	return s, nil
}

func (s *Server) makeProducts() (err error) {
	if s.visits, err = webanalytics.New(s.door, s.o.Table, s.o.Worker, s.o.Analytics); err != nil {
		return err
	}
	if s.devices, err = devices.New(s.door, s.o.Table, s.o.Worker, s.o.Devices); err != nil {
		return err
	}
	happened, err := events.New(s.door, s.o.Table, s.o.Events)
	if err != nil {
		return err
	}
	taken, err := capacity.New(s.door, s.o.Table, s.o.Capacity)
	s.products = []product{s.visits, s.devices, happened, taken}
	return err
}

// Handler returns the server as an http.Handler, for those who do not Run it. They call Close when they are done.
func (s *Server) Handler() http.Handler { return s.handler }

// Metrics is the handler of /metrics, for an address of its own.
func (s *Server) Metrics() http.Handler { return s.metrics() }

// Devices is what devices talk to, for ways in that are not HTTP.
func (s *Server) Devices() *devices.Service { return s.devices }

// Close ends streams and what goes on in the background, and waits for it. Run does so itself.
func (s *Server) Close() {
	for _, p := range s.products {
		p.Close()
	}
	s.notices.Close()
}

// Run serves on the listener until ctx ends, then lets the requests under way finish.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	web, listener := s.web(nil), bounded(l, s.o.MaxConnections)
	s.listener.Store(listener)
	web.Handler, web.ConnState, web.ConnContext = listener.serving(s.handler), listener.observe, listener.remember
	defer s.runProducts(ctx)() // after which no request can come any more
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	defer s.Close()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	s.Close() // streams would keep the server from ending
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

// web is the server of a handler. No client holds a connection for long without doing something with it.
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

// runProducts lets the products run until stop is called, which waits for them.
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
