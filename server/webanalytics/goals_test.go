package webanalytics_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

func TestGoals(t *testing.T) {
	h := servertest.New(t, nil)
	admin := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Admin})
	const list = "/api/v1/sites/blog/goals"
	admin.Want(http.StatusOK, `"goals":[]`, http.MethodGet, list, "")
	var made struct{ ID string }
	servertest.Must(t, json.Unmarshal([]byte(admin.Want(http.StatusCreated, `"counting":"session"`, http.MethodPost, list, `{"name":"Bought","event":"order"}`)), &made))
	admin.Want(http.StatusCreated, `"pathKind":"wildcard"`, http.MethodPost, list, `{"id":"docs","name":"Read the docs","path":"/docs/**"}`)
	admin.Want(http.StatusConflict, "exists", http.MethodPost, list, `{"id":"docs","name":"Again","path":"/docs/**"}`)
	for _, bad := range []string{`{"name":"x"}`, `{"name":"x","path":"(","pathKind":"regexp"}`, `{"name":"x","path":"/a","event":"b"}`, `{"id":"a#b","name":"x","event":"b"}`} {
		admin.Want(http.StatusUnprocessableEntity, "bad_goal", http.MethodPost, list, bad)
	}
	for _, event := range []string{`"url":"/docs/a"`, `"url":"/"`, `"url":"/","name":"order","revenue":"9.50"`, `"url":"/","name":"order","revenue":"1"`} {
		if status, body := h.Post("/api/event", `{"site":"blog",`+event+`}`); status != http.StatusAccepted || !strings.Contains(body, "stored") {
			t.Fatal(status, body)
		}
	}
	servertest.Must(t, h.Worker.Drain(t.Context()))
	text := admin.Want(http.StatusOK, `"from"`, http.MethodGet, list+"/report", "")
	var report struct {
		Goals []struct {
			ID, Revenue         string
			Conversions, Visits int64
			Rate                float64
		}
	}
	servertest.Must(t, json.Unmarshal([]byte(text), &report))
	for _, g := range report.Goals {
		if g.Conversions != 1 || g.Visits != 1 || g.Rate != 1 || g.ID == made.ID && g.Revenue == "0" {
			t.Errorf("%+v", g)
		}
	}
	if len(report.Goals) != 2 {
		t.Error(text)
	}
	admin.Want(http.StatusOK, `"conversions":2`, http.MethodGet, "/api/v1/sites/blog/stats", "")
	admin.Want(http.StatusOK, `"every"`, http.MethodPut, list+"/"+made.ID, `{"name":"Bought","event":"order","counting":"every"}`)
	admin.Want(http.StatusNotFound, "not_found", http.MethodPut, list+"/nothing", `{"name":"Bought","event":"order"}`)
	admin.Want(http.StatusNoContent, "", http.MethodDelete, list+"/docs", "")
	admin.Want(http.StatusNotFound, "not_found", http.MethodDelete, list+"/docs", "")
	if text := admin.Want(http.StatusOK, made.ID, http.MethodGet, list, ""); strings.Contains(text, "docs") {
		t.Error(text)
	}
	admin.Want(http.StatusForbidden, "forbidden", http.MethodPost, "/api/v1/sites/other/goals", `{"name":"x","event":"y"}`)
}
