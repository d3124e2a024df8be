package webanalytics_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/exclude"
	"github.com/onefold/onefold/internal/geo"
	"github.com/onefold/onefold/internal/geo/geotest"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/server/webanalytics"
)

func TestPlaces(t *testing.T) {
	db := geo.NewLive(geotest.Write(t, map[string]geo.Place{"203.0.113.0/24": {Country: "DE", Region: "State of Berlin", City: "Berlin"}}))
	servertest.Must(t, db.Look())
	defer db.Close()
	vercel := []string{"X-Vercel-IP-Country", "BR", "X-Vercel-IP-Country-Region", "SP", "X-Vercel-IP-City", "S%C3%A3o%20Paulo"}
	for _, c := range []struct {
		name    string
		change  func(*server.Options)
		headers []string
		want    geo.Place
	}{
		{"nobody is trusted", nil, []string{"CF-IPCountry", "PE"}, geo.Place{}},
		{"an edge", func(o *server.Options) { o.TrustProxy = true }, []string{"CF-IPCountry", "pe", "CF-Region", "Lima", "CF-IPCity", "Callao"}, geo.Place{Country: "PE", Region: "Lima", City: "Callao"}},
		{"an edge that escapes", func(o *server.Options) { o.TrustProxy = true }, vercel, geo.Place{Country: "BR", Region: "BR-SP", City: "São Paulo"}},
		{"Tor", func(o *server.Options) { o.TrustProxy = true }, []string{"CF-IPCountry", "T1"}, geo.Place{}},
		{"the database first", func(o *server.Options) { o.TrustProxy, o.Analytics.Places = true, db }, []string{"X-Forwarded-For", "203.0.113.9", "CF-IPCountry", "PE"}, geo.Place{Country: "DE", Region: "State of Berlin", City: "Berlin"}},
		{"then the edge", func(o *server.Options) { o.TrustProxy, o.Analytics.Places = true, db }, []string{"X-Forwarded-For", "192.0.2.9", "CF-IPCountry", "PE"}, geo.Place{Country: "PE"}},
	} {
		h := servertest.New(t, c.change)
		if status, body := h.Post("/api/event", `{"site":"blog","url":"/"}`, c.headers...); status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", c.name, status, body)
		}
		e := h.Stored()[0]
		if got := (geo.Place{Country: e.Country, Region: e.Region, City: e.City}); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestForgedAddressIsRateLimited sends more and more forged hops; the address that the last own proxy
// saw is rate-limited.
func TestForgedAddressIsRateLimited(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) {
		o.TrustProxy, o.Analytics.EventRate, o.Analytics.EventBurst = true, 0.001, 1
		o.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	for i, forwarded := range []string{
		"203.0.113.9, 10.0.0.2", "198.51.100.1, 203.0.113.9, 10.0.0.2", "10.0.0.7, 203.0.113.9", "not an address, 203.0.113.9, 10.1.1.1",
		"198.51.100.2, 203.0.113.9:4711", "::ffff:203.0.113.9",
	} {
		want := http.StatusTooManyRequests
		if i == 0 {
			want = http.StatusAccepted
		}
		if status, _ := h.Post("/api/event", `{"site":"blog","url":"/"}`, "X-Forwarded-For", forwarded); status != want {
			t.Errorf("%q: %d, want %d", forwarded, status, want)
		}
	}
}

func TestASiteHasARate(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) { o.Analytics.SiteRate = 0.001 })
	var batch strings.Builder
	for range 1000 {
		batch.WriteString(`,{"url":"/"}`)
	}
	body := `{"site":"blog","events":[` + batch.String()[1:] + `]}`
	if status, answer := h.Post("/api/events", body); status != http.StatusAccepted {
		t.Fatalf("%d %.200s", status, answer)
	}
	if status, answer := h.Post("/api/event", `{"site":"blog","url":"/"}`); status != http.StatusTooManyRequests || !strings.Contains(answer, "of this site") {
		t.Errorf("%d %s", status, answer)
	}
}

