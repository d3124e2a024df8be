package notices_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/alerts"
	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/internal/calendar"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/table"
)

const (
	rules   = "/api/v1/sites/blog/alert-rules"
	history = "/api/v1/sites/blog/alerts"
)

// fill writes nine weeks of 50 visitors an hour, until the current hour, which has none.
func fill(t *testing.T, h *servertest.Server) {
	t.Helper()
	now := h.Table.Now().UTC().Truncate(time.Hour)
	for start := now.AddDate(0, 0, -63); start.Before(now); start = start.Add(time.Hour) {
		servertest.Must(t, analytics.StatsItems.Put(t.Context(), h.Table, &analytics.Stats{
			StatsKey:  analytics.StatsKey{SiteID: "blog", Period: analytics.Hour, Start: start.Format(calendar.HourLayout)},
			PageViews: 60, NewVisitors: 50, ActiveVisitors: 50, Visits: 50,
		}))
	}
}

// A person creates a rule, previews others, changes and deletes it. Viewers see and preview rules.
func TestAlertRules(t *testing.T) {
	h, owner, _ := newHouse(t)
	fill(t, h)
	owner.Want(http.StatusOK, `"state":"ok"`, http.MethodPut, rules+"/low", `{"kind":"drop","name":"Low traffic","factor":2}`)
	owner.Want(http.StatusOK, `"state":"off"`, http.MethodPut, rules+"/low", `{"kind":"drop","off":true}`)
	for code, body := range map[string]string{
		"rule_kind": `{"kind":"moon"}`, "rule_factor": `{"kind":"drop","factor":0.5}`, "rule_hours": `{"kind":"drop","hours":2}`, "rule_goal": `{"kind":"goal","goal":"none"}`,
		"rule_channels": `{"kind":"drop","channels":["none"]}`,
	} {
		owner.Want(http.StatusUnprocessableEntity, code, http.MethodPut, rules+"/bad", body)
	}
	owner.Want(http.StatusUnprocessableEntity, "", http.MethodPut, rules+"/bad", `{"kind":"drop","factor":"NaN"}`)
	owner.Want(http.StatusUnprocessableEntity, "", http.MethodPut, rules+"/a.b", `{"kind":"drop"}`)
	list := owner.Want(http.StatusOK, `"id":"low"`, http.MethodGet, rules, "")
	if !strings.Contains(list, `"label":"Goal stopped"`) || strings.Contains(list, `"id":"bad"`) {
		t.Errorf("rules %s", list)
	}
	owner.Want(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/sites/none/alert-rules", "")
	owner.Want(http.StatusNotFound, "not_found", http.MethodGet, "/api/v1/sites/none/alerts", "")

	viewer := h.NewPerson("viewer@example.com", accounts.Grants{"blog": accounts.Viewer})
	viewer.Want(http.StatusOK, `"id":"low"`, http.MethodGet, rules, "")
	viewer.Want(http.StatusForbidden, "forbidden", http.MethodPut, rules+"/low", `{"kind":"drop"}`)
	var seen alerts.Previewed
	servertest.Must(t, json.Unmarshal([]byte(viewer.Want(http.StatusOK, "", http.MethodPost, history+"/preview?days=2", `{"kind":"drop"}`)), &seen))
	if seen.Hours < 47 || len(seen.Alerts) != 0 {
		t.Errorf("preview %+v", seen)
	}
	viewer.Want(http.StatusUnprocessableEntity, "", http.MethodPost, history+"/preview?days=31", `{"kind":"drop"}`)
	viewer.Want(http.StatusUnprocessableEntity, "rule_vital", http.MethodPost, history+"/preview", `{"kind":"vital"}`)
	owner.Want(http.StatusNoContent, "", http.MethodDelete, rules+"/low", "")
	owner.Want(http.StatusNotFound, "not_found", http.MethodDelete, rules+"/low", "")
	audit := owner.Want(http.StatusOK, "alert_rule.put", http.MethodGet, "/api/v1/audit", "")
	if !strings.Contains(audit, "alert_rule.delete") {
		t.Errorf("audit %s", audit)
	}
}

// Traffic stops: the alert is listed, its rule says so, and its message reaches a webhook.
func TestAlertIsDelivered(t *testing.T) {
	h, owner, senders := newHouse(t)
	r := newReceiver(t)
	fill(t, h)
	owner.Want(http.StatusOK, "", http.MethodPut, channels+"/hook", `{"kind":"webhook","url":"`+r.URL+`"}`)
	owner.Want(http.StatusOK, "", http.MethodPut, rules+"/low", `{"kind":"drop"}`)
	later := table.New(h.Table.API(), h.Table.Name(), table.Options{Clock: func() time.Time { return time.Now().Add(75 * time.Minute) }})
	n, err := alerts.Evaluate(t.Context(), later, h.Worker.Drain)
	if servertest.Must(t, err); n != 1 {
		t.Errorf("evaluated %d rules", n)
	}
	owner.Want(http.StatusOK, `"state":"firing"`, http.MethodGet, rules, "")
	owner.Want(http.StatusOK, `"status":"firing"`, http.MethodGet, history, "")
	outbox := notify.NewOutbox(notify.Options{Senders: senders, BaseURL: "https://onefold.example.com", Renders: notify.Renders{"alert": alerts.Render}})
	if n, err := outbox.Deliver(t.Context(), later); n != 1 || err != nil {
		t.Errorf("sent %d: %v", n, err)
	}
	for _, part := range []string{`"event":"alert.firing"`, `"site":"blog"`, `"kind":"drop"`, `"count":0`, `"usual":50`, "No visitors in the hour until"} {
		if !strings.Contains(r.body, part) {
			t.Errorf("received %s without %s", r.body, part)
		}
	}
}
