package events_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// limitedKey creates a key of the event store over HTTP, and returns the header with it.
func (s *shop) limitedKey(limits string) []string {
	s.Helper()
	var made struct{ Token string }
	servertest.Must(s.T, json.Unmarshal([]byte(s.owner.Want(201, `"site":"events:main"`, "POST", "/api/v1/keys", `{"site":"events:main","scope":"write",`+limits+`}`)), &made))
	return []string{"Authorization", "Bearer " + made.Token}
}

// A limited key reads and appends to its aggregates, and finds nothing of others.
func TestLimitedKeys(t *testing.T) {
	s := newShop(t)
	acme, orders := s.limitedKey(`"tenant":"acme"`), s.limitedKey(`"aggregateTypes":["order"]`)
	both := s.limitedKey(`"aggregateTypes":["order","cart"],"tenant":"acme"`)
	one := func(kind, id string) string { return "/api/v1/events/aggregates/" + kind + "/" + url.PathEscape(id) }
	const event = `{"events":[{"type":"A"}]}`
	for _, c := range []struct {
		key      []string
		kind, id string
		allowed  bool
	}{
		{acme, "order", "acme/1", true}, {acme, "cart", "acme/1", true}, {acme, "order", "acme", false}, {acme, "order", "acme2/1", false}, {acme, "order", "other/1", false}, {acme, "order", "ACME/1", false},
		{orders, "order", "other/1", true}, {orders, "order", "acme/1", true}, {orders, "cart", "acme/1", false}, {orders, "order2", "1", false},
		{both, "cart", "acme/2", true}, {both, "user", "acme/1", false}, {both, "cart", "other/1", false},
	} {
		append, read, says := 403, 403, "error:key_limited"
		if c.allowed {
			append, read, says = 201, 200, `"version":`
		}
		s.Browser().Want(append, says, "POST", one(c.kind, c.id)+"/events", event, c.key...)
		if !c.allowed {
			s.owner.Want(201, "", "POST", one(c.kind, c.id)+"/events", event)
		}
		s.Browser().Want(read, "", "GET", one(c.kind, c.id), "", c.key...)
		s.Browser().Want(read, "", "GET", one(c.kind, c.id)+"/events", "", c.key...)
		part := fmt.Sprintf(`{"appends":[{"type":%q,"id":%q,"events":[{"type":"B"}]},{"type":"order","id":"acme/9","events":[{"type":"B"}]}]}`, c.kind, c.id)
		s.Browser().Want(append, "", "POST", appends, part, c.key...)
	}
	s.isLimitedInLists(acme, orders)
}

// isLimitedInLists checks lists and the feed.
func (s *shop) isLimitedInLists(acme, orders []string) {
	s.Helper()
	web := s.Browser()
	list := web.Want(200, "acme/1", "GET", "/api/v1/events/aggregates?type=order", "", acme...)
	if strings.Contains(list, "other") || strings.Contains(list, "acme2") {
		s.Errorf("the list has aggregates of others: %s", list)
	}
	web.Want(403, "key_limited", "GET", "/api/v1/events/aggregates?type=order&prefix=o", "", acme...)
	web.Want(200, "acme/1", "GET", "/api/v1/events/aggregates?type=order&prefix=acme/1", "", acme...)
	web.Want(403, "key_limited", "GET", "/api/v1/events/aggregates?type=cart", "", orders...)
	servertest.Must(s.T, s.Worker.Drain(s.Context()))
	for name, key := range map[string][]string{"acme": acme, "order": orders} {
		var page struct {
			Events []struct{ AggregateType, AggregateID, Tenant string }
			Tip    bool
		}
		servertest.Must(s.T, json.Unmarshal([]byte(web.Want(200, `"tip":true`, "GET", "/api/v1/events/feed?limit=100", "", key...)), &page))
		if len(page.Events) == 0 {
			s.Errorf("%s: the feed has nothing", name)
		}
		for _, e := range page.Events {
			if name == "acme" && !strings.HasPrefix(e.AggregateID, "acme/") || name == "order" && e.AggregateType != "order" {
				s.Errorf("the feed of %s has %+v", name, e)
			}
		}
	}
	web.Want(403, "key_limited", "GET", "/api/v1/events/feed?aggregateType=order,cart", "", orders...)
	next, leave := s.tail("/api/v1/events/tail?after=0", acme...)
	defer leave()
	for range 6 {
		if got := next(); !strings.Contains(got, `"aggregateId":"acme/`) {
			s.Errorf("the live feed has %s", got)
		}
	}
}