func TestPixel(t *testing.T) {
	h := servertest.New(t, nil)
	for _, c := range []struct {
		query   string
		headers []string
		status  int
	}{
		{"site=blog&url=/a", nil, 200},
		{"site=blog", []string{"Referer", "https://example.org/b?x=1"}, 200},
		{"site=blog&url=/prefetched", []string{"Sec-Purpose", "prefetch"}, 200},
		{"site=blog&url=javascript:alert(1)", nil, 200},
		{"site=blog", nil, 422},
		{"url=/a", nil, 422},
		{"site=nobody&url=/a", nil, 404},
	} {
		status, body := h.Get("/api/pixel.gif?"+c.query, append(c.headers, "User-Agent", servertest.Firefox)...)
		if status != c.status || (status == 200) != strings.HasPrefix(body, "GIF89a") {
			t.Errorf("%s: %d %q", c.query, status, body)
		}
	}
	var paths []string
	for _, e := range h.Stored() {
		paths = append(paths, e.Path)
	}
	slices.Sort(paths)
	if fmt.Sprint(paths) != "[/a /b]" {
		t.Errorf("%v", paths)
	}
}

// TestFilteredEventsAreCounted sends events of bots, of an AI crawler and of excluded traffic, and
// reads the counts.
func TestFilteredEventsAreCounted(t *testing.T) {
	h := servertest.New(t, nil)
	h.Settings(func(s *analytics.Site) {
		s.Domains, s.RespectGPC = []string{"example.org"}, true
		s.Exclude = exclude.Rules{Paths: []string{"/admin/**"}}
	})
	send := func(url string, headers ...string) {
		t.Helper()
		status, body := h.Post("/api/event", fmt.Sprintf(`{"site":"blog","url":%q}`, url), headers...)
		if status != http.StatusAccepted || !strings.Contains(body, "rejected") {
			t.Errorf("%s: %d %s", url, status, body)
		}
	}
	send("/", "User-Agent", "Googlebot/2.1 (+http://www.google.com/bot.html)")
	send("/", "User-Agent", "curl/8.5.0")
	send("/", "User-Agent", "curl/8.5.0")
	send("/", "User-Agent", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)")
	send("https://evil.test/")
	send("/admin/x")
	send("/", "Sec-GPC", "1")
	if status, _ := h.Post("/api/event", `{"site":"nobody","url":"/"}`, "User-Agent", "curl/8.5.0"); status != http.StatusNotFound {
		t.Errorf("a bot at a site that does not exist: %d", status)
	}
	const read = "/api/v1/sites/blog/bots"
	if status, _ := h.Get(read); status != http.StatusUnauthorized {
		t.Errorf("without a login: %d", status)
	}
	if status, body := h.Get(read+"?from=yesterday", "Authorization", "Bearer "+servertest.Token); status != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", status, body)
	}
	status, body := h.Get(read, "Authorization", "Bearer "+servertest.Token)
	var got map[string]json.RawMessage
	servertest.Must(t, json.Unmarshal([]byte(body), &got))
	for field, want := range map[string]string{
		"bots":       `[{"value":"library","events":2},{"value":"crawler","events":1}]`,
		"aiCrawlers": `[{"value":"GPTBot","events":1}]`,
		"refused":    `[{"value":"excluded","events":1},{"value":"opted_out","events":1},{"value":"wrong_domain","events":1}]`,
		"days":       `[{"day":"` + time.Now().UTC().Format(time.DateOnly) + `","bots":3,"aiCrawlers":1,"refused":3}]`,
	} {
		if string(got[field]) != want {
			t.Errorf("%d %s: %s, want %s", status, field, got[field], want)
		}
	}
}

