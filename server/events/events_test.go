package events_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

const orders = "/api/v1/events/aggregates/order"

// shop is a server with an owner of all sites, a viewer of a site, and keys of the event store for
// each scope.
type shop struct {
	*servertest.Server
	owner, stranger *servertest.Person
	keys            map[accounts.Scope][]string // headers
	own             *eventstore.Store           // like the server's
	other           *eventstore.Store           // of a program beside the server, whose options the server does not know; nil: there is none
	turns           int
}

func newShop(t *testing.T, change ...func(*server.Options)) *shop {
	t.Helper()
	return furnish(servertest.New(t, func(o *server.Options) {
		for _, c := range change {
			c(o)
		}
	}))
}

// furnish makes a shop of a server.
func furnish(h *servertest.Server) *shop {
	t, s := h.T, &shop{Server: h, keys: map[accounts.Scope][]string{}}
	t.Helper()
	s.owner = s.NewPerson("owner@example.org", accounts.Grants{accounts.AllSites: accounts.Owner})
	s.stranger = s.NewPerson("viewer@example.org", accounts.Grants{"blog": accounts.Owner})
	for _, scope := range []accounts.Scope{accounts.Ingest, accounts.Read, accounts.Write} {
		_, token, err := s.Accounts.AddKey(t.Context(), accounts.NewKey{Site: accounts.EventStore, Scope: scope})
		servertest.Must(t, err)
		s.keys[scope] = []string{"Authorization", "Bearer " + token}
	}
	return s
}

// append appends events: over HTTP, or alternating between HTTP and the other program, if there is
// one.
func (s *shop) append(path, body string) {
	s.Helper()
	if s.turns++; s.other == nil || s.turns%2 == 0 {
		s.owner.Want(201, `"version"`, "POST", orders+"/"+path+"/events", body)
		return
	}
	id, err := url.PathUnescape(path)
	servertest.Must(s.T, err)
	var asked struct{ Events []eventjson.New }
	servertest.Must(s.T, json.Unmarshal([]byte(body), &asked))
	said, err := eventjson.NewEvents(asked.Events)
	servertest.Must(s.T, err)
	_, err = s.other.Append(s.Context(), eventstore.ID{Type: "order", ID: id}, eventstore.Any(), said)
	servertest.Must(s.T, err)
}

