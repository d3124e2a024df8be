// Package webanalytics serves web analytics over HTTP: it ingests events, reports statistics, and
// manages sites and goals. It maps requests to functions of package analytics and errors to status
// codes. Domain logic stays in package analytics.
package webanalytics

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/filtered"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/blocklist"
	"github.com/onefold/onefold/internal/exchange"
	"github.com/onefold/onefold/internal/geo"
	"github.com/onefold/onefold/internal/livefile"
	"github.com/onefold/onefold/internal/useragent"
	"github.com/onefold/onefold/server/internal/background"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/jobs"
	"github.com/onefold/onefold/server/webanalytics/filters"
	"github.com/onefold/onefold/server/webanalytics/installed"
	"github.com/onefold/onefold/server/webanalytics/notices"
	"github.com/onefold/onefold/table"
)

// Options configure web analytics. Collector is required.
type Options struct {
	Collector *analytics.Collector

	Archive     explore.Archive                    // expired raw events; default: none
	Columns     *explore.Files                     // columns of completed days, if the table is embedded; default: none
	KeepBytes   int                                // memory in bytes for raw events of filtered reports; default 128 MB
	Places      *geo.Live                          // locations of addresses; default: only what a trusted edge sends
	DataCenters *livefile.File[blocklist.Networks] // networks of data centers, whose events are filtered out; default: none
	Spam        *livefile.File[blocklist.Domains]  // referrers whose events are filtered out; default: none
	Rates       *livefile.File[exchange.Rates]     // to convert revenue to the site's currency; default: none
	TrackerPath string                             // additional path of the tracker, such as /js/numbers.js
	EventPath   string                             // additional path for single events; pages set it as data-api of the tracker

	Uploads string // folder for uploaded files while they are imported; default: the system's temporary folder

	Notices notices.Options // channels and reports

	EventRate  float64 // sustained events per second from one address; default 100
	EventBurst int     // events at once from one address; default 2,000
	SiteRate   float64 // sustained events per second of one site, ten times as many at once; default 10,000
}

func (o *Options) defaults() error {
	if o.Collector == nil {
		return errors.New("server: Analytics.Collector is required")
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
	return o.checkAliases()
}

// Service serves web analytics with authorization. Create one with New.
type Service struct {
	o       Options
	mw      *middleware.Stack
	table   *table.Table
	worker  *fold.Worker
	agents  *useragent.Parser
	metrics *metrics

	limits     *middleware.Limiter // by address
	siteLimits *middleware.Limiter // by site
	filtered   *filtered.Counter

	raw           *explore.Explorer
	notices       *notices.Service
	filters       *filters.Filters
	verifications *jobs.Board[verifyBody]
	realtimes     briefCache[realtimeBody]
	badges        briefCache[int64] // visitors of public sites, for badges
	imported      *jobs.Board[ImportWork]
	importTurn    chan struct{} // semaphore: one import at a time, because each takes up to 512 MB
	erasing       chan struct{} // semaphore: one erasure at a time, because each reads all raw events of a site
	background    *background.Work
}

// New creates the service for a table that the worker folds.
func New(mw *middleware.Stack, t *table.Table, w *fold.Worker, o Options) (*Service, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	agents, err := useragent.New(0)
	if err != nil {
		return nil, err
	}
	work := background.New()
	return &Service{
		o: o, mw: mw, table: t, worker: w, agents: agents, metrics: newMetrics(&mw.Metrics),
		limits:     middleware.NewLimiter(o.EventRate, o.EventBurst, mw.Clock),
		siteLimits: middleware.NewLimiter(o.SiteRate, max(int(10*o.SiteRate), maxEvents), mw.Clock),
		filtered:   filtered.NewCounter(t),
		raw:        explore.New(t, explore.Options{Archive: o.Archive, KeepBytes: o.KeepBytes, Files: o.Columns}),
		filters:    filters.New(mw, t),
		background: work,
		notices:    notices.New(mw, t, o.Notices),
		erasing:    make(chan struct{}, 1),
		importTurn: make(chan struct{}, 1),

		verifications: jobs.NewBoard[verifyBody](t, "verify", 1, work, mw.Logger), // each reads all raw events of its days
		imported:      jobs.NewBoard[ImportWork](t, "import", maxUploads, work, mw.Logger),
	}, nil
}

// Register adds the operations to the API, and other handlers to the mux.
func (s *Service) Register(api huma.API, mux *http.ServeMux) error {
	s.ingestRoutes(api)
	s.importRoutes(api)
	s.importedRoutes(api)
	s.siteRoutes(api)
	s.statisticsRoutes(api)
	s.statsRoutes(api)
	s.queryRoutes(api)
	s.vitalsRoutes(api)
	s.exploreSessionRoutes(api)
	s.exploreFunnelRoutes(api)
	s.exploreJourneyRoutes(api)
	s.exploreAttributionRoutes(api)
	s.exploreExportRoutes(api)
	s.realtimeRoutes(api)
	s.goalRoutes(api)
	s.annotationRoutes(api)
	installed.New(s.mw, s.table).Register(api)
	s.filters.Register(api)
	s.erasureRoutes(api)
	s.verifyRoutes(api)
	s.notices.Register(api, mux)
	mux.HandleFunc("GET /badge/{file}", s.serveBadge)
	return s.trackerRoutes(mux)
}

// Wrap adds middleware that runs before operations are looked up: CORS for ingest, and the fast
// paths for valid events.
func (s *Service) Wrap(next http.Handler) http.Handler {
	return s.allowIngestFromAnywhere(s.linesIngest(s.quickIngest(next)))
}

// Run periodically stores what is counted in memory, and keeps the columns of completed days, until
// ctx ends. It then stores what is counted once more.
func (s *Service) Run(ctx context.Context) {
	var keeping sync.WaitGroup
	defer keeping.Wait()
	keeping.Go(func() {
		s.raw.Keep(ctx, func(err error) { s.mw.Logger.Warn("columns of some days are not stored yet", "error", err) })
	})
	s.filtered.Run(ctx, func(err error) { s.mw.Logger.Warn("rejections not stored yet", "error", err) })
}

// Settle immediately stores what is counted in memory.
func (s *Service) Settle(ctx context.Context) error { return s.filtered.Flush(ctx) }

// Close ends streams and background work, and waits for them.
func (s *Service) Close() { s.background.Close() }
