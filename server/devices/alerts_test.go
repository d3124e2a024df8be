package devices_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

const rulePath = plantPath + "/rules/device/d1/hot"

// sends sends a temperature of a device measured at a time, and folds.
func (w *works) sends(device string, at time.Time, t string) {
	w.Helper()
	if status, answer := w.Post("/api/readings", fmt.Sprintf(`{"at":%d,"values":{"t":%s}}`, at.UnixMilli(), t), bearer(w.tokens[device])...); status != 202 || !strings.Contains(answer, `"stored"`) && !strings.Contains(answer, `"late"`) {
		w.Fatalf("%d %s", status, answer)
	}
	servertest.Must(w.T, w.Worker.Drain(w.Context()))
}

// first returns the ID of the first alert of a list.
func (w *works) first(list string) string {
	w.Helper()
	var page struct{ Alerts []struct{ ID string } }
	servertest.Must(w.T, json.Unmarshal([]byte(list), &page))
	if len(page.Alerts) == 0 {
		w.Fatalf("no alerts: %s", list)
	}
	return page.Alerts[0].ID
}

// Late readings withdraw an alert. Lists can leave it out, or have nothing else.
func TestWithdrawnAlertsAreListedApart(t *testing.T) {
	w := newWorks(t)
	start := time.Now().Add(-time.Hour)
	w.owner.Want(200, `"id":"hot"`, "PUT", rulePath, `{"metric":"t","raise":"80","clear":"75","for":600,"severity":"critical"}`)
	w.sends("d1", start, "81")
	w.sends("d1", start.Add(10*time.Minute), "82")
	w.sends("d1", start.Add(5*time.Minute), "70") // late: it was not hot for ten minutes
	w.sends("d1", start.Add(21*time.Minute), "83")
	for query, want := range map[string][2]int{ // withdrawn alerts, others
		"?state=all": {1, 1}, "?state=all&withdrawn=include": {1, 1}, "?state=all&withdrawn=exclude": {0, 1}, "?state=all&withdrawn=only": {1, 0}, "?withdrawn=only": {0, 0}, "": {0, 1},
		"?state=all&withdrawn=only&device=d1": {1, 0}, "?state=all&withdrawn=exclude&device=d1&severity=info": {0, 0},
	} {
		var page struct{ Alerts []struct{ Withdrawn bool } }
		servertest.Must(t, json.Unmarshal([]byte(w.owner.Want(200, `"alerts":[`, "GET", plantPath+"/alerts"+query, "")), &page))
		var got [2]int
		for _, a := range page.Alerts {
			if a.Withdrawn {
				got[0]++
			} else {
				got[1]++
			}
		}
		if got != want {
			t.Errorf("alerts%s: withdrawn and others %v, want %v", query, got, want)
		}
	}
	w.owner.Want(422, "withdrawn", "GET", plantPath+"/alerts?withdrawn=maybe", "")
}

