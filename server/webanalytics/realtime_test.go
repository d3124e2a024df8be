package webanalytics_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/server/servertest"
)

func TestRealtime(t *testing.T) {
	h := servertest.Visited(t)
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