func TestTheTrackerIsServedWhereTheOperatorSays(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) {
		o.Analytics.TrackerPath, o.Analytics.EventPath = "/numbers/count.js", "/numbers/event"
	})
	for _, path := range []string{"/js/onefold.js", "/js/onefold.vitals.js", "/numbers/count.js", "/numbers/count.vitals.js"} {
		if status, body := h.Get(path); status != http.StatusOK || !strings.Contains(body, "onefold") {
			t.Errorf("%s: %d %.50s", path, status, body)
		}
	}
	if status, body := h.Post("/numbers/event", `{"site":"blog","url":"/"}`, "Content-Type", "text/plain;charset=UTF-8"); status != http.StatusAccepted {
		t.Errorf("%d %s", status, body)
	}
	for _, path := range []string{"x.js", "/", "/api/v1/sites", "/a/../b", "/{x}", "/api/event"} {
		o := server.Options{Table: h.Table, Worker: h.Worker, Token: servertest.Token, Analytics: webanalytics.Options{Collector: h.Collector, EventPath: path}}
		if _, err := server.New(o); err == nil {
			t.Errorf("%q was taken as a path for events", path)
		}
	}
}

// TestNoPersonalDataIsKept looks for address and user agent in what is stored, logged and
// measured.
func TestNoPersonalDataIsKept(t *testing.T) {
	var log bytes.Buffer
	h := servertest.New(t, func(o *server.Options) {
		o.TrustProxy, o.Logger = true, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	id := ulid.Make().String()
	body := fmt.Sprintf(`{"site":"blog","id":%q,"url":"/","name":"engagement","engagedMs":1500,"scroll":40}`, id)
	agent := strings.Replace(servertest.Firefox, "138", "139", 1)
	h.Post("/api/event", body, "X-Forwarded-For", "203.0.113.77", "User-Agent", agent)
	h.Post("/api/event", `{"site":"blog","url":"javascript:x"}`, "X-Forwarded-For", "203.0.113.77", "User-Agent", agent)
	servertest.Must(t, h.Worker.Drain(t.Context()))
	events := h.Stored()
	if len(events) != 1 || events[0].EngagedMS != 1500 || events[0].Scroll != 40 {
		t.Fatalf("%+v", events)
	}
	_, metrics := h.Get("/metrics")
	all := fmt.Sprintf("%+v %s %s", events, log.String(), metrics)
	for _, secret := range []string{"203.0.113", "139.0", "Gecko"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is kept: %s", secret, all)
		}
	}
}

// TestEventsOnBehalfOfVisitors sends events on behalf of browsers: with a key of the site they
// count for the given visitors, without one they are rejected.
func TestEventsOnBehalfOfVisitors(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) { o.Analytics.EventRate, o.Analytics.EventBurst = 0.001, 1 })
	key := func(site string, scope accounts.Scope) string {
		_, token, err := h.Accounts.AddKey(t.Context(), accounts.NewKey{Name: "test", Site: site, Scope: scope})
		servertest.Must(t, err)
		return "Bearer " + token
	}
	events := func(addresses ...string) string {
		var list []string
		for _, a := range addresses {
			list = append(list, fmt.Sprintf(`{"url":"/","visitor":{"address":%q,"userAgent":%q}}`, a, servertest.Firefox))
		}
		list = append(list, `{"url":"/","visitor":{"address":"203.0.113.1","userAgent":"curl/8.5.0"}}`)
		return `{"site":"blog","events":[` + strings.Join(list, ",") + `]}`
	}
	for authorization, want := range map[string]int{
		"": 401, "Bearer " + servertest.Token: 401, "Bearer ofk_a_b": 403,
		key("blog", accounts.Read): 403, key("other", accounts.Ingest): 403,
		key("blog", accounts.Ingest): 202, key(accounts.AllSites, accounts.Write): 202,
	} {
		status, body := h.Post("/api/events", events("203.0.113.1", "203.0.113.1", "203.0.113.2"), "Authorization", authorization, "User-Agent", "backend/1")
		if status != want || want == 202 && (strings.Count(body, "stored") != 3 || strings.Count(body, `"bot"`) != 1) {
			t.Errorf("%.12s…: %d %s, want %d", authorization, status, body, want)
		}
	}
	visitors := map[string]int{}
	for _, e := range h.Stored() {
		visitors[e.VisitorID]++
	}
	if len(visitors) != 2 {
		t.Errorf("%v, want two visitors", visitors)
	}
}