func some(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"type":"Counted","data":{"n":%d,"at":{"field%d":true}}}`, i+1, i%3))
	}
	return `{"events":[` + strings.Join(all, ",") + `]}`
}

func TestAppend(t *testing.T) { inEveryShop(t, testAppend) }

func testAppend(s *shop) {
	t := s.T
	const one = orders + "/1/events"
	post := func(status int, says, body string, headers ...string) string {
		t.Helper()
		return s.owner.Want(status, says, "POST", one, body, headers...)
	}
	post(412, `"actual":0`, `{"events":[{"type":"A"}]}`, "If-Match", `"1"`)
	post(201, `"first":1,"version":2,"again":false`, `{"expected":"none","commitId":"c1","events":[{"type":"OrderPlaced","data":{"total": 71.25}},{"type":"OrderPaid"}]}`)
	post(200, `"first":1,"version":2,"again":true`, `{"expected":"none","events":[{"type":"OrderPlaced","data":{"total": 71.25}},{"type":"OrderPaid"}]}`, "Idempotency-Key", "c1")
	post(422, "commit_reused", `{"commitId":"c1","events":[{"type":"A"}]}`)
	conflict := post(409, `"actual":2`, `{"expected":1,"events":[{"type":"A"}]}`)
	for _, want := range []string{"urn:onefold:error:version_conflict", `"type":"OrderPaid"`, `"status":409`} {
		if !strings.Contains(conflict, want) {
			t.Errorf("conflict: %s, want %s", conflict, want)
		}
	}
	post(409, "version_conflict", `{"expected":"none","events":[{"type":"A"}]}`)
	post(412, "version_conflict", `{"events":[{"type":"A"}]}`, "If-None-Match", "*")
	post(201, `"version":3`, `{"events":[{"type":"A"}]}`, "If-Match", `"2"`)
	post(201, `"version":4`, `{"expected":"exists","events":[{"type":"A"}]}`)
	post(201, `"version":5`, `{"expected":4,"events":[{"type":"A","occurredAt":"2020-01-01T00:00:00Z","actor":"alice","metadata":{"k":"v"}}]}`)
	for body, code := range map[string]string{
		`{"events":[]}`: "invalid_request", `{"events":[{"type":""}]}`: "invalid_request", `{"events":[{"type":"a#b"}]}`: "invalid_request", `{}`: "invalid_request",
		`{"expected":-1,"events":[{"type":"A"}]}`: "invalid_request", `{"expected":"soon","events":[{"type":"A"}]}`: "invalid_request", `{"expected":1.5,"events":[{"type":"A"}]}`: "invalid_request",
		`{"commitId":"a#b","events":[{"type":"A"}]}`: "invalid_request", `{"events":[{"type":"A","data":1,"binary":"AAAA"}]}`: "invalid_request", `{"events":[{"type":"A","colour":1}]}`: "invalid_request",
		`{"commitId":"x","expected":9999999999999999999999,"events":[{"type":"A"}]}`: "invalid_request", some(100): "invalid_request",
	} {
		post(422, code, body)
	}
	post(422, "Give the expected version once", `{"expected":1,"events":[{"type":"A"}]}`, "If-Match", "1")
	post(400, "bad_request", `{"events":`)
	post(413, "too_large", `{"events":[{"type":"A","data":"`+strings.Repeat("x", 401<<10)+`"}]}`)
	post(413, "body_too_large", `{"events":[{"type":"A","data":"`+strings.Repeat("x", 7<<20)+`"}]}`)
	s.owner.Want(422, "invalid_request", "POST", orders+"/a%23b/events", some(1))
	s.owner.Want(200, `"version":5`, "GET", orders+"/1", "")
}

// Permissions: keys that send can append but not read, and roles on sites do not apply to the event
// store.
func TestPermissions(t *testing.T) { inEveryShop(t, testPermissions) }

func testPermissions(s *shop) {
	s.append("1", some(1))
	web := s.Browser()
	for _, c := range []struct {
		headers                   []string
		who                       *servertest.Person
		read, append, close, gone int
	}{
		{nil, web, 401, 401, 401, 401},
		{nil, s.stranger, 403, 403, 403, 403},
		{s.keys[accounts.Read], web, 200, 403, 403, 403},
		{s.keys[accounts.Ingest], web, 403, 201, 403, 403},
		{s.keys[accounts.Write], web, 200, 201, 204, 403},
		{nil, s.owner, 200, 409, 204, 204},
	} {
		for _, path := range []string{"/api/v1/events/types", "/api/v1/events/aggregates?type=order", orders + "/1", orders + "/1/events", orders + "/1/state", orders + "/1/export", "/api/v1/events/of-type/Counted", "/api/v1/events/feed", "/api/v1/events/feed/head"} {
			c.who.Want(c.read, "", "GET", path, "", c.headers...)
		}
		c.who.Want(c.append, "", "POST", orders+"/1/events", some(1), c.headers...)
		c.who.Want(c.close, "", "POST", orders+"/1/close", "", c.headers...)
		c.who.Want(c.gone, "", "DELETE", orders+"/1", "", c.headers...)
	}
	s.owner.Want(410, "deleted", "GET", orders+"/1/events", "")
	s.owner.Want(200, `"state":"deleted"`, "GET", orders+"/1", "")
	s.owner.Want(409, "stream_closed", "POST", orders+"/1/close", "")
	s.owner.Want(404, "no_such_aggregate", "DELETE", orders+"/none", "")
	s.owner.Want(200, "stream.delete", "GET", "/api/v1/audit", "")
	s.owner.Want(201, `"site":"events:main"`, "POST", "/api/v1/keys", `{"site":"events:main","scope":"ingest"}`)
	s.stranger.Want(403, "forbidden", "POST", "/api/v1/keys", `{"site":"events:main","scope":"ingest"}`)
}

func TestReading(t *testing.T) { inEveryShop(t, testReading) }

func testReading(s *shop) {
	t := s.T
	s.append("1", some(98))
	s.append("1", some(98))
	key := s.keys[accounts.Read]
	read := s.Browser()
	all := func(query string) (seen []int64) {
		for next := orders + "/1/events?" + query; next != ""; {
			var page struct {
				Events []struct{ Seq int64 }
				Next   string
			}
			servertest.Must(t, json.Unmarshal([]byte(read.Want(200, `"version":196`, "GET", next, "", key...)), &page))
			for _, e := range page.Events {
				seen = append(seen, e.Seq)
			}
			next = page.Next
		}
		return seen
	}
	for query, want := range map[string][3]int64{ // how many, first, last
		"": {196, 1, 196}, "limit=7": {196, 1, 196}, "from=10&to=30&limit=10": {21, 10, 30}, "backwards=true&limit=9": {196, 196, 1}, "backwards=true&from=190": {7, 196, 190},
		"to=3": {3, 1, 3}, "asOf=2100-01-01T00:00:00Z&limit=50": {196, 1, 196},
	} {
		seen := all(query)
		if have := [3]int64{int64(len(seen)), seen[0], seen[len(seen)-1]}; have != want {
			t.Errorf("%q: %v, want %v", query, have, want)
		}
	}
	read.Want(200, `"events":[]`, "GET", orders+"/1/events?asOf=2000-01-01T00:00:00Z", "", key...)
	read.Want(200, `"events":[]`, "GET", orders+"/1/events?from=500", "", key...)
	if text := read.Want(200, `"n":98`, "GET", orders+"/1/export?from=90", "", key...); strings.Count(text, "\n") != 107 {
		t.Errorf("export has %d lines: %.200s", strings.Count(text, "\n"), text)
	}
	for path, status := range map[string]int{
		"/1/events?from=0": 422, "/1/events?limit=1001": 422, "/1/events?asOf=now": 422, "/1/events?asOf=2026-01-01T00:00:00Z&backwards=true": 422, "/1/events?colour=1": 400,
		"/none/events": 404, "/none": 404, "/none/state": 404, "/none/export": 404, "/1/state?version=197": 422, "/1/state?version=-1": 422, "/1/snapshot": 404, "/%23/events": 422, "/" + strings.Repeat("x", 257): 404,
	} {
		read.Want(status, "urn:onefold:error:", "GET", orders+path, "", key...)
	}
	read.Want(200, `"fields":{"at":{"field0":true,"field1":true},"n":2}`, "GET", orders+"/1/state?version=2", "", key...)
	read.Want(200, `"version":196,`, "GET", orders+"/1/state", "", key...)
}

// IDs contain characters with a meaning in paths, and are never confused.
func TestNamesInPaths(t *testing.T) { inEveryShop(t, testNamesInPaths) }

func testNamesInPaths(s *shop) {
	t := s.T
	for i, path := range []string{"a%2Fb", "a%20b", "%C3%BC", "100%25", "a%3Fb", "A", "a", "a+b", "%3Cscript%3E"} {
		s.append(path, some(i+1))
	}
	for i, path := range []string{"a%2Fb", "a%20b", "%C3%BC", "100%25", "a%3Fb", "A", "a", "a+b", "%3Cscript%3E"} {
		answer := s.owner.Want(200, fmt.Sprintf(`"version":%d`, i+1), "GET", orders+"/"+path+"/events?limit=1", "")
		var page struct{ Next string }
		servertest.Must(t, json.Unmarshal([]byte(answer), &page))
		if i > 0 {
			s.owner.Want(200, `"seq":2`, "GET", page.Next, "")
		}
	}
	servertest.Must(t, s.Worker.Drain(t.Context()))
	s.owner.Want(200, `"types":[{"type":"order","aggregates":9,"closed":0,"deleted":0,"events":45,`, "GET", "/api/v1/events/types", "")
	var ids []string
	for cursor := ""; ; {
		var page struct {
			Aggregates []struct{ ID string }
			Cursor     string
		}
		servertest.Must(t, json.Unmarshal([]byte(s.owner.Want(200, "", "GET", "/api/v1/events/aggregates?type=order&limit=2&cursor="+cursor, "")), &page))
		for _, a := range page.Aggregates {
			ids = append(ids, a.ID)
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if have, want := strings.Join(ids, " "), "100% <script> A a a b a+b a/b a?b ü"; have != want {
		t.Errorf("ids: %q, want %q", have, want)
	}
	if text := s.owner.Want(200, `"aggregateId":"a/b"`, "GET", "/api/v1/events/of-type/Counted?limit=100", ""); strings.Count(text, `"seq"`) != 45 {
		t.Errorf("of a type: %.300s", text)
	}
	s.owner.Want(422, "bad_cursor", "GET", "/api/v1/events/aggregates?type=order&cursor=x", "")
	s.owner.Want(422, "invalid_request", "GET", "/api/v1/events/aggregates?type=%23", "")
	s.owner.Want(422, "invalid_request", "GET", "/api/v1/events/aggregates", "")
}

// A table follows the rules of other programs: their personal data is rejected here, and so is
// every append to a table in put mode.
func TestRulesOfOtherPrograms(t *testing.T) {
	s := newShop(t)
	other, err := eventstore.New(s.Table, eventstore.Options{Chain: true, TypeShards: 2})
	servertest.Must(t, err)
	for i, say := range []func(){
		func() { s.append("1", `{"events":[{"type":"A"}]}`) },
		func() {
			_, err := other.Append(t.Context(), eventstore.ID{Type: "order", ID: "1"}, eventstore.Exact(1), []eventstore.NewEvent{{Type: "B"}})
			servertest.Must(t, err)
		},
		func() { s.append("1", `{"expected":2,"events":[{"type":"C"}]}`) },
		func() { s.append("1", `{"events":[{"type":"D"}]}`) },
	} {
		say()
		s.owner.Want(200, fmt.Sprintf(`"seq":%d`, i+1), "GET", orders+"/1/events", "")
	}
	servertest.Must(t, s.Worker.Drain(t.Context()))
	for _, is := range []string{"A", "B", "C", "D"} {
		s.owner.Want(200, fmt.Sprintf(`"type":"%s"`, is), "GET", "/api/v1/events/of-type/"+is, "")
	}
	for e, err := range other.Read(t.Context(), eventstore.ID{Type: "order", ID: "1"}, eventstore.Verified()) {
		if err != nil || e.Seq > 1 && len(e.Hash) == 0 {
			t.Errorf("event %d: %v", e.Seq, err)
		}
	}

	personal := newShop(t)
	servertest.Must(t, eventstore.DeclarePersonal(t.Context(), personal.Table, []eventstore.PersonalRule{{Event: "Registered", Subject: "who", Fields: []string{"name"}}}))
	personal.owner.Want(422, "personal_fields", "POST", orders+"/1/events", `{"commitId":"c","events":[{"type":"A"},{"type":"Registered","data":{"who":"7","name":"Ada"}}]}`)
	personal.owner.Want(404, "", "GET", orders+"/1", "")
	personal.append("1", `{"expected":"none","commitId":"c","events":[{"type":"A"}]}`)

	single := newShop(t)
	one, err := eventstore.New(single.Table, eventstore.Options{PutMode: true})
	servertest.Must(t, err)
	_, err = one.Append(t.Context(), eventstore.ID{Type: "order", ID: "1"}, eventstore.Any(), []eventstore.NewEvent{{Type: "A"}})
	servertest.Must(t, err)
	single.owner.Want(409, "write_mode", "POST", orders+"/1/events", `{"events":[{"type":"B"}]}`)
}

func TestSnapshot(t *testing.T) { inEveryShop(t, testSnapshot) }

func testSnapshot(s *shop) {
	t := s.T
	s.append("1", some(3))
	store := s.own
	count := eventstore.Fold[int]{Version: 4, Apply: func(n int, _ eventstore.Event) (int, error) { return n + 1, nil }}
	at, err := eventstore.Load(t.Context(), store, eventstore.ID{Type: "order", ID: "1"}, count)
	servertest.Must(t, err)
	_, err = eventstore.SaveSnapshot(t.Context(), store, count, at)
	servertest.Must(t, err)
	s.owner.Want(200, `"version":3,"reducer":4,`, "GET", orders+"/1/snapshot", "")
	s.owner.Want(200, `"state":3`, "GET", orders+"/1/snapshot", "")
}

// tail opens a stream and returns a function that reads its next event, without heartbeats, as id
// and data.
func (s *shop) tail(path string, headers ...string) (next func() string, leave func()) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.URL+path, nil)
	servertest.Must(s.T, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	servertest.Must(s.T, err)
	lines := bufio.NewScanner(answer.Body)
	line := func() string {
		var id string
		for lines.Scan() {
			if n, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				id = n
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return id + " " + data
			}
		}
		s.Fatalf("%s ended: %v", path, lines.Err())
		return ""
	}
	if first := line(); !strings.Contains(first, `"now"`) {
		s.Errorf("first: %s", first)
	}
	return func() string {
		for {
			if data := line(); !strings.HasPrefix(data, ` {"now"`) {
				return data
			}
		}
	}, func() { answer.Body.Close() }
}

// A live stream has every event once, even after reconnecting.
func TestTail(t *testing.T) { inEveryShop(t, testTail) }

func testTail(s *shop) {
	t := s.T
	t.Parallel()
	s.append("1", some(3))
	want := func(next func() string, seqs ...int) {
		t.Helper()
		for _, n := range seqs {
			if have := next(); !strings.HasPrefix(have, fmt.Sprintf(`%d {"seq":%d,`, n, n)) {
				t.Errorf("%s, want event %d", have, n)
			}
		}
	}
	next, leave := s.tail(orders+"/1/tail", s.keys[accounts.Read]...)
	s.append("2", some(1))
	s.append("1", some(2))
	want(next, 4, 5)
	leave()
	s.append("1", some(1))
	again, leave := s.tail(orders+"/1/tail", append([]string{"Last-Event-ID", "4"}, s.keys[accounts.Read]...)...)
	want(again, 5, 6)
	leave()
	all, leave := s.tail(orders+"/1/tail?after=0", s.keys[accounts.Read]...)
	want(all, 1, 2, 3, 4, 5, 6)
	leave()
	fresh, leave := s.tail(orders+"/new/tail", s.keys[accounts.Read]...)
	s.append("new", some(1))
	want(fresh, 1)
	leave()
}

// The feed has the events of all aggregates, once and in one order, for live readers and after
// reconnecting.
func TestFeed(t *testing.T) { inEveryShop(t, testFeed) }

func testFeed(s *shop) {
	t := s.T
	key := s.keys[accounts.Read]
	read := s.Browser()
	s.append("1", some(2))
	s.append("2", some(1))
	s.append("1", `{"events":[{"type":"Paid"}]}`)
	read.Want(200, `"position":0`, "GET", "/api/v1/events/feed/head", "", key...)
	servertest.Must(t, s.Worker.Drain(t.Context()))
	read.Want(200, `"position":3`, "GET", "/api/v1/events/feed/head", "", key...)
	type page struct {
		Events []struct {
			Position    int64
			AggregateID string
			Seq         int64
			Type        string
		}
		Through int64
		Tip     bool
	}
	ask := func(query string) (p page) {
		t.Helper()
		servertest.Must(t, json.Unmarshal([]byte(read.Want(200, "", "GET", "/api/v1/events/feed?"+query, "", key...)), &p))
		return p
	}
	told := map[string]int64{}
	for p := ask("limit=1"); ; p = ask(fmt.Sprintf("limit=1&after=%d", p.Through)) {
		for _, e := range p.Events {
			if told[e.AggregateID]++; told[e.AggregateID] != e.Seq {
				t.Errorf("%+v comes after %d events", e, told[e.AggregateID]-1)
			}
		}
		if p.Tip {
			break
		}
	}
	if told["1"] != 3 || told["2"] != 1 {
		t.Errorf("told: %v", told)
	}
	if p := ask("eventType=Paid"); len(p.Events) != 1 || p.Events[0].Seq != 3 || p.Through != 3 || !p.Tip {
		t.Errorf("of a type: %+v", p)
	}
	if p := ask("aggregateType=invoice"); len(p.Events) != 0 || p.Through != 3 {
		t.Errorf("of another type of aggregates: %+v", p)
	}
	for path, status := range map[string]int{"feed?after=-1": 422, "feed?limit=0": 422, "feed?limit=101": 422, "tail?after=-2": 422} {
		read.Want(status, "invalid_request", "GET", "/api/v1/events/"+path, "", key...)
	}
	next, leave := s.tail("/api/v1/events/tail?after=0&eventType=Counted,Shipped", key...)
	defer leave()
	for range 3 {
		if have := next(); !strings.Contains(have, `"type":"Counted"`) {
			t.Errorf("watched: %s", have)
		}
	}
	fresh, leaveFresh := s.tail("/api/v1/events/tail", append([]string{"Last-Event-ID", "3"}, key...)...)
	defer leaveFresh()
	s.append("9", `{"events":[{"type":"Begun"},{"type":"Shipped"}]}`)
	servertest.Must(t, s.Worker.Drain(t.Context()))
	if have := next(); !strings.HasPrefix(have, `4 {"position":4,"aggregateType":"order","aggregateId":"9"`) {
		t.Errorf("watched: %s", have)
	}
	if first, second := fresh(), fresh(); !strings.HasPrefix(first, ` {"position":4`) || !strings.HasPrefix(second, `4 {"position":4`) {
		t.Errorf("watched: %s %s", first, second)
	}
}
