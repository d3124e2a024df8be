package events_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// listed reads a list of aggregates to its end and returns their IDs.
func (s *shop) listed(query string) (ids []string, pages int) {
	s.Helper()
	for cursor := ""; ; {
		var page struct {
			Aggregates []struct{ ID string }
			Cursor     string
		}
		servertest.Must(s.T, json.Unmarshal([]byte(s.owner.Want(200, "", "GET", "/api/v1/events/aggregates?type=order&"+query+"&cursor="+url.QueryEscape(cursor), "")), &page))
		for _, a := range page.Aggregates {
			ids = append(ids, a.ID)
		}
		if pages++; page.Cursor == "" {
			return ids, pages
		}
		cursor = page.Cursor
	}
}

// The list of aggregates is sorted, filtered and paged by the server.
func TestListOfAggregates(t *testing.T) {
	s := newShop(t)
	const path = "/api/v1/events/aggregates?type=order"
	s.owner.Want(200, `{"aggregates":[],"scanned":0}`, "GET", path, "")
	s.owner.Want(200, `{"aggregates":[],"scanned":0}`, "GET", path+"&sort=-updated&state=closed&prefix=x", "")
	for i := range 30 {
		s.append(fmt.Sprintf("a%%2F%02d", i), some(1+i%7))
	}
	s.append("b", some(9))
	s.append("a", some(1))
	for _, id := range []string{"a%2F03", "a%2F17"} {
		s.owner.Want(204, "", "POST", orders+"/"+id+"/close", "")
	}
	s.owner.Want(204, "", "DELETE", orders+"/a%2F09", "")
	var named []string
	for i := range 30 {
		named = append(named, fmt.Sprintf("a/%02d", i))
	}
	backwards := slices.Clone(named)
	slices.Reverse(backwards)
	for query, want := range map[string][]string{
		"limit=7":                              slices.Concat([]string{"a"}, named, []string{"b"}),
		"limit=7&sort=-id":                     slices.Concat([]string{"b"}, backwards, []string{"a"}),
		"prefix=a/&limit=4":                    named,
		"prefix=a/&limit=4&sort=-id":           backwards,
		"prefix=a/0&limit=3":                   named[:10],
		"prefix=A":                             nil,
		"prefix=a/07":                          {"a/07"},
		"state=closed&limit=1":                 {"a/03", "a/17"},
		"state=closed&limit=1&sort=-id":        {"a/17", "a/03"},
		"state=deleted":                        {"a/09"},
		"prefix=a/1&state=closed&sort=-events": {"a/17"},
		"sort=-events&prefix=a/2&limit=2":      {"a/20", "a/27", "a/26", "a/25", "a/24", "a/23", "a/22", "a/29", "a/21", "a/28"},
		"sort=events&prefix=a/2&limit=100":     {"a/21", "a/28", "a/22", "a/29", "a/23", "a/24", "a/25", "a/26", "a/20", "a/27"},
	} {
		if have, _ := s.listed(query); !slices.Equal(have, want) {
			t.Errorf("%s: %v, want %v", query, have, want)
		}
	}
	for query, sign := range map[string]int{"sort=updated&limit=1000": +1, "sort=-updated&limit=1000": -1} {
		var page struct {
			Aggregates []struct{ Updated time.Time }
		}
		servertest.Must(t, json.Unmarshal([]byte(s.owner.Want(200, `"scanned":32`, "GET", path+"&"+query, "")), &page))
		if !slices.IsSortedFunc(page.Aggregates, func(a, b struct{ Updated time.Time }) int { return sign * a.Updated.Compare(b.Updated) }) || len(page.Aggregates) != 32 {
			t.Errorf("%s: %v", query, page)
		}
	}
	if all, _ := s.listed("state=open&limit=5"); len(all) != 29 {
		t.Errorf("open: %v", all)
	}
	if _, pages := s.listed("limit=10"); pages != 4 {
		t.Errorf("%d pages of 32 aggregates", pages)
	}
	for _, bad := range []string{"sort=name", "state=gone", "prefix=%23", "limit=0", "limit=1001", "cursor=x", "cursor=x&sort=events", "prefix=" + strings.Repeat("x", 257)} {
		s.owner.Want(422, "urn:onefold:error:", "GET", path+"&"+bad, "")
	}
	s.stranger.Want(403, "forbidden", "GET", path+"&sort=events", "")
}