// Events of a key with a tenant have this tenant. What concerns all aggregates is not for limited keys.
func TestLimitedAppends(t *testing.T) {
	s := newShop(t)
	key, web := s.limitedKey(`"tenant":"acme"`), s.Browser()
	path := "/api/v1/events/aggregates/order/acme%2F1"
	web.Want(201, "", "POST", path+"/events", `{"commitId":"c","events":[{"type":"A"},{"type":"B","tenant":"acme"}]}`, key...)
	web.Want(200, `"again":true`, "POST", path+"/events", `{"commitId":"c","events":[{"type":"A"},{"type":"B","tenant":"acme"}]}`, key...)
	if got := web.Want(200, "", "GET", path+"/events", "", key...); strings.Count(got, `"tenant":"acme"`) != 2 {
		t.Errorf("the events are %s", got)
	}
	for _, body := range []string{
		`{"events":[{"type":"A","tenant":"other"}]}`,
		`{"events":[{"type":"A","tags":["x"]}]}`,
		`{"events":[{"type":"A"}],"reserve":[{"scope":"email","value":"x"}]}`,
		`{"events":[{"type":"A"}],"release":[{"scope":"email","value":"x"}]}`,
		`{"events":[{"type":"A"}],"unless":{"query":[{"tags":["x"]}]}}`,
	} {
		web.Want(403, "key_limited", "POST", path+"/events", body, key...)
		if rest, ok := strings.CutPrefix(body, `{"events"`); ok && !strings.Contains(body, "unless") {
			web.Want(403, "key_limited", "POST", appends, `{"appends":[{"type":"order","id":"acme/1","events"`+strings.TrimSuffix(rest, "}")+`}]}`, key...)
		}
	}
	web.Want(200, `"version":2`, "GET", path, "", key...)
}

// A key with a tenant has tags, conditions and unique values of its own, and learns nothing of others.
func TestLimitedNames(t *testing.T) {
	s := newShop(t)
	web, acme := s.Browser(), s.limitedKey(`"tenant":"acme"`)
	const path, query, owner = "/api/v1/events/aggregates/order/acme%2F1/events", "/api/v1/events/query", "/api/v1/events/reservations/owner"
	web.Want(201, "", "POST", path, `{"events":[{"type":"A","tags":["acme/all"]}],"reserve":[{"scope":"acme/email","value":"ada"}]}`, acme...)
	s.owner.Want(201, "", "POST", orders+"/other/events", `{"events":[{"type":"Foreign","tags":["acme/all","all"]}],"reserve":[{"scope":"acme/email","value":"eve"},{"scope":"email","value":"ada"}]}`)
	if got := web.Want(200, `"type":"A"`, "POST", query, `{"query":[{"tags":["acme/all"]}]}`, acme...); strings.Contains(got, "Foreign") {
		t.Errorf("the query has %s", got)
	}
	for _, body := range []string{path, appends} {
		body, to := `{"events":[{"type":"B"}],"unless":{"query":[{"tags":["acme/all"]}]}}`, body
		if to == appends {
			body = `{"appends":[{"type":"order","id":"acme/1","events":[{"type":"B"}]}],"unless":{"query":[{"tags":["acme/all"]}]}}`
		}
		if got := web.Want(409, "query_conflict", "POST", to, body, acme...); strings.Contains(got, "Foreign") || !strings.Contains(got, `"type":"A"`) {
			t.Errorf("the conflict has %s", got)
		}
	}
	web.Want(200, `"owner":"order/acme/1"`, "POST", owner, `{"scope":"acme/email","value":"ada"}`, acme...)
	web.Want(404, "not_reserved", "POST", owner, `{"scope":"acme/email","value":"bob"}`, acme...)
	web.Want(403, "key_limited", "POST", owner, `{"scope":"acme/email","value":"eve"}`, acme...)
	web.Want(409, "reserved", "POST", path, `{"events":[{"type":"B"}],"reserve":[{"scope":"acme/email","value":"eve"}]}`, acme...)
	web.Want(201, "", "POST", path, `{"events":[{"type":"B"}],"release":[{"scope":"acme/email","value":"ada"}]}`, acme...)
	for _, limits := range []string{`"tenant":"acme"`, `"tenant":"acm"`, `"aggregateTypes":["order"]`, `"aggregateTypes":["order"],"tenant":"acme"`} {
		key := s.limitedKey(limits)
		names := []string{"all", "acme", "ACME/all", "acme2/all"}
		if limits != `"tenant":"acme"` {
			names = append(names, "acme/all")
		}
		for _, name := range names {
			web.Want(403, "key_limited", "POST", query, `{"query":[{"tags":["`+name+`"]}]}`, key...)
			web.Want(403, "key_limited", "POST", owner, `{"scope":"`+name+`","value":"ada"}`, key...)
			for _, with := range []string{`"reserve":[{"scope":"` + name + `","value":"x"}]`, `"release":[{"scope":"` + name + `","value":"x"}]`, `"unless":{"query":[{"tags":["acme/x"]},{"tags":["` + name + `"]}]}`} {
				web.Want(403, "key_limited", "POST", path, `{"events":[{"type":"A"}],`+with+`}`, key...)
			}
			web.Want(403, "key_limited", "POST", path, `{"events":[{"type":"A","tags":["`+name+`"]}]}`, key...)
		}
	}
	web.Want(200, `"version":2`, "GET", strings.TrimSuffix(path, "/events"), "", acme...)
}

