package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
)

func TestDocsLoadNothing(t *testing.T) {
	h := newHouse(t, nil)
	answer, err := http.Get(h.url + "/docs")
	must(t, err)
	answer.Body.Close()
	if policy := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") {
		t.Errorf("policy %q", policy)
	}
	_, page := h.get("/docs")
	style := page[strings.Index(page, "<style>")+len("<style>") : strings.Index(page, "</style>")]
	sum := sha256.Sum256([]byte(style))
	if hash := base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(answer.Header.Get("Content-Security-Policy"), hash) {
		t.Error("the policy does not let the page's own style in")
	}
	for _, bad := range []string{"<script", "<link", "<img", "http://", "https://unpkg", "@import"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, op := range h.operations() {
		if !strings.Contains(page, `id="`+op.id+`"`) {
			t.Errorf("the page lacks %s", op.id)
		}
	}
}

func TestBadge(t *testing.T) {
	h := visitedHouse(t)
	for path, want := range map[string]int{"/badge/blog.svg": 404, "/badge/blog": 404, "/badge/nothing.svg": 404, "/badge/a%23b.svg": 404} {
		if status, body := h.get(path); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	_, err := analytics.UpdateSite(t.Context(), h.table, "blog", func(s *analytics.Site) error { s.Public = true; return nil })
	must(t, err)
	status, body := h.get("/badge/blog.svg")
	if status != http.StatusOK || !strings.Contains(body, ">3</text>") {
		t.Errorf("%d %s", status, body)
	}
}