// Lists of many aggregates read a bounded number of them for a page, and say so.
func TestListOfManyAggregates(t *testing.T) {
	s := newShop(t)
	const n = maxSorted + 100
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		id := fmt.Sprintf("%05d", i)
		h := eventstore.Head{ID: eventstore.ID{Type: "order", ID: id}, Version: int64(i + 1), CreatedAt: at, UpdatedAt: at.Add(time.Duration(i) * time.Second)}
		if i == n-1 {
			h.State = eventstore.Closed
		}
		servertest.Must(t, eventstore.Heads.Put(t.Context(), s.Table, &h))
		servertest.Must(t, eventstore.ListOf.Put(t.Context(), s.Table, &eventstore.Listed{ListedKey: eventstore.ListKey(h.ID), CreatedAt: at}))
	}
	const path = "/api/v1/events/aggregates?type=order"
	s.owner.Want(200, `"scanned":5000,"partial":true}`, "GET", path+"&sort=-events&limit=1", "")
	s.owner.Want(200, `{"aggregates":[{"type":"order","id":"04999",`, "GET", path+"&sort=-events&limit=1", "")
	s.owner.Want(200, `"scanned":100}`, "GET", path+"&sort=-updated&prefix=050&limit=1", "")
	s.owner.Want(200, `{"aggregates":[],"cursor":"`, "GET", path+"&state=closed", "")
	s.owner.Want(200, `"scanned":2000}`, "GET", path+"&state=closed", "")
	for query, want := range map[string]int{"sort=events&limit=1000": maxSorted, "sort=-id&limit=1000": n, "state=closed&limit=1000": 1, "state=open&limit=1000": n - 1} {
		if have, _ := s.listed(query); len(have) != want {
			t.Errorf("%s: %d aggregates, want %d", query, len(have), want)
		}
	}
}

const maxSorted = 5000

// Appends are counted when they enter the feed.
func TestActivity(t *testing.T) { inEveryShop(t, testActivity) }

func testActivity(s *shop) {
	t := s.T
	const path = "/api/v1/events/feed/activity"
	type activity struct {
		Step    int64
		Appends []int64
		Through int64
	}
	counted := func(query string) (a activity, total int64) {
		t.Helper()
		servertest.Must(t, json.Unmarshal([]byte(s.owner.Want(200, `"from":"`, "GET", path+query, "")), &a))
		for _, n := range a.Appends {
			total += n
		}
		return a, total
	}
	for query, want := range map[string]activity{"": {Step: 3600, Appends: make([]int64, 24)}, "?range=7d": {Step: 6 * 3600, Appends: make([]int64, 28)}} {
		if have, _ := counted(query); have.Step != want.Step || !slices.Equal(have.Appends, want.Appends) || have.Through != 0 {
			t.Errorf("empty: %+v", have)
		}
	}
	s.owner.Want(200, `"position":0`, "GET", "/api/v1/events/feed/head", "")
	for i := range 12 {
		s.append(fmt.Sprint(i%3), some(2))
	}
	servertest.Must(t, s.Worker.Drain(t.Context()))
	for range 2 { // the second time from memory
		for _, query := range []string{"?range=24h", "?range=7d"} {
			if have, total := counted(query); total != 12 || have.Through != 12 {
				t.Errorf("%s: %+v", query, have)
			}
		}
	}
	s.owner.Want(200, `"lagSeconds":`, "GET", "/api/v1/events/feed/head", "")
	for _, bad := range []string{"?range=1y", "?range=24h%00"} {
		s.owner.Want(422, "invalid_request", "GET", path+bad, "")
	}
	s.Browser().Want(200, "appends", "GET", path, "", s.keys[accounts.Read]...)
	s.Browser().Want(403, "forbidden", "GET", path, "", s.keys[accounts.Ingest]...)
	s.stranger.Want(403, "forbidden", "GET", path, "")
}