// Every other operation, of any part of the API, is refused.
func TestLimitedKeysOtherwise(t *testing.T) {
	s := newShop(t)
	key, web := s.limitedKey(`"tenant":"acme"`), s.Browser()
	_, text := s.Get("/openapi.json")
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []any
		}
	}
	servertest.Must(t, json.Unmarshal([]byte(text), &doc))
	allowed := []string{"append-to-several", "aggregates", "feed", "tail-feed", "query-events", "owner-of-value"}
	fill, refused := strings.NewReplacer("{type}", "order", "{id}", "other", "{name}", "n", "{site}", "blog", "{fleet}", "f", "{eventType}", "A"), 0
	for path, item := range doc.Paths {
		for method, op := range item {
			if len(op.Security) == 0 || slices.Contains(allowed, op.OperationID) {
				continue
			}
			if status, answer := web.Do(strings.ToUpper(method), fill.Replace(path), `{}`, key...); status != 403 {
				t.Errorf("%s %s: %d %.200s", method, path, status, answer)
			}
			refused++
		}
	}
	if refused < 50 {
		t.Errorf("only %d operations were tried", refused)
	}
}

// Limits are for the event store alone, and are checked.
func TestLimitsAreChecked(t *testing.T) {
	s := newShop(t)
	many := `"` + strings.Join(slices.Repeat([]string{"x"}, accounts.MaxLimitedTypes+1), `","`) + `"`
	for _, bad := range []string{
		`{"site":"*","scope":"read","tenant":"acme"}`, `{"site":"blog","scope":"read","aggregateTypes":["order"]}`,
		`{"site":"events:main","scope":"read","tenant":"a/b"}`, `{"site":"events:main","scope":"read","tenant":"a#b"}`,
		`{"site":"events:main","scope":"read","aggregateTypes":[""]}`, `{"site":"events:main","scope":"read","aggregateTypes":["a","a"]}`, `{"site":"events:main","scope":"read","aggregateTypes":[` + many + `]}`,
	} {
		if status, answer := s.owner.Do("POST", "/api/v1/keys", bad); status/100 != 4 {
			t.Errorf("%s: %d %s", bad, status, answer)
		}
	}
	s.owner.Want(201, `"aggregateTypes":["order"],"tenant":"acme"`, "POST", "/api/v1/keys", `{"site":"events:main","scope":"read","aggregateTypes":["order"],"tenant":"acme"}`)
	s.owner.Want(200, `"aggregateTypes":["order"],"tenant":"acme"`, "GET", "/api/v1/keys", "")
}
