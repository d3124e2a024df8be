package analytics

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/analytics/internal/visits"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold/foldtest"
	"github.com/onefold/onefold/internal/exchange"
	"github.com/onefold/onefold/internal/referral"
	"github.com/onefold/onefold/table"
)

func idAt(at time.Time) string { return newULID(uint64(at.UnixMilli()), 7, 7).String() }

type outcomeCase struct {
	name   string
	hit    Hit
	status Status
	reason Reason
}

func outcomeCases() []outcomeCase {
	long := strings.Repeat("x", 3000)
	many := map[string]string{}
	for i := range maxProperties + 1 {
		many[fmt.Sprint(i)] = "x"
	}
	with := func(change func(*Hit)) Hit {
		h := Hit{Path: "/", Address: "192.0.2.1", UserAgent: "test"}
		change(&h)
		return h
	}
	dinars, err := exchange.Read(strings.NewReader("Date,KWD\n" + noon.Format(time.DateOnly) + ",0.3\n"))
	if err != nil {
		panic(err) // the file is constant
	}
	return []outcomeCase{
		{"plain", with(func(*Hit) {}), Stored, ""},
		{"own id", with(func(h *Hit) { h.EventID = idAt(noon) }), Stored, ""},
		{"again", with(func(h *Hit) { h.EventID = idAt(noon) }), Duplicate, ""},
		{"lower case", with(func(h *Hit) { h.EventID = strings.ToLower(idAt(noon)) }), Duplicate, ""},
		{"no ULID", with(func(h *Hit) { h.EventID = "42#" }), Rejected, BadEventID},
		{"a little ahead", with(func(h *Hit) { h.At = noon.Add(9 * time.Minute) }), Stored, ""},
		{"ahead", with(func(h *Hit) { h.At = noon.Add(11 * time.Minute) }), Rejected, InTheFuture},
		{"old", with(func(h *Hit) { h.At = noon.AddDate(0, 0, -29) }), Stored, ""},
		{"too old", with(func(h *Hit) { h.At = noon.AddDate(0, 0, -31) }), Rejected, TooOld},
		{"imported old", with(func(h *Hit) { h.At, h.Imported = noon.AddDate(-5, 0, 0), true }), Stored, ""},
		{"before 1970", with(func(h *Hit) { h.At, h.Imported = time.Unix(-1, 0), true }), Rejected, TooOld},
		{"long path", with(func(h *Hit) { h.Path = "/" + long[:1000] }), Stored, ""},
		{"too long path", with(func(h *Hit) { h.Path = "/" + long }), Rejected, PathTooLong},
		{"imported long path", with(func(h *Hit) { h.Path, h.Imported = "/"+long, true }), Stored, ""},
		{"name", with(func(h *Hit) { h.Name = long[:121] }), Rejected, NameTooLong},
		{"properties", with(func(h *Hit) { h.Properties = many }), Rejected, TooManyProps},
		{"property", with(func(h *Hit) { h.Properties = map[string]string{"a": long} }), Rejected, PropertyTooLong},
		{"user", with(func(h *Hit) { h.UserID = "a#b" }), Rejected, BadUserID},
		{"session", with(func(h *Hit) { h.SessionID = visits.OtherOwn }), Rejected, BadSessionID},
		{"revenue", with(func(h *Hit) { h.Revenue = "NaN" }), Rejected, BadRevenue},
		{"currency", with(func(h *Hit) { h.Revenue, h.Currency = "1", "Euro" }), Rejected, BadCurrency},
		{"currency without revenue", with(func(h *Hit) { h.Currency = "Euro" }), Stored, ""},
		{"converted", with(func(h *Hit) { h.Revenue, h.Currency, h.Rates = "1", "KWD", dinars }), Stored, ""},
		{"too large once converted", with(func(h *Hit) { h.Revenue, h.Currency, h.Rates = "999999999999999", "KWD", dinars }), Rejected, BadRevenue},
		{"nobody", Hit{Path: "/"}, Rejected, NoVisitor},
		{"script", with(func(h *Hit) { h.URL = "javascript:alert(1)" }), Rejected, BadURL},
		{"data", with(func(h *Hit) { h.URL = "DATA:text/html,x" }), Rejected, BadURL},
		{"control", with(func(h *Hit) { h.URL = "/a\nb" }), Rejected, BadURL},
		{"markup", with(func(h *Hit) { h.URL = "https://<b>/a" }), Rejected, BadURL},
		{"colon", with(func(h *Hit) { h.URL = "/a:b" }), Stored, ""},
		{"app", with(func(h *Hit) { h.URL = "app://example.com/cart" }), Stored, ""},
		{"not UTF-8", with(func(h *Hit) { h.Path, h.Name, h.Country = "/\xff", "\xff", "\xff" }), Stored, ""},
	}
}