func TestEventsCountOnce(t *testing.T) {
	h := servertest.New(t, nil)
	id := ulid.Make().String()
	one := fmt.Sprintf(`{"site":"blog","id":%q,"url":"https://example.org/pricing?utm_source=x"}`, id)
	for i, want := range []string{"stored", "duplicate", "duplicate"} {
		status, body := h.Post("/api/event", one)
		if status != http.StatusAccepted || !strings.Contains(body, `"`+want+`"`) {
			t.Fatalf("try %d: %d %s, want %s", i, status, body, want)
		}
	}
	var batch bytes.Buffer
	batch.WriteString(`{"site":"blog","events":[`)
	for i := range 40 {
		if i > 0 {
			batch.WriteByte(',')
		}
		fmt.Fprintf(&batch, `{"id":%q,"url":"/p%d"}`, ulid.Make(), i%7)
	}
	batch.WriteString(`]}`)
	var wait sync.WaitGroup
	for range 3 { // the same batch three times at once
		wait.Go(func() {
			if status, body := h.Post("/api/events", batch.String()); status != http.StatusAccepted {
				t.Errorf("batch: %d %s", status, body)
			}
		})
	}
	wait.Wait()
	if got := h.PageViewsToday(); got != 41 {
		t.Errorf("%d page views, want 41", got)
	}
}

func TestBeacon(t *testing.T) {
	h := servertest.New(t, nil)
	status, body := h.Post("/api/event", `{"site":"blog","url":"/"}`, "Content-Type", "text/plain;charset=UTF-8", "Origin", "https://example.org")
	if status != http.StatusAccepted || !strings.Contains(body, "stored") {
		t.Fatalf("%d %s", status, body)
	}
}

