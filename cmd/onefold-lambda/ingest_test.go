package main

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/installation"
	"github.com/onefold/onefold/cmd/internal/lambdasim"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/telemetry"
)

// asked returns a request of a function URL, modified by change.
func asked(t testing.TB, change func(*events.APIGatewayV2HTTPRequest)) []byte {
	t.Helper()
	var r events.APIGatewayV2HTTPRequest
	must(t, json.Unmarshal(read(t, "url.json"), &r))
	change(&r)
	b, err := json.Marshal(r)
	must(t, err)
	return b
}

func ask(t testing.TB, pool *lambdasim.Pool, limit time.Duration, change func(*events.APIGatewayV2HTTPRequest)) events.APIGatewayV2HTTPResponse {
	t.Helper()
	b, err := pool.Invoke(t.Context(), asked(t, change), limit, nil)
	must(t, err)
	var answer events.APIGatewayV2HTTPResponse
	must(t, json.Unmarshal(b, &answer))
	return answer
}

// A function URL and an HTTP API accept facts like the server.
func TestIngest(t *testing.T) {
	p := newPlace(t, time.Now(), engine.Options{})
	_, err := analytics.CreateSite(t.Context(), p.table, analytics.NewSite{ID: "shop"})
	must(t, err)
	_, err = telemetry.CreateFleet(t.Context(), p.table, telemetry.NewFleet{ID: "plant"})
	must(t, err)
	_, err = telemetry.CreateDevice(t.Context(), p.table, telemetry.NewDevice{ID: "pump", FleetID: "plant"})
	must(t, err)
	_, key, err := accounts.New(p.table, accounts.Options{}).AddKey(t.Context(), accounts.NewKey{Name: "gateway", Site: accounts.OfFleet("plant"), Scope: accounts.Write})
	must(t, err)
	check, err := installation.Start(t.Context(), p.table, "shop")
	must(t, err)
	pool := p.pool("ingest", "ONEFOLD_TRACKER_PATH=/js/numbers.js")
	type request = events.APIGatewayV2HTTPRequest
	for name, c := range map[string]struct {
		change func(*request)
		status int
		says   string
	}{
		"as documented": {func(*request) {}, 202, `"stored"`},
		"in base64": {func(r *request) {
			r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(r.Body)), true
		}, 202, `"stored"`},
		"no base64": {func(r *request) { r.IsBase64Encoded = true }, 400, "base64"},
		"by a stage": {func(r *request) {
			r.RequestContext.Stage, r.RawPath = "prod", "/prod/api/event"
		}, 202, `"stored"`},
		"preflight":     {func(r *request) { r.RequestContext.HTTP.Method, r.Body = "OPTIONS", "" }, 204, ""},
		"no such site":  {func(r *request) { r.Body = `{"site":"shoop","url":"/"}` }, 404, "no such site"},
		"no JSON":       {func(r *request) { r.Body = `{` }, 400, "urn:onefold:error:"},
		"too long":      {func(r *request) { r.Body = `{"site":"` + strings.Repeat("x", 70_000) + `"}` }, 413, "urn:onefold:error:"},
		"no body":       {func(r *request) { r.Body = "" }, 400, "urn:onefold:error:"},
		"statistics":    {func(r *request) { r.RequestContext.HTTP.Method, r.RawPath = "GET", "/api/v1/sites/shop/report" }, 404, "not_found"},
		"dashboard":     {func(r *request) { r.RequestContext.HTTP.Method, r.RawPath = "GET", "/" }, 404, "not_found"},
		"no path":       {func(r *request) { r.RawPath = "" }, 404, "not_found"},
		"an odd path":   {func(r *request) { r.RawPath = "%zz//../api/event" }, 307, ""},
		"tracker":       {func(r *request) { r.RequestContext.HTTP.Method, r.RawPath = "GET", "/js/numbers.js" }, 200, "onefold"},
		"without a key": {func(r *request) { r.RawPath, r.Body = "/api/readings", `{"device":"pump","values":{"bar":1}}` }, 401, "urn:onefold:error:"},
		"with a key": {func(r *request) {
			r.RawPath, r.Body = "/api/readings", `{"device":"pump","values":{"bar":1}}`
			r.Headers["authorization"] = "Bearer " + key
		}, 202, `"stored"`},
		"line protocol": {func(r *request) {
			r.RawPath, r.RawQueryString, r.Body = "/api/v2/write", "precision=s", "m,device=pump bar=2"
			r.Headers["authorization"] = "Token " + key
			r.Headers["content-type"] = "text/plain"
		}, 204, ""},
		"a check of the installation": {func(r *request) {
			r.Body = `{"site":"shop","url":"https://shop.example/","check":"` + check.Token + `"}`
		}, 202, `"outcomes"`},
		"pixel, no code": {func(r *request) {
			r.RequestContext.HTTP.Method, r.RawPath, r.RawQueryString = "GET", "/api/pixel.gif", "site=shop&url=/"
		}, 200, ""},
	} {
		answer := ask(t, pool, time.Minute, c.change)
		if answer.StatusCode != c.status || !strings.Contains(answer.Body, c.says) {
			t.Errorf("%s: %d %v %.300s", name, answer.StatusCode, answer.Headers, answer.Body)
		}
		if name == "pixel, no code" {
			if b, err := base64.StdEncoding.DecodeString(answer.Body); !answer.IsBase64Encoded || err != nil || !strings.HasPrefix(string(b), "GIF89a") {
				t.Errorf("the pixel is %+v", answer)
			}
		}
	}
	for _, payload := range []string{`{`, `{}`, `{"version":"1.0","httpMethod":"GET"}`, string(read(t, "window.json"))} {
		if _, err := pool.Invoke(t.Context(), []byte(payload), time.Minute, nil); err == nil || !strings.HasPrefix(refusal(t, err), "bad_event: ") {
			t.Errorf("%.60s: %v", payload, err)
		}
	}
	if c, err := installation.Last(t.Context(), p.table, "shop"); err != nil || c.Report == nil || c.Report.Host != "shop.example" {
		t.Errorf("the check has the report %+v, %v", c.Report, err)
	}
	if n := len(visitorsOf(p)); n != 1 {
		t.Errorf("one address is %d visitors", n)
	}
}