// A rule is created, a device sends, people are notified and acknowledge the alert, and it ends.
func TestAlertLifecycle(t *testing.T) {
	w := newWorks(t)
	o, start := w.owner, time.Now().Add(-time.Hour)
	secret := field(t, o.Want(200, `"kind":"webhook"`, "PUT", plantPath+"/channels/ops", `{"kind":"webhook","url":"https://example.org/hook?key=7"}`), "secret")
	if !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("secret %q", secret)
	}
	o.Want(200, `{"id":"hot","scope":"device","scopeId":"d1","name":"Too hot","metric":"t","raise":"80","clear":"75","for":600,"severity":"critical","version":1}`,
		"PUT", rulePath, `{"name":"Too hot","metric":"t","raise":"80","clear":"75","for":600,"severity":"critical"}`)
	w.sends("d1", start, "81.5")
	o.Want(200, `"pending":[{"rule":"hot","since":"`, "GET", plantPath+"/devices/d1/pending", "")
	o.Want(200, `"alerts":[]`, "GET", plantPath+"/alerts", "")
	w.sends("d1", start.Add(10*time.Minute), "86.25")
	o.Want(200, `"pending":[]`, "GET", plantPath+"/devices/d1/pending", "")
	list := o.Want(200, `"ruleName":"Too hot","metric":"t","severity":"critical","state":"firing"`, "GET", plantPath+"/alerts", "")
	one := plantPath + "/devices/d1/alerts/" + w.first(list)
	o.Want(200, `"value":"86.25","peak":"86.25"`, "GET", one, "")
	o.Want(200, `"ackedBy":"owner@example.org"`, "POST", one+"/ack", `{}`)
	key, token, err := w.Accounts.AddKey(t.Context(), accounts.NewKey{Name: "console", Site: accounts.OfFleet("plant"), Scope: accounts.Write})
	servertest.Must(t, err)
	w.Post(one+"/comments", `{"text":"seen"}`, bearer(token)...)
	o.Want(200, `"by":"key console"`, "GET", one, "")
	servertest.Must(t, w.Accounts.RevokeKey(t.Context(), key.KeyID))
	o.Want(200, `"by":"a revoked key"`, "GET", one, "")
	o.Want(422, "bad_snooze", "POST", one+"/snooze", `{"until":"2020-01-01T00:00:00Z"}`)
	o.Want(200, `"snoozedUntil":"`, "POST", one+"/snooze", fmt.Sprintf(`{"until":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339)))
	if answer := o.Want(200, "", "POST", one+"/snooze", `{}`); strings.Contains(answer, "snoozedUntil") {
		t.Errorf("still snoozed: %s", answer)
	}
	o.Want(200, `"id"`, "POST", one+"/comments", `{"text":"on my way"}`)
	o.Want(422, "bad_comment", "POST", one+"/comments", `{"text":" "}`)
	w.sends("d1", start.Add(20*time.Minute), "74")
	o.Want(200, `"alerts":[]`, "GET", plantPath+"/alerts", "")
	detail := o.Want(200, `"state":"resolved"`, "GET", one, "")
	for _, what := range []string{`"what":"acknowledged"`, `"what":"snoozed"`, `"what":"unsnoozed"`, `"text":"on my way"`, `"resolvedAt":"`} {
		if !strings.Contains(detail, what) {
			t.Errorf("no %s in %s", what, detail)
		}
	}
	o.Want(409, "alert_ended", "POST", one+"/ack", `{}`)
	o.Want(409, "alert_ended", "POST", one+"/snooze", `{}`)
	for _, action := range []string{"alert.acknowledge", "alert.snooze", "alert.comment"} {
		o.Want(200, action, "GET", "/api/v1/audit", "")
	}
	told := o.Want(200, `"event":"firing"`, "GET", plantPath+"/notifications", "")
	if strings.Count(told, `"channel":"ops"`) != 2 || strings.Count(told, `"state":"waiting"`) != 2 || strings.Contains(told, secret) {
		t.Errorf("notifications: %s", told)
	}
	body := fmt.Sprintf(`{"rule":{"scope":"device","scopeId":"d1","metric":"t","raise":"80","clear":"75","for":600,"severity":"info"},"device":"d1","from":%q,"to":%q}`,
		start.Add(-time.Hour).Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339))
	o.Want(200, `"points":3,"breaching":2`, "POST", plantPath+"/rules/test", body)
}

// The dead letter of a fleet is sent again, once.
func TestResend(t *testing.T) {
	w := newWorks(t)
	w.owner.Want(200, "", "PUT", plantPath+"/channels/ops", `{"kind":"email","to":["ops@example.org"]}`)
	w.owner.Want(200, "", "PUT", rulePath, `{"metric":"t","raise":"80","severity":"info"}`)
	w.sends("d1", time.Now().Add(-time.Minute), "81")
	all, err := alerts.NotificationsOfFleet.Collect(t.Context(), w.Table, alerts.DeliveriesIn{FleetID: "plant"})
	servertest.Must(t, err)
	if len(all) != 1 {
		t.Fatalf("%d notifications", len(all))
	}
	_, err = alerts.Notifications.Modify(t.Context(), w.Table, all[0].NotificationKey, func(n *alerts.Notification) error {
		n.State, n.Attempts, n.LastError = delivery.Dead, 12, "answered 500"
		return nil
	})
	servertest.Must(t, err)
	w.owner.Want(200, `"attempts":12,"lastError":"answered 500"`, "GET", plantPath+"/notifications?state=dead", "")
	resend := "/notifications/" + all[0].NotificationID + "/resend"
	w.owner.Want(404, "not_found", "POST", "/api/v1/fleets/other"+resend, `{}`)
	w.owner.Want(202, `"state":"waiting"`, "POST", plantPath+resend, `{}`)
	w.owner.Want(200, `"notifications":[]`, "GET", plantPath+"/notifications?state=dead", "")
	w.owner.Want(200, "notification.resend", "GET", "/api/v1/audit", "")
}