// A newer tracker loses no events: what the server does not know is ignored and counted. Forms and
// clients that send JSON as a form are read, too.
func TestUnknownFieldsAndForms(t *testing.T) {
	h := servertest.New(t, nil)
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	for _, c := range []struct {
		path, body string
		headers    []string
	}{
		{"/api/event", `{"site":"blog","url":"/a","currency":"EUR","viewport":{"width":[1,2]}}`, nil},
		{"/api/events", `{"site":"blog","version":3,"events":[{"url":"/b","viewport":"x"}]}`, nil},
		{"/api/events?site=blog", `{"url":"/c","viewport":"x"}`, []string{"Content-Type", "application/x-ndjson"}},
		{"/api/event", `{"site":"blog","url":"/d"}`, form},
		{"/api/event", `site=blog&url=%2Fe&name=signup&props%5Bplan%5D=pro&scroll=40&retry=true&more=1`, form},
	} {
		if status, body := h.Post(c.path, c.body, c.headers...); status != http.StatusAccepted || !strings.Contains(body, `"status":"stored"`) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, body)
		}
	}
	if status, body := postUnmeasured(h, "/api/event", `{"site":"blog","url":"/f","currency":"EUR"}`); status != http.StatusAccepted || !strings.Contains(body, `"status":"stored"`) {
		t.Errorf("%d %s", status, body)
	}
	for _, bad := range []string{`site=blog`, `site=blog&url=%zz`, `=`, `{"site":`, ``, `site=nobody&url=/`, "site=blog&url=%ff"} {
		if status, body := h.Post("/api/event", bad, form...); status < 400 || status >= 500 {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
	if _, body := h.Post("/api/event", "site=blog&url=/&lcp=NaN", form...); !strings.Contains(body, "body.lcp") {
		t.Errorf("the response does not name the field: %s", body)
	}
	var stored []string
	for _, e := range h.Stored() {
		stored = append(stored, e.Path+e.Name+e.Properties["plan"])
	}
	slices.Sort(stored)
	if got := strings.Join(stored, " "); got != "/a /b /c /d /esignuppro /f" {
		t.Error(got)
	}
	if _, metrics := h.Get("/metrics"); !strings.Contains(metrics, "onefold_events_unknown_fields_total 3\n") {
		t.Error("unknown fields are not counted")
	}
}

func TestRefusals(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) { o.Analytics.EventRate, o.Analytics.EventBurst = 1, 8 })
	old := ulid.MustNew(ulid.Timestamp(time.Now().AddDate(-1, 0, 0)), ulid.DefaultEntropy())
	for _, c := range []struct {
		name, path, body, agent string
		status                  int
		says                    string
	}{
		{"no JSON", "/api/event", `{"site":`, servertest.Firefox, 400, "urn:onefold:error:"},
		{"no site", "/api/event", `{"url":"/"}`, servertest.Firefox, 422, "urn:onefold:error:invalid_request"},
		{"unknown site", "/api/event", `{"site":"nobody","url":"/"}`, servertest.Firefox, 404, "urn:onefold:error:not_found"},
		{"site with #", "/api/event", `{"site":"a#b","url":"/"}`, servertest.Firefox, 404, "urn:onefold:error:not_found"},
		{"too large", "/api/event", `{"site":"blog","url":"/` + strings.Repeat("a", 1<<20) + `"}`, servertest.Firefox, 413, "urn:onefold:error:body_too_large"},
		{"deep", "/api/event", `{"site":"blog","url":"/","props":` + strings.Repeat(`{"a":`, 10_000), servertest.Firefox, 400, "urn:onefold:error:"},
		{"deep and whole", "/api/events", `{"site":"blog","events":` + strings.Repeat(`[`, 9_000) + strings.Repeat(`]`, 9_000) + `}`, servertest.Firefox, 422, "urn:onefold:error:invalid_request"},
		{"deeper than is read", "/api/events", `{"site":"blog","events":` + strings.Repeat(`[`, 1<<20) + strings.Repeat(`]`, 1<<20) + `}`, servertest.Firefox, 400, "urn:onefold:error:"},
		{"too many properties", "/api/event", `{"site":"blog","url":"/","name":"a","props":{` + strings.TrimSuffix(manyProperties(31), ",") + `}}`, servertest.Firefox, 422, "props"},
		{"a long name of a property", "/api/event", `{"site":"blog","url":"/","name":"a","props":{"` + strings.Repeat("n", 65) + `":"x"}}`, servertest.Firefox, 202, "property_too_long"},
		{"a long property", "/api/event", `{"site":"blog","url":"/","name":"a","props":{"n":"` + strings.Repeat("v", 513) + `"}}`, servertest.Firefox, 202, "property_too_long"},
		{"bot", "/api/event", `{"site":"blog","url":"/"}`, "Googlebot/2.1 (+http://www.google.com/bot.html)", 202, "bot"},
		{"bad id", "/api/event", `{"site":"blog","url":"/","id":"12345"}`, servertest.Firefox, 202, "bad_event_id"},
		{"too old", "/api/event", fmt.Sprintf(`{"site":"blog","url":"/","id":%q}`, old), servertest.Firefox, 202, "too_old"},
		{"too many at once", "/api/events", `{"site":"blog","events":[` + strings.TrimSuffix(strings.Repeat(`{"url":"/"},`, 9), ",") + `]}`, servertest.Firefox, 429, "rate_limited"},
	} {
		status, body := h.Post(c.path, c.body, "User-Agent", c.agent)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %.300s, want %d and %q", c.name, status, body, c.status, c.says)
		}
	}
	if got := h.PageViewsToday(); got != 0 {
		t.Errorf("%d page views of refused events", got)
	}
}
