package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

const outside = "zebra" // in every page, event name and campaign of the visits outside the segment

// withSegment returns a server with visits inside and outside the segment "Inside", and its owner.
func withSegment(t *testing.T) (*servertest.Server, *servertest.Person) {
	t.Helper()
	var seconds atomic.Int64
	h := servertest.New(t, func(o *server.Options) { // enough time between the requests of a guest
		o.Clock = func() time.Time { return time.Now().Add(time.Duration(seconds.Add(1)) * time.Second / 10) }
	})
	for n, body := range []string{
		`{"site":"blog","url":"https://example.org/inside","userId":"ann"}`,
		`{"site":"blog","url":"https://example.org/other","userId":"ann"}`,
		`{"site":"blog","url":"https://example.org/zebra?utm_campaign=zebra","name":"zebra","revenue":"77","userId":"bob-zebra"}`,
		`{"site":"blog","url":"https://example.org/zebra"}`,
	} {
		h.Post("/api/event", body, "User-Agent", fmt.Sprintf("%s%d", servertest.Firefox, n/2))
	}
	servertest.Must(t, h.Worker.Drain(t.Context()))
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.Want(http.StatusCreated, `"id":"inside"`, http.MethodPost, "/api/v1/sites/blog/segments", `{"name":"Inside","filters":["page:is:/inside"]}`)
	return h, owner
}

// asked are requests of operations, by ID. Those with a code are refused to a guest of a segment.
var asked = map[string]struct{ query, body, code string }{
	"stats": {query: "?compare=everything"}, "breakdown": {query: "?by=page"}, "query": {body: `{"metrics":["visits","pageviews"],"date_range":"7d","dimensions":["utm_campaign"],"include":{"comparisons":{"mode":"everything"}}}`},
	"explain": {body: `{"metric":"visits","date_range":"7d"}`}, "reading": {}, "site": {}, "journeys": {query: "?page=/zebra"}, "retention": {}, "funnels": {}, "goals": {},
	"report": {code: "segment_only"}, "vitals": {code: "segment_only"}, "goal-report": {code: "segment_only"}, "filtered": {code: "segment_only"},
	"attribution": {code: "segment_only"}, "realtime": {code: "segment_only"}, "realtime-stream": {code: "segment_only"},
}

// A guest of a segment sees no visit outside it, whatever operation, filter or comparison is asked for.
func TestSharesOfSegments(t *testing.T) {
	h, owner := withSegment(t)
	var share struct{ ID, Token string }
	text := owner.Want(http.StatusCreated, `"segment":{"id":"inside","name":"Inside","filters":["page:is:/inside"]}`, http.MethodPost, "/api/v1/sites/blog/shares", `{"name":"Partner","segment":"INSIDE"}`)
	servertest.Must(t, json.Unmarshal([]byte(text), &share))
	guest := h.Browser()
	guest.Want(http.StatusOK, "blog", http.MethodPost, "/api/v1/shared/"+share.Token, `{}`)
	if text := owner.Want(http.StatusOK, "", http.MethodGet, "/api/v1/sites/blog/breakdown?by=page", ""); !strings.Contains(text, outside) {
		t.Fatalf("the owner does not see what guests must not see: %s", text)
	}
	guest.Want(http.StatusOK, `"segment":"Inside"`, http.MethodGet, "/api/v1/sites/blog", "")
	allowed := 0
	for _, op := range operations(h) {
		if open[op.id] || !strings.HasPrefix(op.path, "/api/v1/sites/blog") {
			continue
		}
		ask, known := asked[op.id]
		status, body := guest.Do(op.method, op.path+ask.query, ask.body)
		switch {
		case strings.Contains(body, outside):
			t.Errorf("%s shows visits outside the segment: %s", op.id, body)
		case ask.code != "" && (status != http.StatusForbidden || !strings.Contains(body, ask.code)):
			t.Errorf("%s: %d %s", op.id, status, body)
		case known && ask.code == "" && status != http.StatusOK && status != http.StatusNotFound:
			t.Errorf("%s: %d %s", op.id, status, body)
		case !known && status != http.StatusForbidden && op.id != "funnel-report":
			t.Errorf("%s is not listed in this test, but a guest may use it: %d %.200s", op.id, status, body)
		case status == http.StatusOK:
			allowed++
		}
	}
	if allowed < 8 {
		t.Errorf("only %d operations are allowed", allowed)
	}
	for _, query := range []string{"", "?compare=everything", "?filter=page:is_not:/nowhere", "?compare=previous&filter=browser:is:Firefox"} {
		guest.Want(http.StatusOK, `"pageViews":2,"visits":1`, http.MethodGet, "/api/v1/sites/blog/stats"+query, "")
	}
	text = guest.Want(http.StatusOK, `"previous":{`, http.MethodGet, "/api/v1/sites/blog/stats?compare=everything&filter=page:is:/nowhere", "")
	if !strings.Contains(text, `"pageViews":2`) || strings.Contains(text, "77") {
		t.Errorf("everything of a guest is not the segment: %s", text)
	}
	guest.Want(http.StatusOK, `"visits":0`, http.MethodGet, "/api/v1/sites/blog/stats?filter=page:is:/zebra", "")
	guest.Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/sites/blog/stats?filter=segment:is:Inside", "")
	guest.Want(http.StatusForbidden, "segment_only", http.MethodGet, "/api/v1/sites/blog/stats?filter=user.did:page:is:/zebra", "")
	guest.Want(http.StatusForbidden, "segment_only", http.MethodGet, "/api/v1/sites/blog/stats?filter=visitor.did_not:page:is:/zebra", "")
	guest.Want(http.StatusForbidden, "segment_only", http.MethodPost, "/api/v1/sites/blog/query", `{"metrics":["visits"],"date_range":"7d","filters":[["is","user.did:page",["/zebra"]]]}`)
	guest.Want(http.StatusOK, `"visits":1`, http.MethodGet, "/api/v1/sites/blog/stats?filter=visit.did:page:is:/other", "")

	owner.Want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/sites/blog/shares/"+share.ID, "")
	guest.Want(http.StatusUnauthorized, "", http.MethodGet, "/api/v1/sites/blog/stats", "")
}