// Lists have the alerts of the requested fleet, page by page, each once.
func TestAlertLists(t *testing.T) {
	w := newWorks(t)
	o, start := w.owner, time.Now().Add(-time.Hour)
	for i, severity := range []string{"info", "warning", "critical"} {
		for fleet, device := range map[string]string{"plant": "d1", "other": "theirs"} {
			o.Want(200, "", "PUT", fmt.Sprintf("/api/v1/fleets/%s/rules/device/%s/r%d", fleet, device, i), `{"metric":"t","raise":"80","severity":"`+severity+`"}`)
		}
	}
	o.Want(200, "", "PUT", plantPath+"/rules/device/d2/r", `{"metric":"t","raise":"80","severity":"warning"}`)
	w.sends("theirs", start, "90")
	w.sends("d1", start, "90")
	w.sends("d1", start.Add(time.Minute), "10")
	w.sends("d1", start.Add(2*time.Minute), "91")
	w.sends("d2", start, "90")
	for query, want := range map[string]string{
		"state=open": "critical warning warning info", "state=open&severity=warning": "warning warning", "state=open&device=d2": "warning", "state=open&device=d1&severity=info": "info",
		"state=all&device=d2": "warning", "state=all&severity=critical": "critical critical", "state=all&device=~plant": "",
	} {
		if have := w.severities(query); have != want {
			t.Errorf("%s: %q, want %q", query, have, want)
		}
	}
	if have := w.severities("state=all"); len(strings.Fields(have)) != 7 {
		t.Errorf("all: %q, want 7", have)
	}
	o.Want(404, "not_found", "GET", plantPath+"/alerts?device=theirs", "")
	o.Want(404, "not_found", "GET", plantPath+"/alerts?device=~other", "")
	for _, cursor := range []string{"x", "~x", "critical~x", "none~", "-x~"} {
		o.Want(422, "bad_cursor", "GET", plantPath+"/alerts?state="+map[bool]string{true: "all", false: "open"}[cursor[0] == '-']+"&cursor="+cursor, "")
	}
}

// severities returns those of all pages, with at most one alert per page.
func (w *works) severities(query string) string {
	w.Helper()
	var all []string
	for cursor := ""; ; {
		var page struct {
			Alerts []struct{ Severity string }
			Cursor string
		}
		servertest.Must(w.T, json.Unmarshal([]byte(w.owner.Want(200, "alerts", "GET", plantPath+"/alerts?limit=1&"+query+"&cursor="+cursor, "")), &page))
		for _, a := range page.Alerts {
			all = append(all, a.Severity)
		}
		if cursor = page.Cursor; cursor == "" {
			return strings.Join(all, " ")
		}
	}
}