// Events with a correlation ID are found in bounded parts of the feed.
func TestCorrelated(t *testing.T) { inEveryShop(t, testCorrelated) }

func testCorrelated(s *shop) {
	t := s.T
	const path = "/api/v1/events/correlated?id="
	s.owner.Want(200, `{"events":[],"from":1,"to":0,"end":0}`, "GET", path+"c", "")
	s.append("first", `{"events":[{"type":"Asked","correlationId":"c"},{"type":"Other"}]}`)
	for i := range 620 {
		if i == 300 {
			s.append("middle", `{"events":[{"type":"Answered","correlationId":"c","causationId":"x"}]}`)
		}
		s.append(fmt.Sprint("filler", i%40), `{"events":[{"type":"Counted"}]}`)
	}
	s.append("last", `{"events":[{"type":"Settled","correlationId":"c"},{"type":"Filed","causationId":"c"}]}`)
	servertest.Must(t, s.Worker.Drain(t.Context()))
	type part struct {
		Events []struct {
			Position   int64
			ID, Type   string
			RecordedAt string
		}
		From, To, End int64
	}
	ask := func(query string) (p part, types string) {
		t.Helper()
		servertest.Must(t, json.Unmarshal([]byte(s.owner.Want(200, "", "GET", path+query, "")), &p))
		for _, e := range p.Events {
			types += e.Type + " "
		}
		return p, strings.TrimSpace(types)
	}
	latest, types := ask("c")
	if latest.From != 124 || latest.To != 623 || latest.End != 623 || types != "Answered Settled Filed" {
		t.Errorf("latest: %+v", latest)
	}
	earlier, types := ask(fmt.Sprint("c&before=", latest.From))
	if earlier.From != 1 || earlier.To != 123 || types != "Asked" {
		t.Errorf("earlier: %+v", earlier)
	}
	if later, types := ask("c&after=123"); later.From != 124 || later.To != 623 || types != "Answered Settled Filed" {
		t.Errorf("later: %+v", later)
	}
	if p, types := ask("c&before=1"); p.From != 1 || p.To != 0 || types != "" {
		t.Errorf("before the beginning: %+v", p)
	}
	if p, types := ask("c&after=9999"); p.From != 624 || p.To != 623 || types != "" {
		t.Errorf("after the end: %+v", p)
	}
	if p, types := ask("c&around=" + url.QueryEscape(earlier.Events[0].RecordedAt)); p.From != 1 || types != "Asked" && !strings.HasPrefix(types, "Asked ") {
		t.Errorf("around the first: %+v", p)
	}
	if _, types := ask(latest.Events[1].ID); types != "Settled" {
		t.Errorf("by the ID of an event: %s", types)
	}
	for _, bad := range []string{"c&before=0", "c&before=2&after=1", "c&around=now", "c&after=x", "", strings.Repeat("x", 1025)} {
		s.owner.Want(422, "invalid_request", "GET", path+bad, "")
	}
	s.Browser().Want(403, "forbidden", "GET", path+"c", "", s.keys[accounts.Ingest]...)
	s.stranger.Want(403, "forbidden", "GET", path+"c", "")
}

// Appends whose events were truncated are skipped and counted.
func TestCorrelatedSkipsTruncated(t *testing.T) {
	s := newShop(t)
	s.append("gone", `{"events":[{"type":"A","correlationId":"c"}]}`)
	s.append("gone", `{"events":[{"type":"B","correlationId":"c"}]}`)
	s.append("kept", `{"events":[{"type":"C","correlationId":"c"}]}`)
	servertest.Must(t, s.Worker.Drain(t.Context()))
	gone := eventstore.ID{Type: "order", ID: "gone"}
	_, err := eventstore.Heads.Modify(t.Context(), s.Table, gone, func(h *eventstore.Head) error {
		h.First, h.FirstKept, h.Records = 2, 2, h.Records[1:]
		return nil
	})
	servertest.Must(t, err)
	s.owner.Want(200, `"skipped":1`, "GET", "/api/v1/events/correlated?id=c", "")
}