func TestIngestOutcomes(t *testing.T) {
	w := newWorld(t, noon)
	w.site("site", "Europe/Berlin")
	for _, c := range outcomeCases() {
		got := w.ingest("site", c.hit)[0]
		if got.Status != c.status || got.Reason != c.reason || (got.Detail == "") != (c.reason == "") {
			t.Errorf("%s: %+v, want %s %s", c.name, got, c.status, c.reason)
		}
	}
}

func TestIngestRejectsUnknownSites(t *testing.T) {
	w := newWorld(t, noon)
	hit := Hit{Path: "/", Address: "192.0.2.1"}
	for _, id := range []string{"none", "", "a#b", "a/b", strings.Repeat("x", 65)} {
		if _, err := w.collector.Ingest(w.Ctx, id, []Hit{hit}); !errors.Is(err, ErrUnknownSite) {
			t.Errorf("%q: %v", id, err)
		}
	}
	w.site("none", "UTC")
	if _, err := w.collector.Ingest(w.Ctx, "none", []Hit{hit}); !errors.Is(err, ErrUnknownSite) {
		t.Errorf("within ten seconds: %v", err)
	}
	w.Set(w.Now().Add(siteLifetime))
	w.ingest("none", hit)
}

// TestStoredEvent checks everything that is stored for a hit: nothing of the address or the user
// agent.
func TestStoredEvent(t *testing.T) {
	w := newWorld(t, noon)
	s := w.site("site", "Asia/Kolkata")
	w.ingest("site", Hit{
		EventID: idAt(noon.AddDate(0, 0, -3)), URL: "https://example.com/pricing?utm_source=newsletter&utm_medium=email&secret=1#top",
		Referrer: "https://Blog.example.net/post/?token=2", UserAgent: "SecretAgent/1", Address: "192.0.2.77",
		Properties: map[string]string{"plan": "pro"}, Revenue: "12.50", Name: "buy",
	})
	events := w.events(s, noon.AddDate(0, 0, -4), noon)
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	e := events[0]
	if e.Path != "/pricing" || e.Source.Name != "Newsletter" || e.Channel != referral.ChannelEmail || e.Referrer != "blog.example.net/post" ||
		e.ZoneMinutes != 330 || e.Revenue != "12.5" || e.Properties["plan"] != "pro" || e.Arrived != noon.Unix() {
		t.Errorf("%+v", e)
	}
	all := fmt.Sprintf("%+v", e)
	for _, secret := range []string{"SecretAgent", "192.0.2", "secret", "token"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is stored: %s", secret, all)
		}
	}
	w.Set(noon.AddDate(0, 0, 729)) // an event lives two years from its arrival, not from its time
	if n := len(w.events(s, noon.AddDate(0, 0, -4), noon)); n != 1 {
		t.Errorf("%d events after 729 days", n)
	}
	w.Set(noon.AddDate(0, 0, 730))
	if n := len(w.events(s, noon.AddDate(0, 0, -4), noon)); n != 0 {
		t.Errorf("%d events after 730 days", n)
	}
}

// visitorIDsOf sends one hit for each time and returns the visitors' IDs.
func (w *world) visitorIDsOf(s Site, imported bool, times ...time.Time) (ids []string) {
	w.Helper()
	for i, at := range times {
		id := newULID(uint64(at.UnixMilli()), uint64(len(ids)), uint16(i)).String()
		w.ingest(s.SiteID, Hit{EventID: id, Path: "/", Address: "192.0.2.1", UserAgent: "test", Imported: imported})
		for _, e := range w.events(s, at, at.Add(time.Millisecond)) {
			if e.EventID == id {
				ids = append(ids, e.VisitorID)
			}
		}
	}
	return ids
}

func TestVisitorIDsChangeAtSiteMidnight(t *testing.T) {
	w := newWorld(t, noon)
	s := w.site("site", "America/New_York")
	other := w.site("other", "America/New_York")
	midnight := time.Date(2026, 5, 12, 4, 0, 0, 0, time.UTC)
	before, after := midnight.Add(-time.Minute), midnight.Add(time.Minute)
	ids := w.visitorIDsOf(s, false, before.Add(-time.Hour), before, after, after.Add(time.Hour))
	if len(ids) != 4 || ids[0] != ids[1] || ids[2] != ids[3] || ids[1] == ids[2] {
		t.Errorf("ids %v", ids)
	}
	if len(ids[0]) != 16 {
		t.Errorf("id %q", ids[0])
	}
	if id := w.visitorIDsOf(other, false, before)[0]; id == ids[0] {
		t.Error("two sites have the same visitor id")
	}
	second := NewCollector(w.Table, CollectorOptions{}) // another process uses the same salt
	w.collector = second
	if id := w.visitorIDsOf(s, false, after.Add(time.Second))[0]; id != ids[2] {
		t.Errorf("another collector: %s, want %s", id, ids[2])
	}
	w.Set(noon.AddDate(0, 0, 3)) // the salt has expired, deleted or not: nothing can compute that day's IDs anymore
	if id := w.visitorIDsOf(s, false, after.Add(2*time.Second))[0]; id == ids[2] {
		t.Error("a salt was used after its time")
	}
}

