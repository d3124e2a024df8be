package webanalytics_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

func TestRealtime(t *testing.T) {
	h := servertest.NewWithVisits(t)
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	check := func(text string) {
		t.Helper()
		var got struct {
			Now    int64
			Last30 struct {
				Visitors, PageViews int64
				Minutes             []struct{ PageViews int64 }
			}
			Pages, Sources, Countries []struct {
				Value    string
				Visitors int64
			}
		}
		servertest.Must(t, json.Unmarshal([]byte(text), &got))
		if got.Now != 3 || got.Last30.Visitors != 3 || got.Last30.PageViews != 8 || len(got.Last30.Minutes) != 30 ||
			len(got.Pages) == 0 || len(got.Sources) != 1 || got.Countries[0].Visitors != 3 {
			t.Errorf("%+v", got)
		}
	}
	check(viewer.Want(http.StatusOK, "now", http.MethodGet, "/api/v1/sites/blog/realtime", ""))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL+"/api/v1/sites/blog/realtime/stream", nil)
	servertest.Must(t, err)
	answer, err := viewer.Web.Do(r)
	servertest.Must(t, err)
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("content type %q", kind)
	}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			check(data)
			return
		}
		if event, ok := strings.CutPrefix(lines.Text(), "event: "); ok && event != "realtime" {
			t.Errorf("event %q", event)
		}
	}
	t.Errorf("the stream ended: %v", lines.Err())
}

// Guests of a public page get a limited number of streams, which leaves some for people of other
// sites.
func TestAnonymousStreamsAreLimited(t *testing.T) {
	h := servertest.NewWithVisits(t)
	_, err := analytics.CreateSite(t.Context(), h.Table, analytics.NewSite{ID: "open", TimeZone: "UTC"})
	servertest.Must(t, err)
	_, err = analytics.UpdateSite(t.Context(), h.Table, "open", func(s *analytics.Site) error { s.Public = true; return nil })
	servertest.Must(t, err)
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	stream := func(web *http.Client, site string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/api/v1/sites/"+site+"/realtime/stream", nil)
		servertest.Must(t, err)
		answer, err := web.Do(r)
		servertest.Must(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer.StatusCode
	}
	answers := map[int]int{}
	for range 215 {
		status := stream(http.DefaultClient, "open")
		if answers[status]++; status == http.StatusServiceUnavailable {
			break
		}
	}
	if n := answers[http.StatusOK]; n == 0 || n > 20 || answers[http.StatusServiceUnavailable] != 1 {
		t.Errorf("guests of one network: %v", answers)
	}
	if status := stream(viewer.Web, "blog"); status != http.StatusOK {
		t.Errorf("a person of another site hears %d", status)
	}
}
