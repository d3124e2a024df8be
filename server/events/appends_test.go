package events_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

const appends = "/api/v1/events/appends"

// Values are unique over HTTP, too, and nobody reads them in an error.
func TestReservations(t *testing.T) {
	s := newShop(t)
	const owner = "/api/v1/events/reservations/owner"
	mail := func(action, value string) string {
		return fmt.Sprintf(`{"events":[{"type":"A"}],"%s":[{"scope":"email","value":"%s"}]}`, action, value)
	}
	s.owner.Want(404, "not_reserved", "POST", owner, `{"scope":"email","value":"ada@example.org"}`)
	s.owner.Want(201, `"version":1`, "POST", orders+"/1/events", mail("reserve", "ada@example.org"))
	s.owner.Want(201, `"version":2`, "POST", orders+"/1/events", mail("reserve", "ada@example.org"))
	refused := s.owner.Want(409, "error:reserved", "POST", orders+"/2/events", mail("reserve", "ada@example.org"))
	if strings.Contains(refused, "ada") {
		t.Errorf("the value is in the response: %s", refused)
	}
	s.owner.Want(200, `"owner":"order/1"`, "POST", owner, `{"scope":"email","value":"ada@example.org"}`)
	s.owner.Want(409, "error:reserved", "POST", orders+"/2/events", mail("release", "ada@example.org"))
	s.owner.Want(201, `"version":3`, "POST", orders+"/1/events", mail("release", "ada@example.org"))
	s.owner.Want(201, `"version":1`, "POST", appends, `{"appends":[{"type":"order","id":"2","events":[{"type":"A"}],"reserve":[{"scope":"email","value":"ada@example.org","subject":"ada"}]}]}`)
	s.owner.Want(200, `"owner":"order/2"`, "POST", owner, `{"scope":"email","value":"ada@example.org"}`)
	for _, bad := range []string{`{}`, `{"scope":"email"}`, `{"scope":"","value":"x"}`, `{"scope":"email","value":"` + strings.Repeat("x", 4097) + `"}`, ``, `[`} {
		if status, answer := s.owner.Do("POST", owner, bad); status/100 != 4 {
			t.Errorf("%s: %d %s", bad, status, answer)
		}
	}
	s.owner.Want(422, "invalid_request", "POST", orders+"/3/events", `{"events":[{"type":"A"}],"reserve":[{"scope":"a#b","value":"x"}]}`)
	web := s.Browser()
	web.Want(403, "forbidden", "POST", owner, `{"scope":"email","value":"ada@example.org"}`, s.keys[accounts.Ingest]...)
	s.stranger.Want(403, "forbidden", "POST", owner, `{"scope":"email","value":"ada@example.org"}`)
}

// Several streams are appended to at once or not at all, and once.
func TestAppendToSeveral(t *testing.T) {
	s := newShop(t)
	part := func(id, expected string) string {
		return fmt.Sprintf(`{"type":"order","id":"%s","expected":%s,"events":[{"type":"Moved"}]}`, id, expected)
	}
	both := func(commit, first, second string) string {
		return fmt.Sprintf(`{"commitId":"%s","appends":[%s,%s]}`, commit, part("1", first), part("2", second))
	}
	s.owner.Want(201, `"again":false,"appends":[{"type":"order","id":"1","first":1,"version":1},{"type":"order","id":"2","first":1,"version":1}]}`, "POST", appends, both("c1", `"none"`, `"none"`))
	s.owner.Want(200, `"again":true,"appends":[{"type":"order","id":"1","first":1,"version":1}`, "POST", appends, both("c1", `"none"`, `"none"`))
	s.owner.Want(409, `"aggregateType":"order","aggregateId":"2","actual":1,`, "POST", appends, both("c2", `1`, `0`))
	s.owner.Want(200, `"version":1`, "GET", orders+"/1", "")
	s.owner.Want(422, "commit_reused", "POST", appends, `{"commitId":"c1","appends":[`+part("1", `"any"`)+`]}`)
	s.owner.Want(422, "invalid_request", "POST", appends, `{"commitId":"c3","appends":[`+part("1", `"any"`)+`]}`, "Idempotency-Key", "c4")
	s.owner.Want(201, `"commit":"c5"`, "POST", appends, `{"appends":[`+part("1", `"exists"`)+`]}`, "Idempotency-Key", "c5")
	for _, bad := range []string{
		`{}`, `{"appends":[]}`, `{"appends":[` + part("1", `-1`) + `]}`, `{"appends":[` + part("1", `"maybe"`) + `]}`, `{"appends":[` + part("a#b", `0`) + `]}`,
		`{"appends":[` + part("1", `"any"`) + `,` + part("1", `"any"`) + `]}`, `{"appends":[{"type":"order","id":"1","events":[]}]}`, `{"commitId":"#","appends":[` + part("1", `"any"`) + `]}`,
		`{"appends":[` + strings.TrimSuffix(strings.Repeat(part("1", `"any"`)+",", 50), ",") + `]}`, `{"appends":[{"type":"order","id":"1","events":[{"type":"A","tags":["x","x"]}]}]}`,
	} {
		s.owner.Want(422, "error:", "POST", appends, bad)
	}
	web := s.Browser()
	web.Want(403, "forbidden", "POST", appends, both("c9", `"any"`, `"any"`), s.keys[accounts.Read]...)
	s.stranger.Want(403, "forbidden", "POST", appends, both("c9", `"any"`, `"any"`))
	s.owner.Want(201, `"again":false`, "POST", appends, both("c9", `"any"`, `"any"`))
}

