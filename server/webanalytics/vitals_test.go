package webanalytics_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

func TestVitals(t *testing.T) {
	h := servertest.NewWithVisits(t)
	viewer := h.NewPerson("ann@example.com", accounts.Grants{"blog": accounts.Viewer})
	viewer.Want(http.StatusOK, `"pages":[]`, http.MethodGet, "/api/v1/sites/blog/vitals", "")
	for i, lcp := range []int{1200, 1800, 2400, 6000} {
		body := fmt.Sprintf(`{"site":"blog","name":"vitals","url":"https://example.org/%d","lcp":%d,"inp":90,"cls":0}`, i%2, lcp)
		if status, answer := h.Post("/api/event", body); status != http.StatusAccepted {
			t.Fatalf("%d %s", status, answer)
		}
	}
	if status, _ := h.Post("/api/event", `{"site":"blog","name":"vitals","url":"https://example.org/","lcp":"fast"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("vitals that are no numbers: %d", status)
	}
	servertest.Must(t, h.Worker.Drain(t.Context()))
	text := viewer.Want(http.StatusOK, `"rating":"good"`, http.MethodGet, "/api/v1/sites/blog/vitals?compare=previous&limit=1", "")
	type vital struct {
		P75, Good, Poor float64
		Rating          string
		Loads           int
	}
	type row struct {
		Value         string
		Loads         int
		LCP, INP, CLS *vital
	}
	var got struct {
		Total          row
		Pages, Devices []row
		Found          int
		Previous       *row
	}
	servertest.Must(t, json.Unmarshal([]byte(text), &got))
	if got.Total.Loads != 4 || *got.Total.CLS != (vital{Good: 1, Rating: "good", Loads: 4}) {
		t.Errorf("total %+v %+v", got.Total, got.Total.CLS)
	}
	if lcp := got.Total.LCP; lcp.P75 < 2300 || lcp.P75 > 2500 || lcp.Good != 0.75 || lcp.Poor != 0.25 {
		t.Errorf("LCP %+v", lcp)
	}
	if len(got.Pages) != 1 || got.Pages[0].Value != "/0" || got.Found != 2 || len(got.Devices) != 1 || got.Devices[0].Value != "desktop" {
		t.Errorf("pages %+v of %d, devices %+v", got.Pages, got.Found, got.Devices)
	}
	if got.Previous == nil || got.Previous.Loads != 0 || got.Previous.LCP != nil {
		t.Errorf("previous %+v", got.Previous)
	}
	viewer.Want(http.StatusOK, `"value":"/1"`, http.MethodGet, "/api/v1/sites/blog/vitals?search=1", "")
	viewer.Want(http.StatusUnprocessableEntity, "bad_range", http.MethodGet, "/api/v1/sites/blog/vitals?from=2026-13-01&to=2026-01-01", "")
	viewer.Want(http.StatusBadRequest, "unknown_parameter", http.MethodGet, "/api/v1/sites/blog/vitals?filter=page:is:/", "")
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodGet, "/api/v1/sites/other/vitals", "")
	viewer.Want(http.StatusUnprocessableEntity, "bad_range", http.MethodGet, "/api/v1/sites/blog/breakdown?by=vitals:page", "")
}