// Errors in a rule or a channel name the field.
func TestWrongRules(t *testing.T) {
	w := newWorks(t)
	good := `{"metric":"t","raise":"80","severity":"info"}`
	for _, c := range []struct {
		status             int
		code, method, path string
		body               string
	}{
		{422, "rule_severity", "PUT", rulePath, `{"metric":"t","raise":"80","severity":"bad"}`},
		{422, `"location":"body.metric"`, "PUT", rulePath, `{"raise":"80","severity":"bad"}`},
		{422, "rule_raise", "PUT", rulePath, `{"metric":"t","raise":"hot","severity":"info"}`},
		{422, "rule_clear", "PUT", rulePath, `{"metric":"t","raise":"80","clear":"81","severity":"info"}`},
		{422, "rule_function", "PUT", rulePath, `{"metric":"t","raise":"80","over":"hourly","function":"most","severity":"info"}`},
		{422, "invalid_request", "PUT", plantPath + "/rules/everything/d1/hot", good},
		{422, "invalid_request", "PUT", plantPath + "/rules/device/d1/a%23b", good},
		{404, "not_found", "PUT", plantPath + "/rules/device/theirs/hot", good},
		{404, "not_found", "PUT", plantPath + "/rules/profile/none/hot", good},
		{404, "not_found", "DELETE", rulePath, ""},
		{404, "not_found", "GET", "/api/v1/fleets/none/rules", ""},
		{422, "channel_url", "PUT", plantPath + "/channels/ops", `{"kind":"webhook","url":"ftp://example.org"}`},
		{422, "channel_url_private", "PUT", plantPath + "/channels/ops", `{"kind":"webhook","url":"http://169.254.169.254/latest"}`},
		{422, "channel_url_private", "PUT", plantPath + "/channels/ops", `{"kind":"webhook","url":"https://LocalHost.:8090/"}`},
		{422, "channel_url_private", "PUT", plantPath + "/channels/ops", `{"kind":"webhook","url":"http://[::ffff:127.0.0.1]/"}`},
		{422, "channel_url_private", "PUT", plantPath + "/channels/ops", `{"kind":"webhook","url":"http://[2001:0:7f00:1::]/"}`},
		{422, "channel_to", "PUT", plantPath + "/channels/ops", `{"kind":"email"}`},
		{422, "channel_token", "PUT", plantPath + "/channels/ops", `{"kind":"webhook","url":"https://example.org","token":"tk_1"}`},
		{422, "channel_url_private", "PUT", plantPath + "/channels/ops", `{"kind":"ntfy","url":"http://127.0.0.1/t"}`},
		{422, "channel_kind", "PUT", plantPath + "/channels/ops", `{"kind":"pigeon"}`},
		{404, "not_found", "DELETE", plantPath + "/channels/ops", ""},
		{422, "bad_range", "POST", plantPath + "/rules/test", `{"rule":` + good + `,"device":"d1","from":"2024-01-01T00:00:00Z","to":"2026-01-01T00:00:00Z"}`},
		{422, "not_replayable", "POST", plantPath + "/rules/test", `{"rule":{"noData":true,"for":60,"severity":"info"},"device":"d1","from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`},
		{404, "not_found", "POST", plantPath + "/rules/test", `{"rule":` + good + `,"device":"theirs","from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`},
		{422, "rule_raise", "POST", plantPath + "/rules/test", `{"rule":{"metric":"t","severity":"info"},"device":"d1","from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`},
	} {
		w.owner.Want(c.status, c.code, c.method, c.path, c.body)
	}
}

// Forms learn the settings of each kind of channel; nobody gets a token back, and viewers see no
// topic.
func TestChannelKinds(t *testing.T) {
	w := newWorks(t)
	const path = plantPath + "/channels"
	w.owner.Want(200, `"url":"https://ntfy.sh/topic-7"`, "PUT", path+"/phone", `{"kind":"ntfy","url":"https://ntfy.sh/topic-7","token":"tk_secret"}`)
	viewer := w.NewPerson("viewer@example.org", accounts.Grants{accounts.OfFleet("plant"): accounts.Viewer})
	seen := w.owner.Want(200, `{"name":"token","label":"Access token",`, "GET", path, "")
	if strings.Contains(seen, "tk_secret") || !strings.Contains(seen, "topic-7") {
		t.Errorf("the owner sees %s", seen)
	}
	if seen = viewer.Want(200, `"url":"https://ntfy.sh"`, "GET", path, ""); strings.Contains(seen, "tk_secret") || strings.Contains(seen, "topic-7") {
		t.Errorf("a viewer sees %s", seen)
	}
}

