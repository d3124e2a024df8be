package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint/infra"
	"github.com/onefold/onefold/blueprint/infra/iamtest"
	"github.com/onefold/onefold/cmd/internal/delays"
	"github.com/onefold/onefold/cmd/internal/lambdasim"
	"github.com/onefold/onefold/cmd/internal/products"
	"github.com/onefold/onefold/dynamo/dynamohttp"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/readings"
)

var seed = flag.Uint64("seed", 0, "replays a run; 0 draws a new one")

// binary is the path of the function as it is deployed.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "onefold-lambda")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "bootstrap")
	if out, err := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The program does not contain the embedded engine, because cold starts need a small program.
func TestNoEngine(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags", "lambda.norpc", ".").Output()
	must(t, err)
	for _, unwanted := range []string{"cockroachdb/pebble", "onefold/engine", "parquet-go", "net/http/httptest"} {
		if strings.Contains(string(out), unwanted) {
			t.Errorf("%s is in the program", unwanted)
		}
	}
}

// random returns the random numbers of a test, and prints the seed to repeat it.
func random(t testing.TB) *rand.Rand {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("replay with -seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

// place is a table behind HTTP, with functions that use it.
type place struct {
	t     testing.TB
	db    *enginetest.DB
	table *table.Table
	url   string
	arn   string
	said  *lambdasim.Output
	hold  atomic.Pointer[chan struct{}] // if set, writes wait until it is closed
}

// newPlace creates the table. Its clock stands still.
func newPlace(t testing.TB, now time.Time, o engine.Options) *place {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	db := enginetest.New(t, enginetest.With(o), enginetest.At(now))
	p := &place{t: t, db: db, table: table.New(db, products.TableName, table.Options{Clock: db.Now}), said: new(lambdasim.Output)}
	must(t, products.Schema.Ensure(t.Context(), db, products.TableName))
	described, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(products.TableName)})
	must(t, err)
	p.arn = aws.ToString(described.Table.LatestStreamArn)
	handler, err := dynamohttp.New(db, dynamohttp.Options{Keys: map[string]string{"AKIDEXAMPLE": "secret"}})
	must(t, err)
	guarded := p.guarded()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hold := p.hold.Load(); hold != nil && strings.HasSuffix(r.Header.Get("X-Amz-Target"), "PutItem") {
			<-*hold
		}
		if h := guarded[callerOf(r)]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	p.url = "dynamodb+" + web.URL + "/" + products.TableName
	return p
}

// roles are the roles of the functions, by mode, as in the templates of package infra.
var roles = map[string]string{"stream": "worker", "work": "worker", "ingest": "writer", "schedule": "keeper"}

// guarded returns the table as the function of each mode sees it, by access key: with the policy of
// its role. What a function needs and its role does not allow is an error of the test.
func (p *place) guarded() map[string]http.Handler {
	p.t.Helper()
	handlers := make(map[string]http.Handler)
	for mode, role := range roles {
		document, err := infra.Policy(products.Schema, role, iamtest.TableARN(products.TableName))
		must(p.t, err)
		policy, err := iamtest.Parse(document)
		must(p.t, err)
		guard := &iamtest.Guard{Backend: p.db, Policy: policy, Seen: func(r *iamtest.Request, allowed bool) {
			if !allowed {
				p.t.Errorf("the role of mode %s does not allow %s with %v", mode, r.Action, r.Context)
			}
		}}
		handlers[accessKey(mode)], err = dynamohttp.New(guard, dynamohttp.Options{Keys: map[string]string{accessKey(mode): "secret"}})
		must(p.t, err)
	}
	return handlers
}

func accessKey(mode string) string { return "AKID" + strings.ToUpper(mode) }

// callerOf returns the access key that signed a request.
func callerOf(r *http.Request) string {
	_, after, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	key, _, _ := strings.Cut(after, "/")
	return key
}

