package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/accounts"
)

func TestErasure(t *testing.T) {
	h := visitedHouse(t)
	for _, event := range []string{`"url":"/account"`, `"url":"/buy","name":"order"`} {
		if status, body := h.post("/api/event", `{"site":"blog","userId":"ann-1",`+event+`}`, "User-Agent", firefox+"9"); status != http.StatusAccepted || !strings.Contains(body, "stored") {
			t.Fatal(status, body)
		}
	}
	must(t, h.worker.Drain(t.Context()))
	admin := h.newPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	const path = "/api/v1/sites/blog/erasure"
	admin.want(http.StatusOK, `"receipts":[]`, http.MethodGet, path, "")
	admin.want(http.StatusOK, `"visits":4`, http.MethodGet, "/api/v1/sites/blog/stats", "")
	for _, bad := range []string{`{}`, `{"userId":"a","sessionId":"b"}`} {
		admin.want(http.StatusUnprocessableEntity, "invalid_request", http.MethodPost, path, bad)
	}
	admin.want(http.StatusNotFound, "not_found", http.MethodPost, path, `{"userId":"nobody"}`)
	receipt := admin.want(http.StatusOK, `"events":2`, http.MethodPost, path, `{"userId":"ann-1"}`)
	if strings.Contains(receipt, "ann-1") {
		t.Errorf("the receipt says who it was: %s", receipt)
	}
	must(t, h.worker.Drain(t.Context()))
	admin.want(http.StatusOK, `"visits":3`, http.MethodGet, "/api/v1/sites/blog/stats", "")
	admin.want(http.StatusOK, `"events":2`, http.MethodGet, path, "")
	admin.want(http.StatusNotFound, "not_found", http.MethodPost, path, `{"userId":"ann-1"}`)
}
