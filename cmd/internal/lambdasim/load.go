package lambdasim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/dynamo/dynamohttp"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/table"
)

// Load is live traffic of one site: visits of three page views that start at random and so overlap.
type Load struct {
	Binary    string        // of the function
	PerSecond int           // events
	For       time.Duration // time during which visits start
	Pause     time.Duration // minimum time between two views of a visit, at most twice as long; default 30 s
	Shards    int           // of the stream, folded in parallel
	Window    time.Duration // batching window: how long changes wait for more, at most 5 minutes
	Logs      io.Writer     // output of the function; nil: discarded

	// Shift is the length of an invocation of a function that reads the stream itself, repeatedly,
	// instead of receiving batches; 0: it receives batches. With shifts, time is real, and Delays
	// are those of the function.
	Shift  time.Duration
	Delays delays.Flags
}

// Cost is the metered cost of a load.
type Cost struct {
	Events       int
	WriteUnits   float64            // per event, including all derived items
	Entities     map[string]float64 // of these, by prefix of the sort key
	Calls        int64              // of the function
	Records      int64              // delivered to it
	PagesCounted int64              // in hourly statistics; equals the number of page views if all is correct
	ReadUnits    float64            // per event
}

const (
	loadSite   = "load"
	visitViews = 3
	loadPages  = 500
)

// Measure folds a load with functions. With batches, time advances by windows instead of a clock,
// so the units depend on the load only.
func Measure(ctx context.Context, l Load) (cost Cost, err error) {
	var clock atomic.Int64
	begin := time.Date(2026, 5, 12, 10, 0, 0, 0, time.UTC)
	clock.Store(begin.UnixNano())
	now := func() time.Time { return time.Unix(0, clock.Load()).UTC() }
	if l.Shift > 0 {
		now = time.Now
	}
	db, err := engine.OpenMemory(engine.Options{Clock: now, TTLInterval: -1, StreamShards: max(l.Shards, 1), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := products.Schema.Ensure(ctx, db, products.TableName); err != nil {
		return cost, err
	}
	url, stop, err := serve(db)
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	described, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(products.TableName)})
	if err != nil {
		return cost, err
	}
	pool := l.pool(url)
	defer func() { err = errors.Join(err, pool.Close()) }()
	t := table.New(db, products.TableName, table.Options{Clock: now})
	if l.Shift > 0 {
		cost.Events, cost.Calls, err = l.work(ctx, t, pool)
	} else {
		m := &Mapping{Streams: db, ARN: aws.ToString(described.Table.LatestStreamArn), Call: pool.Invoke, Batch: 10_000, Sources: products.Sources()}
		cost.Events, err = l.send(ctx, t, m, func(after time.Duration) { clock.Store(begin.Add(after).UnixNano()) })
		cost.Calls, cost.Records = m.Invoked()
	}
	if err != nil {
		return cost, err
	}
	cost.meter(db)
	cost.PagesCounted, _, err = counted(ctx, t)
	return cost, err
}

// pool returns processes of the function for the database at a URL.
func (l *Load) pool(url string) *Pool {
	mode := "stream"
	if l.Shift > 0 {
		mode = "work"
	}
	return &Pool{Binary: l.Binary, Logs: l.Logs, Env: []string{
		"ONEFOLD_MODE=" + mode, "ONEFOLD_STORE=dynamodb+" + url + "/" + products.TableName, "ONEFOLD_PIECE=10000",
		"ONEFOLD_FOLD_DELAY=" + l.Delays.FoldDelay.String(), "ONEFOLD_VISIT_DELAY=" + l.Delays.Holds().Visits.String(),
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any",
	}}
}

// counted returns the page views and visits in the hourly statistics.
func counted(ctx context.Context, t *table.Table) (pages, visits int64, err error) {
	for s, err := range analytics.StatsByTime.All(ctx, t, analytics.StatsIn{SiteID: loadSite, Period: analytics.Hour, From: "2000", To: "3000"}) {
		if err != nil {
			return 0, 0, err
		}
		pages, visits = pages+s.PageViews, visits+s.Visits
	}
	return pages, visits, nil
}

