package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/servertest"
)

func TestDocsLoadNothingExternal(t *testing.T) {
	h := servertest.New(t, nil)
	answer, err := http.Get(h.URL + "/docs")
	servertest.Must(t, err)
	answer.Body.Close()
	if policy := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") {
		t.Errorf("policy %q", policy)
	}
	_, page := h.Get("/docs")
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
	for _, op := range operations(h) {
		if !strings.Contains(page, `id="`+op.id+`"`) {
			t.Errorf("the page lacks %s", op.id)
		}
	}
}