// pool returns processes of the function in a mode.
func (p *place) pool(mode string, more ...string) *lambdasim.Pool {
	pool := &lambdasim.Pool{Binary: binary, Logs: p.said, Env: append([]string{
		"ONEFOLD_MODE=" + mode, "ONEFOLD_STORE=" + p.url, "ONEFOLD_STREAM=" + p.arn, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + accessKey(mode), "AWS_SECRET_ACCESS_KEY=secret",
	}, more...)}
	p.t.Cleanup(func() {
		must(p.t, pool.Close())
		if p.t.Failed() {
			p.t.Logf("the function said:\n%s", tail(p.said.String(), 6000))
		}
	})
	return pool
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// mapping delivers the table's changes to a pool.
func (p *place) mapping(pool *lambdasim.Pool, trouble *rand.Rand) *lambdasim.Mapping {
	return &lambdasim.Mapping{Streams: p.db, ARN: p.arn, Call: pool.Invoke, Trouble: trouble, Sources: products.Sources()}
}

// work folds the table's changes like a worker.
func (p *place) work() {
	p.t.Helper()
	w, err := fold.NewWorker(p.table, streamsource.New(p.db, p.arn), products.Folds(p.table, delays.Holds{}), fold.Options{Group: products.Group, Logger: slog.New(slog.DiscardHandler)})
	must(p.t, err)
	must(p.t, w.Drain(context.Background()))
}

// items returns all items of the table by key, without the state of the fold runtime.
func (p *place) items() map[string]table.Item {
	p.t.Helper()
	all := make(map[string]table.Item)
	var visits []table.Item
	in := &dynamodb.ScanInput{TableName: aws.String(products.TableName)}
	for {
		out, err := p.db.Scan(p.t.Context(), in)
		must(p.t, err)
		for _, it := range out.Items {
			if entity := text(it, table.AttrEntity); strings.HasPrefix(entity, "fold.") || entity == table.Removed {
				continue
			}
			switch text(it, table.AttrEntity) {
			case analytics.Windows.Name():
				w, err := analytics.Windows.Decode(it)
				must(p.t, err)
				p.addWindow(all, it, w.Span, &w.Window)
				continue
			case readings.Windows.Name():
				w, err := readings.Windows.Decode(it)
				must(p.t, err)
				p.addWindow(all, it, w.Span, &w.Window)
				continue
			case analytics.VisitPages.Name():
				visits = append(visits, it)
				continue
			}
			all[text(it, table.AttrPK)+" "+text(it, table.AttrSK)] = it
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			p.addVisitors(all, visits)
			return all
		}
	}
}

// addVisitors adds the visitors' days stored in pages. The number of pages depends on who folded.
func (p *place) addVisitors(all map[string]table.Item, pages []table.Item) {
	p.t.Helper()
	key := func(it table.Item) string { return text(it, table.AttrPK) + " " + text(it, table.AttrSK) }
	slices.SortFunc(pages, func(a, b table.Item) int { return strings.Compare(key(a), key(b)) })
	for _, f := range analytics.Folds(analytics.Config{}) {
		if f.Into() != analytics.VisitPages.Name() {
			continue
		}
		states, err := f.Latest(pages)
		must(p.t, err)
		for _, it := range states {
			all[key(it)] = it
		}
	}
}

// addWindow merges all parts of a window into one item. The number and names of parts depend on who
// folded.
func (p *place) addWindow(all map[string]table.Item, it table.Item, span string, w *fold.Window) {
	p.t.Helper()
	key := text(it, table.AttrPK) + " " + fold.WindowPrefix + span
	if all[key] == nil {
		all[key] = table.Item{}
	}
	must(p.t, w.Each(func(id [16]byte) {
		all[key][ulid.ULID(id).String()] = &types.AttributeValueMemberBOOL{Value: true}
	}))
}

func text(it table.Item, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// equal compares the contents of two tables, except for marks.
func equal(t testing.TB, got, want map[string]table.Item) {
	t.Helper()
	different := 0
	for _, key := range slices.Sorted(maps.Keys(mapsUnion(got, want))) {
		g, w := bare(got[key]), bare(want[key])
		if reflect.DeepEqual(g, w) {
			continue
		}
		if different++; different <= 5 {
			t.Errorf("%s\n by Lambda %s\n by worker %s", key, shown(g), shown(w))
		}
	}
	if different > 0 {
		t.Errorf("%d of %d items differ", different, len(want))
	}
}

func mapsUnion(a, b map[string]table.Item) map[string]table.Item {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func bare(it table.Item) table.Item {
	it = maps.Clone(it)
	delete(it, fold.AttrMarks)
	delete(it, fold.AttrVersion)
	return it
}

func shown(it table.Item) string {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(it)) {
		fmt.Fprintf(&b, " %s=", name)
		switch v := it[name].(type) {
		case *types.AttributeValueMemberS:
			b.WriteString(v.Value)
		case *types.AttributeValueMemberN:
			b.WriteString(v.Value)
		default:
			text, _ := json.Marshal(v)
			b.WriteString(shorten(string(text)))
		}
	}
	return b.String()
}

func shorten(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

// facts returns facts of all products in the form that collectors store, in the order in which to
// write them.
func facts(t testing.TB, r *rand.Rand, now time.Time, events int) []table.Item {
	t.Helper()
	ctx := t.Context()
	db := enginetest.New(t, enginetest.At(now))
	tbl := table.New(db, products.TableName, table.Options{Clock: db.Now})
	must(t, products.Schema.Ensure(ctx, db, products.TableName))
	_, err := analytics.CreateSite(ctx, tbl, analytics.NewSite{ID: "shop", Shards: 4, TimeZone: "Europe/Berlin"})
	must(t, err)
	_, err = telemetry.CreateFleet(ctx, tbl, telemetry.NewFleet{ID: "plant"})
	must(t, err)
	collector, readings := analytics.NewCollector(tbl, analytics.CollectorOptions{}), telemetry.NewCollector(tbl, telemetry.CollectorOptions{})
	hits := make([]analytics.Hit, events)
	for i := range hits {
		hits[i] = hit(r, now)
	}
	outcomes, err := collector.Ingest(ctx, "shop", hits)
	must(t, err)
	for _, o := range outcomes {
		if o.Status != analytics.Stored {
			t.Fatalf("an event was not stored: %+v", o)
		}
	}
	for d := range 5 {
		id := fmt.Sprint("pump-", d)
		_, err := telemetry.CreateDevice(ctx, tbl, telemetry.NewDevice{ID: id, FleetID: "plant", Type: "pump"})
		must(t, err)
		var in []telemetry.Incoming
		for range events / 20 {
			bar, err := telemetry.Number(fmt.Sprint(r.IntN(1000)))
			must(t, err)
			in = append(in, telemetry.Incoming{DeviceID: id, At: now.Add(-time.Duration(r.IntN(7200)) * time.Second), Values: telemetry.Values{"bar": bar}})
		}
		_, err = readings.Ingest(ctx, in)
		must(t, err)
	}
	store, err := eventstore.New(tbl, eventstore.Options{})
	must(t, err)
	for i := range events / 20 {
		_, err := store.Append(ctx, eventstore.ID{Type: "order", ID: fmt.Sprint(i % 7)}, eventstore.Any(), []eventstore.NewEvent{{Type: "Paid", Payload: fmt.Append(nil, i)}})
		must(t, err)
	}
	stored := (&place{t: t, db: db}).items()
	all := make([]table.Item, 0, len(stored))
	for _, key := range slices.Sorted(maps.Keys(stored)) {
		all = append(all, stored[key])
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// hit returns a hit of one of forty visitors in the last two hours.
func hit(r *rand.Rand, now time.Time) analytics.Hit {
	visitor := r.IntN(40)
	h := analytics.Hit{
		At: now.Add(-time.Duration(r.IntN(7200)) * time.Second), URL: fmt.Sprintf("https://shop.example/p/%d", r.IntN(12)),
		UserAgent: "Mozilla/5.0", Address: fmt.Sprintf("192.0.2.%d", visitor), Client: analytics.Client{Country: []string{"DE", "FR", "US"}[visitor%3], Browser: "Firefox", OS: "Linux", Device: "desktop"},
	}
	switch r.IntN(10) {
	case 0:
		h.Name, h.Revenue = "purchase", "12.50"
	case 1:
		h.Name, h.Engagement = analytics.EngagementEvent, analytics.Engagement{EngagedMS: int64(r.IntN(20_000)), Scroll: r.IntN(101)}
	}
	return h
}

// put writes items, and marks some events as erased later, which subtracts them again.
func (p *place) put(items []table.Item) {
	p.t.Helper()
	for _, it := range items {
		_, err := p.db.PutItem(p.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(products.TableName), Item: it})
		must(p.t, err)
	}
}

// eventsOf returns the events in items.
func eventsOf(t testing.TB, items map[string]table.Item) (all []analytics.Event) {
	for _, it := range items {
		if text(it, table.AttrEntity) == analytics.Blocks.Name() {
			block, err := analytics.Blocks.Decode(it)
			must(t, err)
			events, err := block.Events()
			must(t, err)
			all = append(all, events...)
		}
	}
	return all
}

// erased returns some of the events, marked as erased.
func erased(t testing.TB, items []table.Item) (marked []table.Item) {
	for i, it := range items {
		if i%5 != 0 || text(it, table.AttrEntity) != analytics.Blocks.Name() {
			continue
		}
		block, err := analytics.Blocks.Decode(it)
		must(t, err)
		events, err := block.Events()
		must(t, err)
		for i := range events {
			events[i].Erased = i%3 == 0
		}
		again, err := analytics.Pack(events, time.Time{})
		must(t, err)
		again[0].BlockKey = block.BlockKey
		it, err := analytics.Blocks.Encode(&again[0])
		must(t, err)
		marked = append(marked, it)
	}
	return marked
}

// byWorker returns the result of a worker for facts of which some are erased afterwards.
func byWorker(t *testing.T, now time.Time, all, marked []table.Item) *place {
	t.Helper()
	worker := newPlace(t, now, engine.Options{})
	for _, facts := range [][]table.Item{all, marked} {
		worker.put(facts)
		worker.work()
	}
	return worker
}

// Lambda produces the same items as a worker, although batches are repeated or mixed, invocations
// time out, processes are killed, and shards roll and are folded in parallel.
func TestSameAsWorker(t *testing.T) {
	r := random(t)
	now := time.Now().Truncate(time.Hour).Add(30 * time.Minute)
	all := facts(t, r, now, 1000)
	marked := erased(t, all)

	worker := byWorker(t, now, all, marked)

	p := newPlace(t, now, engine.Options{StreamShards: 4, RollEvery: 100})
	pool := p.pool("stream", "ONEFOLD_PIECE=64")
	m := p.mapping(pool, r)
	m.Batch = 20
	p.put(all[:len(all)/2])
	must(t, m.Drain(t.Context()))
	p.put(all[len(all)/2:])
	p.put(marked)
	must(t, m.Drain(t.Context()))

	calls, records := m.Invoked()
	t.Logf("%d facts, %d invocations with %d records in %d processes", len(all)+len(marked), calls, records, pool.Starts())
	if calls < 50 {
		t.Errorf("%d invocations are no trouble", calls)
	}
	got, want := p.items(), worker.items()
	if g, w := fed(got), fed(want); !slices.Equal(g, w) {
		t.Errorf("the feed has %v by Lambda, %v by a worker", g, w)
	}
	equal(t, got, want)
}

// fed removes the event store's feed from the items, and returns the commits in it. Their order
// varies if streams were appended to concurrently.
func fed(items map[string]table.Item) (commits []string) {
	for key, it := range items {
		if text(it, table.AttrPK) != "FEED" {
			continue
		}
		delete(items, key)
		if list, ok := it["commits"].(*types.AttributeValueMemberL); ok {
			for _, c := range list.Value {
				commits = append(commits, shown(c.(*types.AttributeValueMemberM).Value))
			}
		}
	}
	slices.Sort(commits)
	return commits
}

// Measures the write units of an event, including all derived items, when functions fold in
// parallel; and checks that everything is counted.
func TestWriteUnits(t *testing.T) {
	cost, err := lambdasim.Measure(t.Context(), lambdasim.Load{Binary: binary, PerSecond: 50, For: 10 * time.Second, Shards: 4, Window: 20 * time.Second})
	must(t, err)
	t.Logf("%+v", cost)
	if cost.PagesCounted != int64(cost.Events) || cost.WriteUnits < 1 || cost.WriteUnits > 6 {
		t.Errorf("%+v", cost)
	}
}