// serve serves the database to SDKs.
func serve(db *engine.DB) (url string, stop func() error, err error) {
	handler, err := dynamohttp.New(db, dynamohttp.Options{MaxRequests: -1, MaxBytes: -1})
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = web.Serve(listener) }() // returns when it is closed
	return "http://" + listener.Addr().String(), web.Close, nil
}

// view is an event, and its time since the start.
type view struct {
	after time.Duration
	hit   analytics.Hit
}

// draw generates the load.
func (l *Load) draw() []view {
	r := rand.New(rand.NewPCG(1, 2))
	pages := rand.NewZipf(r, 1.1, 8, loadPages-1)
	pause := cmp.Or(l.Pause, 30*time.Second)
	var all []view
	for range max(int(float64(l.PerSecond)*l.For.Seconds())/visitViews, 1) {
		after := time.Duration(r.Int64N(int64(l.For)))
		address := fmt.Sprintf("10.%d.%d.%d", r.IntN(256), r.IntN(256), r.IntN(256))
		for range visitViews {
			all = append(all, view{after, analytics.Hit{URL: fmt.Sprint("https://load.example/", pages.Uint64()), UserAgent: "Mozilla/5.0", Address: address,
				Client: analytics.Client{Country: []string{"DE", "FR", "GB", "US"}[r.IntN(4)], Browser: "Firefox", OS: "Linux", Device: "desktop"}}})
			after += pause + time.Duration(r.Int64N(int64(pause)))
		}
	}
	slices.SortFunc(all, func(a, b view) int { return cmp.Compare(a.after, b.after) })
	return all
}

// site creates the site of the load.
func (l *Load) site(ctx context.Context, t *table.Table) error {
	_, err := analytics.CreateSite(ctx, t, analytics.NewSite{ID: loadSite, Shards: max(4, l.Shards)})
	return err
}

// store stores the events due before end, and returns the others.
func store(ctx context.Context, c *analytics.Collector, begin time.Time, all []view, end time.Duration) ([]view, error) {
	n, _ := slices.BinarySearchFunc(all, end, func(v view, end time.Duration) int { return cmp.Compare(v.after, end) })
	hits := make([]analytics.Hit, n)
	for i := range hits {
		hits[i] = all[i].hit
		hits[i].At = begin.Add(all[i].after)
	}
	outcomes, err := c.Ingest(ctx, loadSite, hits)
	if err != nil {
		return nil, err
	}
	for _, o := range outcomes {
		if o.Status != analytics.Stored {
			return nil, fmt.Errorf("lambdasim: an event was not stored: %s %s", o.Reason, o.Detail)
		}
	}
	return all[n:], nil
}

// send stores the load window by window, and delivers the changes to the function after each. It
// returns the number of events.
func (l *Load) send(ctx context.Context, t *table.Table, m *Mapping, at func(time.Duration)) (events int, err error) {
	if err := l.site(ctx, t); err != nil {
		return 0, err
	}
	collector, all := analytics.NewCollector(t, analytics.CollectorOptions{}), l.draw()
	events = len(all)
	begin := t.Now()
	for end := l.Window; len(all) > 0; end += l.Window {
		at(end)
		if all, err = store(ctx, collector, begin, all, end); err != nil {
			return 0, err
		}
		if err := m.Window(ctx); err != nil {
			return 0, err
		}
	}
	return events, m.Drain(ctx)
}

// meter reads the table's meters.
func (c *Cost) meter(db *engine.DB) {
	use := db.Metered().Tables[products.TableName]
	events := float64(c.Events)
	c.ReadUnits, c.WriteUnits, c.Entities = use.ReadUnits/events, use.WriteUnits/events, make(map[string]float64)
	for _, index := range use.Indexes {
		c.WriteUnits += index.WriteUnits / events
	}
	for prefix, e := range use.Entities {
		c.Entities[prefix] = e.WriteUnits / events
	}
}