// A person with a role is not restricted by a link that was opened in the same browser; a person
// without one is.
func TestRolesAndSharesOfSegments(t *testing.T) {
	h, _ := withSegment(t)
	_, token, err := h.Accounts.AddShare(t.Context(), accounts.NewShare{Site: "blog", Segment: &accounts.ShareSegment{ID: "inside", Name: "Inside", Filters: []string{"page:is:/inside"}}})
	servertest.Must(t, err)
	for role, visits := range map[accounts.Role]int{accounts.Viewer: 2, "": 1} {
		who := h.NewPerson(fmt.Sprintf("%s@example.com", "p"+string(role)), accounts.Grants{"nothing": accounts.Owner})
		if role != "" {
			who = h.NewPerson("viewer@example.com", accounts.Grants{"blog": role})
		}
		who.Want(http.StatusOK, "", http.MethodPost, "/api/v1/shared/"+token, `{}`)
		who.Want(http.StatusOK, fmt.Sprintf(`"visits":%d`, visits), http.MethodGet, "/api/v1/sites/blog/stats", "")
	}
}

// While a shared link is restricted to a segment, the segment cannot be deleted or get other filters. It
// can be renamed; the link keeps its earlier name.
func TestSegmentsInUse(t *testing.T) {
	_, owner := withSegment(t)
	var share struct{ ID string }
	text := owner.Want(http.StatusCreated, "", http.MethodPost, "/api/v1/sites/blog/shares", `{"name":"Partner","segment":"inside"}`)
	servertest.Must(t, json.Unmarshal([]byte(text), &share))
	const one = "/api/v1/sites/blog/segments/inside"
	owner.Want(http.StatusOK, `"shares":["Partner"]`, http.MethodGet, "/api/v1/sites/blog/segments", "")
	owner.Want(http.StatusConflict, "Partner", http.MethodDelete, one, "")
	owner.Want(http.StatusConflict, "segment_in_use", http.MethodPut, one, `{"name":"Inside","filters":["page:is:/zebra"]}`)
	owner.Want(http.StatusOK, `"name":"Within"`, http.MethodPut, one, `{"name":"Within","description":"New name","filters":["page:is:/inside"]}`)
	owner.Want(http.StatusOK, `"name":"Inside"`, http.MethodGet, "/api/v1/sites/blog/shares", "")
	owner.Want(http.StatusNoContent, "", http.MethodDelete, "/api/v1/sites/blog/shares/"+share.ID, "")
	owner.Want(http.StatusOK, "zebra", http.MethodPut, one, `{"name":"Within","filters":["page:is:/zebra"]}`)
	owner.Want(http.StatusNoContent, "", http.MethodDelete, one, "")
	owner.Want(http.StatusNotFound, "unknown_segment", http.MethodDelete, one, "")
	owner.Want(http.StatusNotFound, "unknown_segment", http.MethodPost, "/api/v1/sites/blog/shares", `{"segment":"inside"}`)
}

// A link to a segment of a public site would only look restricted.
func TestNoSegmentsOfPublicSites(t *testing.T) {
	h, owner := withSegment(t)
	h.Settings(func(s *analytics.Site) { s.Public = true })
	owner.Want(http.StatusConflict, "site_public", http.MethodPost, "/api/v1/sites/blog/shares", `{"segment":"inside"}`)
}