// A decision over a query is refused if events that match it came in the meantime.
func TestQueriesOverHTTP(t *testing.T) {
	s := newShop(t)
	const query = "/api/v1/events/query"
	ask := func(after string, want ...string) string {
		t.Helper()
		answer := s.owner.Want(200, `"position":"`, "POST", query, `{"query":[{"types":["Enrolled"],"tags":["course:1"]}],"after":"`+after+`"}`)
		var told struct {
			Events []struct {
				AggregateID string
				Tags        []string
			}
			Position string
		}
		servertest.Must(t, json.Unmarshal([]byte(answer), &told))
		var have []string
		for _, e := range told.Events {
			have = append(have, e.AggregateID+" "+strings.Join(e.Tags, " "))
		}
		if fmt.Sprint(have) != fmt.Sprint(want) {
			t.Errorf("events %q, want %q", have, want)
		}
		return told.Position
	}
	enroll := func(student, after string) string {
		return fmt.Sprintf(`{"events":[{"type":"Enrolled","tags":["course:1","student:%s"]}],"unless":{"query":[{"types":["Enrolled"],"tags":["course:1"]}],"after":"%s"}}`, student, after)
	}
	at := ask("")
	s.owner.Want(201, `"version":1`, "POST", orders+"/c1/events", enroll("7", at))
	refused := s.owner.Want(409, "error:query_conflict", "POST", orders+"/c2/events", enroll("8", at))
	var conflict struct{ Position string }
	servertest.Must(t, json.Unmarshal([]byte(refused), &conflict))
	if !strings.Contains(refused, `"since":[{"aggregateType":"order","aggregateId":"c1",`) {
		t.Errorf("the conflict is %s", refused)
	}
	s.owner.Want(404, "", "GET", orders+"/c2", "")
	s.owner.Want(201, `"version":1`, "POST", orders+"/c2/events", enroll("8", conflict.Position))
	s.owner.Want(409, "error:query_conflict", "POST", appends, `{"appends":[{"type":"order","id":"c3","events":[{"type":"A"}]}],"unless":{"query":[{"tags":["student:8"]}]}}`)
	s.owner.Want(201, `"version":1`, "POST", appends, `{"appends":[{"type":"order","id":"c3","events":[{"type":"A"}]}],"unless":{"query":[{"tags":["student:9"]}]}}`)
	ask(at, "c1 course:1 student:7", "c2 course:1 student:8")
	ask(conflict.Position, "c2 course:1 student:8")
	for _, bad := range []string{`{}`, `{"query":[]}`, `{"query":[{"tags":[]}]}`, `{"query":[{"tags":["a#b"]}]}`, `{"query":[{"tags":["a"]}],"after":"x"}`, `{"query":[{"tags":["a"]}],"after":"` + at + `"}`} {
		s.owner.Want(422, "error:", "POST", query, bad)
	}
	s.Browser().Want(403, "forbidden", "POST", query, `{"query":[{"tags":["a"]}]}`, s.keys[accounts.Ingest]...)
	s.stranger.Want(403, "forbidden", "POST", query, `{"query":[{"tags":["a"]}]}`)
}