// Viewers read, admins write, and people with a role on another fleet do neither.
func TestAlertPermissions(t *testing.T) {
	w := newWorks(t)
	role := func(name, on string, r accounts.Role) *servertest.Person {
		return w.NewPerson(name+"@example.org", accounts.Grants{accounts.OfFleet(on): r})
	}
	viewer, admin, stranger := role("viewer", "plant", accounts.Viewer), role("admin", "plant", accounts.Admin), role("stranger", "other", accounts.Owner)
	rule := `{"metric":"t","raise":"80","severity":"info"}`
	admin.Want(200, "", "PUT", plantPath+"/channels/ops", `{"kind":"webhook","url":"https://example.org/hook?key=7"}`)
	admin.Want(200, "", "PUT", rulePath, rule)
	w.sends("d1", time.Now().Add(-time.Minute), "81")
	one := plantPath + "/devices/d1/alerts/" + w.first(admin.Want(200, "", "GET", plantPath+"/alerts", ""))
	const from, to = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
	ask := func(method, path, body string, viewers, admins int) {
		t.Helper()
		for who, want := range map[*servertest.Person]int{viewer: viewers, admin: admins, stranger: http.StatusForbidden} {
			if status, answer := who.Do(method, path, body); status != want || who != admin && strings.Contains(answer, "key=7") || strings.Contains(answer, "whsec_") {
				t.Errorf("%s %s: %d %.200s, want %d", method, path, status, answer, want)
			}
		}
	}
	for _, path := range []string{plantPath + "/alerts", one, plantPath + "/devices/d1/pending", plantPath + "/rules", rulePath, plantPath + "/channels", plantPath + "/notifications"} {
		ask("GET", path, "", 200, 200)
		w.Browser().Want(401, "unauthorized", "GET", path, "", bearer(w.tokens["d1"])...)
		w.Browser().Want(403, "forbidden", "GET", path, "", bearer(w.keys[accounts.Ingest])...)
	}
	ask("POST", plantPath+"/rules/test", `{"rule":`+rule+`,"device":"d1","from":"`+from+`","to":"`+to+`"}`, 200, 200)
	ask("POST", one+"/ack", `{}`, 403, 200)
	ask("POST", one+"/snooze", `{}`, 403, 200)
	ask("POST", one+"/comments", `{"text":"x"}`, 403, 200)
	ask("PUT", rulePath, rule, 403, 200)
	ask("PUT", plantPath+"/channels/ops", `{"kind":"webhook","url":"https://example.org/hook?key=7"}`, 403, 200)
	all, err := alerts.NotificationsOfFleet.Collect(t.Context(), w.Table, alerts.DeliveriesIn{FleetID: "plant"})
	servertest.Must(t, err)
	ask("POST", plantPath+"/notifications/"+all[0].NotificationID+"/resend", `{}`, 403, 202)
	ask("DELETE", plantPath+"/channels/ops", "", 403, 204)
	ask("DELETE", rulePath, "", 403, 204)
}

// Rules, profiles and alerts of another fleet are not found.
func TestAlertsAreSeparatedByFleet(t *testing.T) {
	w := newWorks(t)
	rule := `{"metric":"t","raise":"80","severity":"info"}`
	_, err := telemetry.PutProfile(t.Context(), w.Table, telemetry.Profile{ProfileKey: telemetry.ProfileKey{ProfileID: "pump"}, FleetID: "other"})
	servertest.Must(t, err)
	w.owner.Want(200, `"scope":"profile"`, "PUT", "/api/v1/fleets/other/rules/profile/pump/hot", rule)
	w.owner.Want(200, "", "PUT", "/api/v1/fleets/other/rules/device/theirs/hot", rule)
	w.sends("theirs", time.Now().Add(-time.Minute), "81")
	id := w.first(w.owner.Want(200, "", "GET", "/api/v1/fleets/other/alerts", ""))
	for _, path := range []string{"/rules/profile/pump/hot", "/rules/device/theirs/hot", "/devices/theirs/alerts/" + id, "/devices/d1/alerts/" + id, "/devices/theirs/pending"} {
		w.owner.Want(404, "not_found", "GET", plantPath+path, "")
	}
	w.owner.Want(404, "not_found", "PUT", plantPath+"/rules/profile/pump/hot", rule)
	w.owner.Want(404, "not_found", "DELETE", plantPath+"/rules/device/theirs/hot", "")
	w.owner.Want(404, "not_found", "POST", plantPath+"/devices/theirs/alerts/"+id+"/ack", `{}`)
	w.owner.Want(200, `"rules":[]`, "GET", plantPath+"/rules", "")
	w.owner.Want(200, `"version":2`, "PUT", "/api/v1/fleets/other/rules/device/theirs/hot", `{"metric":"t","raise":"85","severity":"info"}`)
}