func TestImportedVisitorIDsStay(t *testing.T) {
	w := newWorld(t, noon)
	s := w.site("site", "UTC")
	at := noon.AddDate(-1, 0, 0)
	first := w.visitorIDsOf(s, true, at)[0]
	w.Set(noon.AddDate(1, 0, 0))
	w.collector = NewCollector(w.Table, CollectorOptions{})
	if again := w.visitorIDsOf(s, true, at.Add(time.Second))[0]; again != first {
		t.Errorf("%s, then %s", first, again)
	}
}

func TestSaltRace(t *testing.T) {
	w := newWorld(t, noon)
	w.site("site", "UTC")
	var wg sync.WaitGroup
	salts := make([][]byte, 20)
	for i := range salts {
		wg.Go(func() {
			var err error
			if salts[i], err = saltOf(w.Ctx, w.Table, SaltKey{"site", "2026-05-12"}, noon); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range salts {
		if string(s) != string(salts[0]) || len(s) != saltBytes {
			t.Fatal("two salts of one day")
		}
	}
}

func TestContentID(t *testing.T) {
	a := ContentID(noon, []byte("line"), 0)
	if a != ContentID(noon, []byte("line"), 0) || a == ContentID(noon, []byte("line"), 1) ||
		a == ContentID(noon, []byte("other"), 0) || a == ContentID(noon.Add(time.Millisecond), []byte("line"), 0) {
		t.Error("content ids")
	}
	if ms, err := eventMS(a); err != nil || ms != noon.UnixMilli() {
		t.Errorf("time %d, %v", ms, err)
	}
}

// throttling is an API that throttles some writes.
type throttling struct {
	dynamo.API
	mu     sync.Mutex
	random *rand.Rand
	most   int // largest number of concurrent writes
	now    int
}

func (a *throttling) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	a.mu.Lock()
	a.now++
	a.most = max(a.most, a.now)
	refuse := a.random.IntN(4) == 0
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.now--
		a.mu.Unlock()
	}()
	if refuse {
		return nil, &types.ProvisionedThroughputExceededException{}
	}
	return a.API.PutItem(ctx, in, opts...)
}

func TestIngestRetriesThrottledWrites(t *testing.T) {
	w := newWorld(t, noon)
	s := w.site("site", "UTC")
	api := &throttling{API: w.DB, random: rand.New(rand.NewPCG(1, 2))}
	w.collector = NewCollector(table.New(api, foldtest.TableName, table.Options{Clock: w.Now}), CollectorOptions{
		Concurrency: 8, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	w.visitorIDsOf(s, true, noon) // makes the collector know the site
	for _, o := range w.ingest("site", drawHits(rand.New(rand.NewPCG(3, 4)), 60, 5, noon.Add(-time.Hour), noon)...) {
		if o.Status != Stored {
			t.Errorf("%+v", o)
		}
	}
	if api.most > 8 {
		t.Errorf("%d writes at once", api.most)
	}
}

// together is an API whose writes wait until n of them are in progress.
type together struct {
	dynamo.API
	barrier sync.WaitGroup
}

func (a *together) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	a.barrier.Done()
	a.barrier.Wait()
	return a.API.PutItem(ctx, in, opts...)
}

func TestIngestGroupsWrites(t *testing.T) {
	w := newWorld(t, noon)
	s := w.site("site", "UTC")
	w.ingest("site", Hit{Path: "/", Address: "192.0.2.1"}) // creates the salt
	api := &together{API: w.DB}
	api.barrier.Add(16)
	w.collector = NewCollector(table.New(api, foldtest.TableName, table.Options{Clock: w.Now}), CollectorOptions{Concurrency: 16})
	hits := make([]Hit, 16)
	for i := range hits {
		hits[i] = Hit{At: noon.Add(-time.Duration(i) * blockSpan), Path: "/", Address: "192.0.2.1"} // one block each
	}
	w.ingest("site", hits...)
	if n := len(w.events(s, noon.Add(-16*blockSpan), noon.Add(time.Second))); n != 17 {
		t.Errorf("%d events", n)
	}
}

func TestIngestStopsWithItsContext(t *testing.T) {
	w := newWorld(t, noon)
	w.site("site", "UTC")
	ctx, cancel := context.WithCancel(w.Ctx)
	cancel()
	hits := drawHits(rand.New(rand.NewPCG(3, 4)), 10, 5, noon.Add(-time.Hour), noon)
	outcomes, err := w.collector.Ingest(ctx, "site", hits)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", outcomes, err)
	}
}
