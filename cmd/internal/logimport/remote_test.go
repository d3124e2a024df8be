package logimport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
)

// A busy server is asked again after the delay that it requests. A rejection is final.
func TestRemoteAsksAgain(t *testing.T) {
	const problem = `{"type":"urn:onefold:error:%s","detail":"because"}`
	for _, c := range []struct {
		answers []string // status and body in turn; the last one repeats
		says    string
		waits   string
	}{
		{[]string{"202 ok"}, "<nil>", "[]"},
		{[]string{"503 busy", "429 slow", "202 ok"}, "<nil>", "[250ms 7s]"},
		{[]string{"403 " + fmt.Sprintf(problem, "forbidden")}, "forbidden: because", "[]"},
		{[]string{"404 page"}, "server: unexpected response 404 Not Found; is this server onefold?", "[]"},
		{[]string{"301 page"}, "server: unexpected response 301 Moved Permanently; is this server onefold?", "[]"},
		{[]string{"202 {}"}, "server: 0 outcomes for 2 events", ""},
		{[]string{"500 " + fmt.Sprintf(problem, "internal")}, "internal: because", "[250ms 500ms 1s 2s 4s 8s 16s 30s 30s]"},
	} {
		asked := 0
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var status int
			answer := c.answers[min(asked, len(c.answers)-1)]
			asked++
			code, body, _ := strings.Cut(answer, " ")
			if _, err := fmt.Sscan(code, &status); err != nil {
				t.Error(err)
			}
			if body == "slow" {
				w.Header().Set("Retry-After", "7")
			}
			var in struct{ Events []struct{ ID string } }
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("Authorization") != "Bearer k" || r.URL.Path != "/api/v1/sites/s/import" {
				t.Errorf("%v %s %v", err, r.URL, r.Header)
			}
			if body == "ok" {
				body = `{"outcomes":[{"id":"` + in.Events[0].ID + `","status":"stored"},{"status":"duplicate"}]}`
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		remote, err := NewRemote(web.URL+"/", "k")
		must(t, err)
		var waits []time.Duration
		remote.Wait = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
		outcomes, err := remote.Ingest(t.Context(), "s", []analytics.Hit{{EventID: "e1", URL: "/"}, {EventID: "e2", URL: "/"}})
		web.Close()
		if fmt.Sprint(err) != c.says || c.waits != "" && fmt.Sprint(waits) != c.waits {
			t.Errorf("%q: %v after waiting %v; want %s, %s", c.answers, err, waits, c.says, c.waits)
		}
		if err == nil && (len(outcomes) != 2 || outcomes[0].EventID != "e1") {
			t.Errorf("%+v", outcomes)
		}
	}
}

// Too many events for one request are sent in several.
func TestRemoteSendsNoMoreThanTheServerTakes(t *testing.T) {
	events := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Events []struct{ URL string } }
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in); err != nil {
			t.Error(err)
		}
		events += len(in.Events)
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"outcomes":[%s]}`, strings.TrimSuffix(strings.Repeat(`{"status":"stored"},`, len(in.Events)), ","))
	}))
	defer web.Close()
	remote, err := NewRemote(web.URL, "k")
	must(t, err)
	hits := make([]analytics.Hit, hitsOfBatch)
	for i := range hits {
		hits[i] = analytics.Hit{URL: "/" + strings.Repeat("\x01ä", 20_000)}
	}
	outcomes, err := remote.Ingest(t.Context(), "s", hits)
	if err != nil || len(outcomes) != len(hits) || events != len(hits) {
		t.Errorf("%d outcomes of %d events, %v", len(outcomes), events, err)
	}
	for _, address := range []string{"", "stats.example.org", "ftp://x", "http://", "://"} {
		if _, err := NewRemote(address, "k"); err == nil || !strings.Contains(err.Error(), "bad_server") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestCode(t *testing.T) {
	closed := Refused(http.StatusConflict, []byte(`{"type":"urn:onefold:error:stream_closed","detail":"The stream is closed."}`))
	if closed.Error() != "stream_closed: The stream is closed." {
		t.Errorf("%q", closed)
	}
	for want, err := range map[string]error{"stream_closed": fmt.Errorf("line 3: %w", closed), "": errors.New("stream_closed: only a text")} {
		if got := Code(err); got != want {
			t.Errorf("the code of %q is %q, want %q", err, got, want)
		}
	}
	if err := Refused(http.StatusBadGateway, []byte("<html>")); Code(err) != "" {
		t.Errorf("the code of %q is %q", err, Code(err))
	}
}
