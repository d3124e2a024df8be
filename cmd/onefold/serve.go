package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/goruntime"
	"github.com/onefold/onefold/cmd/internal/ingestflags"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/cmd/internal/profile"
	"github.com/onefold/onefold/cmd/onefold/internal/await"
	"github.com/onefold/onefold/cmd/onefold/internal/backupcli"
	"github.com/onefold/onefold/cmd/onefold/internal/gauges"
	"github.com/onefold/onefold/cmd/onefold/internal/listen"
	"github.com/onefold/onefold/cmd/onefold/internal/masterkeys"
	"github.com/onefold/onefold/cmd/onefold/internal/memory"
	"github.com/onefold/onefold/cmd/onefold/internal/openidflags"
	"github.com/onefold/onefold/cmd/onefold/internal/scrape"
	"github.com/onefold/onefold/cmd/onefold/internal/scrub"
	"github.com/onefold/onefold/cmd/onefold/internal/spoolflags"
	"github.com/onefold/onefold/cmd/onefold/internal/usage"
	"github.com/onefold/onefold/cmd/onefold/internal/warehousecli"
	"github.com/onefold/onefold/cmd/onefold/internal/workcli"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/capacity"
	"github.com/onefold/onefold/server/events"
	"github.com/onefold/onefold/server/load"
	"github.com/onefold/onefold/server/webanalytics"
)

// listenFlags are shared by the commands that run a server.
type listenFlags struct {
	Addr           string `help:"Address to listen on." default:"127.0.0.1:8090" env:"ONEFOLD_ADDR"`
	MaxConnections int    `help:"Maximum number of concurrent connections. Beyond it, a new connection replaces an idle one, or waits." default:"10000" env:"ONEFOLD_MAX_CONNECTIONS"`
	Token          string `help:"Token that authorizes reading statistics, at least 16 characters (default: a new one, printed)." env:"ONEFOLD_TOKEN"`
	ingestflags.Flags
	deviceFlags
	Budget memory.Flags      `embed:""`
	Kept   spoolflags.Flags  `embed:""`
	Scrape scrape.Flags      `embed:""`
	Scrub  scrub.Flags       `embed:"" prefix:"scrub-"`
	OpenID openidflags.Flags `embed:"" prefix:"openid-"`
	Master masterkeys.Flags  `embed:""`

	SecurityContact string `help:"Contact for vulnerability reports, published in /.well-known/security.txt: https://… or mailto:… (default: none)." placeholder:"URI" env:"ONEFOLD_SECURITY_CONTACT"`
}

type serveCommand struct {
	listenFlags
	followFlags
	protocolFlags
	ownerFlags

	delays.Flags `embed:""`
	Workers      string `help:"Where folds and maintenance run: in-process (shared with other workers if the table is shared), or none (only in onefold work, which then sends alerts and needs --smtp too)." enum:"in-process,none" default:"in-process" env:"ONEFOLD_WORKERS"`

	Backup backupcli.Flags `embed:"" prefix:"backup-"`

	Warehouse string `help:"Warehouse to export raw facts to, as onefold warehouse export --follow does, and to query for expired facts: a directory or s3://BUCKET/PREFIX?region=REGION." placeholder:"PLACE" env:"ONEFOLD_WAREHOUSE"`

	CPUProfile string `name:"cpuprofile" help:"Write a CPU profile to this file (for go tool pprof)." type:"path" hidden:""`
}

// delayed returns the tuning for the given delays of derived items.
func delayed(f *delays.Flags) tuning {
	var o fold.Options
	f.Apply(&o)
	return tuning{works: true, flushAge: o.FlushAge, flushChanges: o.FlushChanges, holds: f.Holds()}
}

// Validate checks the flags. Kong calls it.
func (c *serveCommand) Validate() error {
	return errors.Join(c.Check(), c.ownerFlags.check())
}

// Run serves until the process is interrupted.
func (c *serveCommand) Run(ctx context.Context, std streams, g *globals) error {
	stop, err := profile.CPU(c.CPUProfile)
	if err != nil {
		return err
	}
	tune := delayed(&c.Flags)
	tune.serves, tune.memory = true, &c.Budget
	tune.works, tune.waits = c.Workers != "none", &await.Options{Flag: "--addr", Addr: c.Addr, Err: std.err}
	err = g.withStore(ctx, std.err, tune, func(s *store) error {
		if !s.Shared && !tune.works {
			return fmt.Errorf("bad_workers: with --workers none other processes must fold, but only one process can open %s; omit the flag, or serve a shared --store", g.Data)
		}
		if err := c.ownerFlags.create(ctx, s, std.err); err != nil {
			return err
		}
		following, err := c.followFlags.services(ctx, s, g, std.err)
		if err != nil {
			return err
		}
		others, err := c.protocolFlags.services(s, g.logger(std.err), std.err)
		if err != nil {
			return err
		}
		if c.Warehouse != "" {
			exporting, lag, err := warehousecli.Service(ctx, c.Warehouse, s.env(), g.env(std))
			if err != nil {
				return err
			}
			s.archive = &warehousecli.Archive{Place: c.Warehouse}
			others, s.collectors = append(others, s.parts.Keep("warehouse", exporting)), append(s.collectors, lag)
		}
		backups, err := c.backups(ctx, s, g, std)
		if err != nil {
			return err
		}
		return c.serve(ctx, std, g, s, func(string, string) error { return nil }, slices.Concat(following, others, backups)...)
	})
	if err != nil && errors.Is(err, ctx.Err()) { // interrupted before it started
		err = nil
	}
	return errors.Join(err, stop())
}

