package webanalytics_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

func TestErasure(t *testing.T) {
	h := servertest.NewWithVisits(t)
	for _, event := range []string{`"url":"/account"`, `"url":"/buy","name":"order"`} {
		if status, body := h.Post("/api/event", `{"site":"blog","userId":"ann-1",`+event+`}`, "User-Agent", servertest.Firefox+"9"); status != http.StatusAccepted || !strings.Contains(body, "stored") {
			t.Fatal(status, body)
		}
	}
	servertest.Must(t, h.Worker.Drain(t.Context()))
	admin := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	const path = "/api/v1/sites/blog/erasure"
	admin.Want(http.StatusOK, `"receipts":[]`, http.MethodGet, path, "")
	admin.Want(http.StatusOK, `"visits":4`, http.MethodGet, "/api/v1/sites/blog/stats", "")
	for _, bad := range []string{`{}`, `{"userId":"a","sessionId":"b"}`} {
		admin.Want(http.StatusUnprocessableEntity, "invalid_request", http.MethodPost, path, bad)
	}
	admin.Want(http.StatusNotFound, "not_found", http.MethodPost, path, `{"userId":"nobody"}`)
	named := reconcile.Differences{Count: 1, List: []reconcile.Difference{{Entity: "analytics.session", Key: "of somebody", Kind: reconcile.Wrong}}}
	servertest.Must(t, reconcile.Keep(t.Context(), h.Table, &reconcile.Verification{SiteKey: analytics.SiteKey{SiteID: "blog"}, At: time.Now(), Found: named}))
	admin.Want(http.StatusOK, `"state":"differs"`, http.MethodGet, "/api/v1/sites/blog/verify", "")
	receipt := admin.Want(http.StatusOK, `"events":2`, http.MethodPost, path, `{"userId":"ann-1"}`)
	if strings.Contains(receipt, "ann-1") {
		t.Errorf("the receipt says who it was: %s", receipt)
	}
	admin.Want(http.StatusOK, `"state":"never"`, http.MethodGet, "/api/v1/sites/blog/verify", "") // it may name the erased person
	servertest.Must(t, h.Worker.Drain(t.Context()))
	admin.Want(http.StatusOK, `"visits":3`, http.MethodGet, "/api/v1/sites/blog/stats", "")
	admin.Want(http.StatusOK, `"events":2`, http.MethodGet, path, "")
	admin.Want(http.StatusNotFound, "not_found", http.MethodPost, path, `{"userId":"ann-1"}`)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	owner.Want(http.StatusOK, `"action":"erasure"`, http.MethodGet, "/api/v1/audit", "")
}