// A visitor's address is that of RequestContext, whatever headers claim. With a trusted proxy it is
// the address that the proxy reports.
func TestAddress(t *testing.T) {
	p := newPlace(t, time.Now(), engine.Options{})
	_, err := analytics.CreateSite(t.Context(), p.table, analytics.NewSite{ID: "shop"})
	must(t, err)
	for i, c := range []struct {
		env  []string
		want int
	}{{nil, 1}, {[]string{"ONEFOLD_TRUST_PROXY=true"}, 2}} {
		pool := p.pool("ingest", c.env...)
		before := len(visitorsOf(p))
		for _, from := range []string{"198.51.100.1", "198.51.100.2"} {
			ask(t, pool, time.Minute, func(r *events.APIGatewayV2HTTPRequest) { r.Headers["x-forwarded-for"] = from })
		}
		if n := len(visitorsOf(p)) - before; n != c.want {
			t.Errorf("%d: %d visitors, want %d", i, n, c.want)
		}
	}
}

func visitorsOf(p *place) map[string]bool {
	all := map[string]bool{}
	for _, e := range eventsOf(p.t, p.items()) {
		all[e.VisitorID] = true
	}
	return all
}

// Only stored events are acknowledged. If the table is too slow, the response asks for a retry, in
// time.
func TestIngestInTime(t *testing.T) {
	p := newPlace(t, time.Now(), engine.Options{})
	_, err := analytics.CreateSite(t.Context(), p.table, analytics.NewSite{ID: "shop"})
	must(t, err)
	pool := p.pool("ingest")
	ask(t, pool, time.Minute, func(*events.APIGatewayV2HTTPRequest) {}) // load the settings into memory
	hold := make(chan struct{})
	p.hold.Store(&hold)
	event := func(r *events.APIGatewayV2HTTPRequest) {
		r.Body = `{"site":"shop","url":"/once","id":"` + eventID(time.Now()) + `"}`
	}
	answer := ask(t, pool, 600*time.Millisecond, event)
	if answer.StatusCode != 503 || answer.Headers["retry-after"] == "" || !strings.Contains(answer.Body, "urn:onefold:error:too_slow") {
		t.Errorf("answered %+v", answer)
	}
	p.hold.Store(nil)
	close(hold)
	if answer := ask(t, pool, time.Minute, event); answer.StatusCode != 202 {
		t.Errorf("answered %+v", answer)
	}
	if pool.Starts() != 1 {
		t.Error("a process did not answer in time")
	}
}