// service runs alongside the server until its context ends.
type service = func(context.Context) error

// serve listens, calls hello with the address, and runs the server, the folds, roll-ups and other
// services until ctx ends or one of them fails.
func (c *listenFlags) serve(ctx context.Context, std streams, g *globals, s *store, hello func(url, token string) error, more ...service) (err error) {
	runtime.GOMAXPROCS(goruntime.Processors())
	defer goruntime.CollectLessOften()()
	printed := c.Token == ""
	if printed {
		c.Token = rand.Text()
	}
	logger := g.logger(std.err)
	recorder := g.recorder(s, logger)
	more = append(more, c.scrubs(s, g.Data, logger)...)
	web, beside, release, err := c.newServer(ctx, s, recorder, logger, g.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	listener, err := listen.On("--addr", c.Addr)
	if err != nil {
		return err
	}
	others, tell, err := c.otherListeners(s, web, logger, std)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	url := "http://" + listener.Addr().String()
	fmt.Fprintf(std.err, "onefold serves %s; send events to %s/api/event\n", url, url)
	if printed {
		fmt.Fprintf(std.err, "statistics: curl -H 'Authorization: Bearer %s' %s/api/v1/sites/SITE/report\n", c.Token, url)
	}
	if err := errors.Join(setupHint(ctx, std, s, url), hello(url, c.Token)); err != nil {
		return errors.Join(err, listener.Close())
	}
	services := []service{func(ctx context.Context) error { return web.Run(ctx, listener) }, s.untilMoved}
	if recorder != nil {
		services = append(services, s.parts.Keep("meter", recorder.Run))
	}
	services = slices.Concat(services, s.folds(logger, tell), others, beside, more)
	if err := workcli.Together(ctx, services); err != nil || s.Shared { // with a shared table, other workers fold the rest
		return err
	}
	s.drain(ctx, logger)
	return nil
}

// drain folds the remaining changes after the server has stopped, for at most drainFor.
func (s *store) drain(ctx context.Context, logger *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
	defer cancel()
	if err := s.worker.Drain(ctx); err != nil {
		logger.Warn("stopped before everything was folded; folding continues at the next start", "error", err)
	}
}

// scrubs returns the service that verifies the checksums of an embedded table's files, if it is
// enabled.
func (c *listenFlags) scrubs(s *store, data string, logger *slog.Logger) []service {
	if s.Engine == nil {
		return nil
	}
	schedule := c.Scrub.Schedule(s.Engine, data, logger)
	if schedule == nil {
		return nil
	}
	s.collectors = append(s.collectors, schedule)
	return []service{s.parts.Keep("scrub", schedule.Run)}
}

// otherListeners returns the listeners for Prometheus and MQTT, if enabled, and the service that
// sends alert notifications.
func (c *listenFlags) otherListeners(s *store, web *server.Server, logger *slog.Logger, std streams) (listening []service, tell service, err error) {
	metrics, err := c.metricsService(web, std)
	if err != nil {
		return nil, nil, err
	}
	devices, tell, err := c.deviceServices(s, web.Devices().Login, logger, std)
	return append(metrics, devices...), tell, err
}

// metricsService returns a server of /metrics at its own address, if one is set.
func (c *listenFlags) metricsService(web *server.Server, std streams) ([]service, error) {
	if c.Scrape.MetricsAddr == "" {
		return nil, nil
	}
	l, err := listen.On("--metrics-addr", c.Scrape.MetricsAddr)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(std.err, "metrics: http://%s/metrics\n", l.Addr())
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", web.Metrics())
	return []service{func(ctx context.Context) error { return scrape.Serve(ctx, l, mux) }}, nil
}

// recorder returns the recorder of an embedded table's usage. It is nil for a table on DynamoDB,
// which has its own metrics.
func (g *globals) recorder(s *store, logger *slog.Logger) *usage.Recorder {
	if s.Engine == nil {
		return nil
	}
	return &usage.Recorder{Path: g.usageFile(), Table: s.Table, Meter: s.Engine.Metered, Now: time.Now, Since: time.Now(), Logger: logger}
}

// countFacts makes the recorder, if any, record the number of events and readings that the server
// stores.
func countFacts(r *usage.Recorder, o *server.Options) {
	if r != nil {
		events, readings := o.Analytics.Collector, o.Devices.Collector
		r.Facts = func() int64 { return events.Stored() + readings.Stored() }
	}
}

// setupHint prints the setup link until an owner exists. The token is in the fragment of the URL,
// which browsers do not send and proxies do not log.
func setupHint(ctx context.Context, std streams, s *store, url string) error {
	token, err := s.accounts.SetupToken(ctx)
	if _, gaveUp := dynamo.GaveUp(err); gaveUp { // the server can run without the answer
		_, err = fmt.Fprintf(std.err, "setup: cannot tell whether an owner exists; if there is none, restart the server to get the setup link: %v\n", err)
		return err
	}
	if err != nil || token == "" {
		return err
	}
	_, err = fmt.Fprintf(std.err, "setup: %s/setup#%s\n", url, token)
	return err
}

// newServer returns the server and the services alongside it: one drains the spool, another watches
// the workers of all processes, since there may be no worker left to report. data is the directory
// of the table; files sent to the server and the spool are next to it. The caller calls release
// when the server has ended.
func (c *listenFlags) newServer(ctx context.Context, s *store, recorder *usage.Recorder, logger *slog.Logger, data string) (web *server.Server, beside []service, release func() error, err error) {
	metricsToken, tokenErr := c.Scrape.Token()
	mail, senders, mailErr := c.Mailers()
	provider, err := c.OpenID.Provider(c.PublicURL)
	keys, keysErr := c.Master.KeyStore(ctx, s.table, logger)
	uploads, watch := data+".uploads", workcli.NewWatch(s.process(logger))
	if err = errors.Join(tokenErr, mailErr, keysErr, err, os.RemoveAll(uploads)); err != nil { // left behind by a killed process
		return nil, nil, nil, err
	}
	o := server.Options{
		Table: s.table, Worker: s.worker, Accounts: s.accounts, Token: c.Token, MaxConnections: listen.Bounded(c.MaxConnections, logger), Version: version, Logger: logger,
		Analytics: webanalytics.Options{Uploads: uploads, Archive: s.archive}, Events: events.Options{Keys: keys}, Service: s.Service, StreamService: s.StreamService,
		Collectors: append(s.collectors, watch, s.parts, &s.mqtt, &s.sent), Failing: s.parts.Failing,
		MetricsToken: metricsToken, MetricsApart: c.Scrape.MetricsAddr != "", SecurityContact: c.SecurityContact, PublicURL: c.PublicURL, Mail: mail, OpenID: provider,
	}
	if err := c.apply(&o, s, data, logger); err != nil {
		return nil, nil, nil, err
	}
	if recorder != nil {
		o.Capacity = capacity.Options{Uses: recorder.Uses, Schema: products.Schema}
	}
	c.applyDevices(&o, senders)
	o.Devices.Shared = s.Service != nil
	kept, err := c.Kept.Apply(&o, data, s.identity, logger)
	if err != nil {
		return nil, nil, nil, err
	}
	countFacts(recorder, &o)
	files, err := c.Flags.Apply(&o)
	if err != nil {
		return nil, nil, nil, errors.Join(err, kept.Close())
	}
	beside, release = []service{watch.Run}, kept.Close
	for _, f := range files {
		beside = append(beside, s.parts.Keep(f.Name, f.Run))
		release = both(f.Close, release)
	}
	if web, err = server.New(o); err != nil {
		return nil, nil, nil, errors.Join(err, release())
	}
	if o.Drain != nil {
		beside = append(beside, o.Drain.Run)
	}
	return web, beside, release, nil
}

// apply sets what depends on the store: the memory budget, and what only an embedded table has. Files
// of columns are next to the table.
func (c *listenFlags) apply(o *server.Options, s *store, data string, logger *slog.Logger) (err error) {
	c.bound(o, &s.budget)
	if s.Engine == nil {
		return nil
	}
	o.TryWrite, o.Collectors = s.Engine.Probe, append(o.Collectors, gauges.Engine(s.Engine)...)
	o.Analytics.Columns, err = explore.OpenFiles(data+".columns", explore.FilesOptions{
		Room: func() bool {
			space := s.Engine.DiskSpace()
			return !space.Full && (!space.Known || space.Free > 2*space.Reserve)
		},
		Full: func() bool { return s.Engine.DiskSpace().Full },
		Report: func(err error) {
			logger.Warn("a file of columns cannot be used; its day is read from the events", "error", err)
		},
	})
	return err
}

// both returns a function that calls two.
func both(first, second func() error) func() error {
	return func() error { return errors.Join(first(), second()) }
}

// bound applies the memory budget, if any, to the server's options.
func (c *listenFlags) bound(o *server.Options, b *memory.Budget) {
	if b.Total == 0 {
		return
	}
	o.Load = load.New(load.Options{Bytes: b.Requests, Used: b.Used})
	o.Devices.Overloaded, o.Analytics.KeepBytes = o.Load.Overloaded, int(b.Reports)
	o.Collectors = append(o.Collectors, b.Collectors()...)
}

// drainFor limits the time that a shutdown spends on folding the last changes.
const drainFor = 10 * time.Second
