package webanalytics_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/server/servertest"
)

func TestBadge(t *testing.T) {
	db := enginetest.New(t)
	h := servertest.OnWithVisits(t, db)
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

	// It is counted at most once a minute.
	if status, answer := h.Post("/api/event", `{"site":"blog","url":"https://example.org/"}`, "User-Agent", servertest.Firefox+"9"); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, answer)
	}
	servertest.Must(t, h.Worker.Drain(t.Context()))
	if _, body := h.Get("/badge/blog.svg"); !strings.Contains(body, ">3</text>") {
		t.Errorf("counted again at once: %s", body)
	}
	db.Advance(time.Minute)
	if _, body := h.Get("/badge/blog.svg"); !strings.Contains(body, ">4</text>") {
		t.Errorf("still old after a minute: %s", body)
	}
}

// Badges need no key, so networks are rate-limited.
func TestBadgesAreLimited(t *testing.T) {
	h := servertest.New(t, nil)
	for range 1000 {
		if status, _ := h.Get("/badge/blog.svg"); status == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("1,000 badges were answered to one network at once")
}