// The role of the ingest function allows every operation that it performs on events and readings,
// including the forms of appends that no other test uses. guarded fails the test if one is denied.
func TestIngestRole(t *testing.T) {
	p := newPlace(t, time.Now(), engine.Options{})
	_, err := analytics.CreateSite(t.Context(), p.table, analytics.NewSite{ID: "shop"})
	must(t, err)
	_, err = telemetry.CreateFleet(t.Context(), p.table, telemetry.NewFleet{ID: "plant"})
	must(t, err)
	_, err = telemetry.CreateDevice(t.Context(), p.table, telemetry.NewDevice{ID: "pump", FleetID: "plant"})
	must(t, err)
	people := accounts.New(p.table, accounts.Options{})
	ann, err := people.AddUser(t.Context(), accounts.NewUser{Email: "ann@example.com", Password: "correct horse battery", Grants: accounts.Grants{accounts.AllSites: accounts.Owner}})
	must(t, err)
	keys := map[string]string{}
	for place, scope := range map[string]accounts.Scope{"shop": accounts.Write, accounts.OfFleet("plant"): accounts.Write, accounts.EventStore: accounts.Ingest} {
		_, keys[place], err = people.AddKey(t.Context(), accounts.NewKey{Name: "one", Site: place, Scope: scope, Creator: ann.UserID})
		must(t, err)
	}
	pool := p.pool("ingest")
	send := func(path, place, body string) events.APIGatewayV2HTTPResponse {
		return ask(t, pool, time.Minute, func(r *events.APIGatewayV2HTTPRequest) {
			r.RawPath, r.Body = path, body
			r.Headers["authorization"] = "Bearer " + keys[place]
		})
	}
	const order = "/api/v1/events/aggregates/order/"
	for _, c := range []struct {
		path, place, body string
		status            int
	}{
		{"/api/v1/sites/shop/import", "shop", `{"events":[{"id":"` + eventID(time.Now()) + `","url":"/old"}]}`, 202},
		{"/api/readings", accounts.OfFleet("plant"), `{"device":"pump","seq":7,"values":{"bar":1}}`, 202},
		{"/api/readings", accounts.OfFleet("plant"), `{"device":"pump","at":"1970-01-01T00:00:00Z","values":{"bar":1}}`, 202},
		{order + "1/events", accounts.EventStore, `{"expected":"none","commitId":"c1","events":[{"type":"Placed","data":{"total":1},"tags":["cart:1"]}]}`, 201},
		{order + "1/events", accounts.EventStore, `{"expected":"none","commitId":"c1","events":[{"type":"Placed","data":{"total":1},"tags":["cart:1"]}]}`, 200},
		{order + "1/events", accounts.EventStore, `{"expected":1,"events":[{"type":"Paid","data":{"note":"` + strings.Repeat("x", 60_000) + `"}}]}`, 201},
		{order + "1/events", accounts.EventStore, `{"expected":"any","events":[{"type":"Sent","data":{}}],"reserve":[{"scope":"no","value":"1"},{"scope":"mail","value":"a@example.com","subject":"ann"}]}`, 201},
		{order + "2/events", accounts.EventStore, `{"events":[{"type":"Sent","data":{}}],"reserve":[{"scope":"no","value":"1"}]}`, 409},
		{order + "1/events", accounts.EventStore, `{"events":[{"type":"Gone","data":{}}],"release":[{"scope":"no","value":"1"},{"scope":"mail","value":"a@example.com"}]}`, 201},
		{order + "2/events", accounts.EventStore, `{"events":[{"type":"Placed","data":{},"tags":["cart:1"]}],"unless":{"query":[{"tags":["cart:1"]}]}}`, 409},
		{order + "2/events", accounts.EventStore, `{"events":[{"type":"Placed","data":{},"tags":["cart:2"]}],"unless":{"query":[{"tags":["cart:3"]}]}}`, 201},
	} {
		if answer := send(c.path, c.place, c.body); answer.StatusCode != c.status {
			t.Errorf("%s %.120s: %d %.300s", c.path, c.body, answer.StatusCode, answer.Body)
		}
	}
	for name, change := range map[string]func(*events.APIGatewayV2HTTPRequest){ // a role that may not read sessions is not asked to
		"a session": func(r *events.APIGatewayV2HTTPRequest) {
			r.Cookies = []string{"onefold_session=" + strings.Repeat("a", 43), "onefold_share=" + strings.Repeat("b", 43)}
		},
		"a share": func(r *events.APIGatewayV2HTTPRequest) {
			r.Headers["authorization"] = "Bearer " + strings.Repeat("b", 43)
		},
	} {
		answer := ask(t, pool, time.Minute, func(r *events.APIGatewayV2HTTPRequest) {
			r.RawPath, r.Body = "/api/v1/sites/shop/import", `{"events":[{"id":"`+eventID(time.Now())+`","url":"/old"}]}`
			change(r)
		})
		if answer.StatusCode != 401 {
			t.Errorf("%s: %d %.300s", name, answer.StatusCode, answer.Body)
		}
	}
}
