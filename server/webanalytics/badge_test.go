package webanalytics_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/servertest"
)

func TestBadge(t *testing.T) {
	h := servertest.Visited(t)
	for path, want := range map[string]int{"/badge/blog.svg": 404, "/badge/blog": 404, "/badge/nothing.svg": 404, "/badge/a%23b.svg": 404} {
		if status, body := h.Get(path); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	_, err := analytics.UpdateSite(t.Context(), h.Table, "blog", func(s *analytics.Site) error { s.Public = true; return nil })
	servertest.Must(t, err)
	status, body := h.Get("/badge/blog.svg")
	if status != http.StatusOK || !strings.Contains(body, ">3</text>") {
		t.Errorf("%d %s", status, body)
	}
}
