package server_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// recordNothing are the operations that are not GET and change nothing worth recording.
var recordNothing = map[string]string{
	"ingest-event": "facts are a record of their own", "ingest-events": "facts", "import": "facts", "ingest-readings": "facts", "write-lines": "facts", "append-events": "facts, with who appended them", "append-to-several": "facts",
	"receive-events": "the progress of a consumer", "stream-deliveries": "the progress of a consumer", "acknowledge-events": "the progress of a consumer", "extend-deliveries": "the progress of a consumer", "reject-events": "the progress of a consumer; parked events are listed",
	"query-events": "nothing is stored", "query": "nothing is stored", "owner-of-value": "it is only looked at", "explain": "nothing is stored",
	"prometheus-query-form": "nothing is stored", "prometheus-query-range-form": "nothing is stored", "prometheus-series-form": "nothing is stored", "prometheus-labels-form": "nothing is stored", "prometheus-exemplars-form": "nothing is stored",
	"preview-funnel": "nothing is stored", "preview-mask": "nothing is stored", "check-installation": "it ends in minutes", "test-rule": "nothing is stored", "preview-site-alert-rule": "nothing is stored", "open-invitation": "it is only looked at", "open-reset-link": "it is only looked at", "forgotten-password": "recorded when the mail is made: TestForgottenPassword", "open-share": "it is only looked at; a session of a day is made",
	"import-readings": "facts; devices that it makes are recorded", "passkey-options": "nothing is changed yet", "passkey-login-options": "nothing is changed yet", "begin-second-factor": "nothing is changed before it is confirmed",
}

// recordedElsewhere are the operations whose entries other tests check, because they need more than
// a request.
var recordedElsewhere = map[string]string{
	"add-import": "webanalytics: TestCountsAreImportedOverHTTP", "delete-import": "webanalytics: TestCountsAreImportedOverHTTP", "erase": "webanalytics: TestErasure",
	"acknowledge-alert": "devices: TestAlertLifecycle", "snooze-alert": "devices: TestAlertLifecycle", "comment-alert": "devices: TestAlertLifecycle", "resend-notification": "devices: TestResend", "test-site-channel": "notices: TestChannels", "resend-message": "notices: TestMessages",
	"login-passkey": "TestPasskeys", "add-passkey": "TestPasskeys", "rename-passkey": "TestPasskeys", "remove-passkey": "TestPasskeys",
	"login-code": "TestLoginInTwoSteps", "confirm-second-factor": "TestLoginInTwoSteps", "renew-recovery-codes": "TestLoginInTwoSteps", "remove-second-factor": "TestLoginInTwoSteps",
	"end-session": "TestPeopleEndTheirSessions", "end-other-sessions": "TestPeopleEndTheirSessions",
	"rebuild-fleet": "devices: TestRebuildFleet", "retry-parked": "events: TestProjections", "rebuild-projection": "events: TestProjections",
	"retry-parked-events": "events: TestSubscriptions", "discard-parked-events": "events: TestSubscriptions", "reset-subscription": "events: TestSubscriptions", "delete-subscription": "events: TestSubscriptions",
	"erase-subject": "events: TestPersonalData",
}

// step is a request of an operation. Its path and body may refer to values of earlier responses, as
// ${name}; learn says which field of the response gets which name.
type step struct {
	op, method, path, body string
	changes                string // fields that the entry must have, separated by spaces, as field or field=before>after
	learn                  string // name=field
	guest                  bool   // without a login; otherwise as the owner
}

const canary = "canary-e2c9"

// Secrets and addresses that are sent contain the canary, which must not be in any entry.
var steps = []step{
	{op: "setup", method: "POST", path: "/api/v1/setup", body: `{"token":"${setup}","email":"first@` + canary + `.org","name":"First ` + canary + `","password":"` + canary + ` pass"}`, guest: true, changes: "roles.*=>owner"},
	{op: "login", method: "POST", path: "/api/v1/login", body: `{"email":"owner@example.com","password":"` + servertest.Password + `"}`, guest: true},
	{op: "add-user", method: "POST", path: "/api/v1/users", body: `{"email":"ann@` + canary + `.org","name":"Ann ` + canary + `","password":"` + canary + ` pass","roles":{"blog":"viewer"}}`, learn: "user=id", changes: "email name roles.blog=>viewer disabled=>false"},
	{op: "update-user", method: "PATCH", path: "/api/v1/users/${user}", body: `{"name":"Bea ` + canary + `","password":"` + canary + ` passed","roles":{"blog":"admin"},"disabled":true}`, changes: "name password disabled=false>true roles.blog=viewer>admin"},
	{op: "update-member", method: "PATCH", path: "/api/v1/sites/blog/members/${user}", body: `{"role":"owner"}`, changes: "role=admin>owner"},
	{op: "remove-member", method: "DELETE", path: "/api/v1/sites/blog/members/${user}", changes: "role=owner>"},
	{op: "add-member", method: "POST", path: "/api/v1/sites/blog/members", body: `{"email":"ann@` + canary + `.org","role":"viewer"}`, changes: "role=>viewer"},
	{op: "update-user", method: "PATCH", path: "/api/v1/users/${user}", body: `{"disabled":false}`, changes: "disabled=true>false"},
	{op: "add-reset-link", method: "POST", path: "/api/v1/users/${user}/reset-link", learn: "reset=token"},
	{op: "reset-password", method: "POST", path: "/api/v1/password/reset", body: `{"token":"${reset}","password":"` + canary + ` reset"}`, guest: true, changes: "password"},
	{op: "delete-user", method: "DELETE", path: "/api/v1/users/${user}", changes: "email roles.blog=viewer>"},
	{op: "add-member", method: "POST", path: "/api/v1/sites/blog/members", body: `{"email":"bob@` + canary + `.org","role":"viewer"}`, learn: "invitation=id", changes: "email role=>viewer"},
	{op: "revoke-invitation", method: "DELETE", path: "/api/v1/sites/blog/invitations/${invitation}", changes: "role=viewer>"},
	{op: "add-member", method: "POST", path: "/api/v1/sites/blog/members", body: `{"email":"cid@` + canary + `.org","role":"viewer"}`, learn: "token=token", changes: "email role=>viewer"},
	{op: "join", method: "POST", path: "/api/v1/invitations/accept", body: `{"token":"${token}","name":"Cid ` + canary + `","password":"` + canary + ` pass"}`, guest: true, changes: "email roles.blog=>viewer"},
	{op: "add-key", method: "POST", path: "/api/v1/keys", body: `{"site":"blog","scope":"read","name":"reader"}`, learn: "key=id", changes: "name=>reader scope=>read"},
	{op: "rotate-key", method: "POST", path: "/api/v1/keys/${key}/rotation", body: `{}`, changes: "token"},
	{op: "revoke-key", method: "DELETE", path: "/api/v1/keys/${key}", changes: "name=reader> scope=read>"},
	{op: "add-share", method: "POST", path: "/api/v1/sites/blog/shares", body: `{"name":"board","password":"` + canary + ` pass"}`, learn: "share=id", changes: "name=>board"},
	{op: "revoke-share", method: "DELETE", path: "/api/v1/sites/blog/shares/${share}", changes: "name=board>"},
	{op: "update-me", method: "PATCH", path: "/api/v1/me", body: `{"name":"Owen ` + canary + `"}`, changes: "name"},

	{op: "add-site", method: "POST", path: "/api/v1/sites", body: `{"id":"shop","name":"Shop","domains":["shop.example"]}`, changes: `name=>Shop timezone=>UTC domains=>["shop.example"]`},
	{op: "update-site", method: "PATCH", path: "/api/v1/sites/shop", body: `{"name":"Store","public":true,"retention":{"rawDays":7},"exclude":{"addresses":["203.0.113.7"],"paths":["/admin/**"]}}`, changes: `name=Shop>Store public=false>true retention.rawDays=730>7 exclude.addresses exclude.paths=>["/admin/**"]`},
	{op: "set-site-shards", method: "PUT", path: "/api/v1/sites/shop/shards", body: `{"shards":8}`, changes: "shards"},
	{op: "add-goal", method: "POST", path: "/api/v1/sites/shop/goals", body: `{"id":"buy","name":"Buy","event":"purchase"}`, changes: "name=>Buy event=>purchase"},
	{op: "update-goal", method: "PUT", path: "/api/v1/sites/shop/goals/buy", body: `{"name":"Bought","event":"purchase","counting":"every"}`, changes: "name=Buy>Bought counting=session>every"},
	{op: "delete-goal", method: "DELETE", path: "/api/v1/sites/shop/goals/buy", changes: "name=Bought>"},
	{op: "add-funnel", method: "POST", path: "/api/v1/sites/shop/funnels", body: `{"name":"Buying","steps":[{"path":"/"},{"path":"/docs/*"}]}`, learn: "funnel=id", changes: "name=>Buying steps"},
	{op: "delete-funnel", method: "DELETE", path: "/api/v1/sites/shop/funnels/${funnel}", changes: "name=Buying>"},
	{op: "add-annotation", method: "POST", path: "/api/v1/sites/shop/annotations", body: `{"text":"Released"}`, learn: "annotation=id", changes: "text=>Released id at"},
	{op: "delete-annotation", method: "DELETE", path: "/api/v1/sites/shop/annotations/${annotation}", changes: "text=Released> id at"},
	{op: "add-segment", method: "POST", path: "/api/v1/sites/shop/segments", body: `{"name":"Germans","filters":["country:is:DE"]}`, changes: `name=>Germans filters=>["country:is:DE"]`},
	{op: "update-segment", method: "PUT", path: "/api/v1/sites/shop/segments/germans", body: `{"name":"Germans","filters":["country:is:DE|AT"]}`, changes: "filters"},
	{op: "delete-segment", method: "DELETE", path: "/api/v1/sites/shop/segments/germans", changes: "name=Germans>"},
	{op: "verify", method: "POST", path: "/api/v1/sites/shop/verify", body: `{}`},
	{op: "delete-site", method: "DELETE", path: "/api/v1/sites/shop", changes: "name=Store> public=true>"},

	{op: "add-fleet", method: "POST", path: "/api/v1/fleets", body: `{"id":"plant","name":"Plant"}`, changes: "name=>Plant timezone=>UTC"},
	{op: "update-fleet", method: "PATCH", path: "/api/v1/fleets/plant", body: `{"name":"Works","tenMinutes":true}`, changes: "name=Plant>Works tenMinutes=false>true"},
	{op: "put-profile", method: "PUT", path: "/api/v1/fleets/plant/profiles/p", body: `{"name":"P","every":60}`, changes: "name=>P"},
	{op: "put-profile", method: "PUT", path: "/api/v1/fleets/plant/profiles/p", body: `{"name":"Q","every":60}`, changes: "name=P>Q"},
	{op: "delete-profile", method: "DELETE", path: "/api/v1/fleets/plant/profiles/p", changes: "name=Q>"},
	{op: "add-device", method: "POST", path: "/api/v1/fleets/plant/devices", body: `{"id":"d1","name":"One"}`, changes: "name=>One"},
	{op: "update-device", method: "PATCH", path: "/api/v1/fleets/plant/devices/d1", body: `{"name":"Eins","notes":{"room":"12","wifiPassword":"` + canary + `"}}`, changes: "name=One>Eins notes.room=>12 notes.wifiPassword"},
	{op: "import-devices", method: "POST", path: "/api/v1/fleets/plant/devices/import", body: `{"id":"d2"}`},
	{op: "add-device-token", method: "POST", path: "/api/v1/fleets/plant/devices/d1/tokens", changes: "token"},
	{op: "add-device", method: "POST", path: "/api/v1/fleets/plant/devices", body: `{"id":"n1","status":"provisioned"}`, changes: "status=>provisioned"},
	{op: "add-claim-code", method: "POST", path: "/api/v1/fleets/plant/devices/n1/claim-code", learn: "code=code", changes: "claimCode"},
	{op: "claim-device", method: "POST", path: "/api/v1/fleets/plant/claim", body: `{"code":"${code}"}`, changes: "status=>active"},
	{op: "put-channel", method: "PUT", path: "/api/v1/fleets/plant/channels/ops", body: `{"kind":"webhook","name":"ops","url":"https://example.org/` + canary + `"}`, changes: "name=>ops kind=>webhook url"},
	{op: "put-channel", method: "PUT", path: "/api/v1/fleets/plant/channels/mail", body: `{"kind":"email","to":["ops@` + canary + `.org"]}`, changes: "kind=>email to"},
	{op: "put-channel", method: "PUT", path: "/api/v1/fleets/plant/channels/phone", body: `{"kind":"ntfy","url":"https://ntfy.sh/` + canary + `","token":"` + canary + `"}`, changes: "kind=>ntfy url"},
	{op: "put-rule", method: "PUT", path: "/api/v1/fleets/plant/rules/device/d1/hot", body: `{"metric":"t","raise":"80","severity":"info"}`, changes: "raise=>80 severity=>info"},
	{op: "put-rule", method: "PUT", path: "/api/v1/fleets/plant/rules/device/d1/hot", body: `{"metric":"t","raise":"70","severity":"critical"}`, changes: "raise=80>70 severity=info>critical"},
	{op: "retract", method: "POST", path: "/api/v1/fleets/plant/devices/d1/retractions", body: `{"from":"2026-01-01T00:00:00Z","to":"2026-01-01T01:00:00Z","reason":"test"}`, learn: "retraction=id"},
	{op: "lift-retraction", method: "DELETE", path: "/api/v1/fleets/plant/devices/d1/retractions/${retraction}"},
	{op: "verify-fleet", method: "POST", path: "/api/v1/fleets/plant/verify", body: `{}`},
	{op: "delete-rule", method: "DELETE", path: "/api/v1/fleets/plant/rules/device/d1/hot", changes: "raise=70>"},
	{op: "delete-channel", method: "DELETE", path: "/api/v1/fleets/plant/channels/ops", changes: "name=ops> url"},
	{op: "revoke-device-tokens", method: "DELETE", path: "/api/v1/fleets/plant/devices/d1/tokens?all=true", changes: "tokens"},
	{op: "delete-device", method: "DELETE", path: "/api/v1/fleets/plant/devices/d1", changes: "name=Eins>"},
	{op: "put-site-channel", method: "PUT", path: "/api/v1/sites/blog/channels/ops", body: `{"kind":"email","to":["ops@` + canary + `.org"]}`, changes: "kind=>email to"},
	{op: "put-report", method: "PUT", path: "/api/v1/sites/blog/reports/week", body: `{"every":"weekly","channels":["ops"]}`, changes: "every=>weekly hour=>8"},
	{op: "send-report", method: "POST", path: "/api/v1/sites/blog/reports/week/send"},
	{op: "put-site-alert-rule", method: "PUT", path: "/api/v1/sites/blog/alert-rules/low", body: `{"kind":"drop","factor":2}`, changes: "kind=>drop factor=>2"},
	{op: "delete-site-alert-rule", method: "DELETE", path: "/api/v1/sites/blog/alert-rules/low", changes: "kind=drop>"},
	{op: "delete-report", method: "DELETE", path: "/api/v1/sites/blog/reports/week", changes: "every=weekly>"},
	{op: "delete-site-channel", method: "DELETE", path: "/api/v1/sites/blog/channels/ops", changes: "kind=email>"},
	{op: "delete-fleet", method: "DELETE", path: "/api/v1/fleets/plant", changes: "name=Works>"},

	{op: "append-events", method: "POST", path: "/api/v1/events/aggregates/order/1/events", body: `{"events":[{"type":"Placed","data":{}}]}`},
	{op: "create-subscription", method: "PUT", path: "/api/v1/events/subscriptions/mails", body: `{}`},
	{op: "put-event-schema", method: "PUT", path: "/api/v1/events/event-types/Shipped/schema", body: `{"schema":{"type":"object"}}`},
	{op: "delete-event-schema", method: "DELETE", path: "/api/v1/events/event-types/Shipped/schema?version=1"},
	{op: "receive-events", method: "POST", path: "/api/v1/events/subscriptions/mails/receive"},
	{op: "close-aggregate", method: "POST", path: "/api/v1/events/aggregates/order/1/close"},
	{op: "delete-aggregate", method: "DELETE", path: "/api/v1/events/aggregates/order/1"},
	{op: "logout", method: "POST", path: "/api/v1/logout", body: `{}`},
}

// Every operation that changes something adds an entry with the values before and after, and
// without secrets and addresses.
func TestEveryChangeIsRecorded(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) { o.Devices.PrivateWebhooks = true })
	known := map[string]string{}
	var err error
	known["setup"], err = h.Accounts.SetupToken(t.Context())
	servertest.Must(t, err)
	var owner *servertest.Person
	tried := map[string]bool{}
	for _, s := range steps {
		if tried[s.op] = true; s.op != "setup" && owner == nil {
			owner = h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
		}
		before := entriesOf(h)
		who := owner
		if s.guest {
			who = h.Browser()
		}
		status, answer := who.Do(s.method, fill(s.path, known), fill(s.body, known))
		if status/100 != 2 {
			t.Errorf("%s: %d %s", s.op, status, answer)
			continue
		}
		learn(t, s.learn, answer, known)
		made := entriesOf(h)[len(before):]
		if _, none := recordNothing[s.op]; none != (len(made) == 0) {
			t.Errorf("%s made %d entries", s.op, len(made))
		} else if len(made) > 0 {
			s.check(t, &made[len(made)-1])
		}
	}
	for _, op := range operations(h) {
		_, none := recordNothing[op.id]
		_, elsewhere := recordedElsewhere[op.id]
		if op.method != http.MethodGet && !none && !elsewhere && !tried[op.id] && !tried[strings.NewReplacer("fleet-", "", "events-", "").Replace(op.id)] {
			t.Errorf("%s (%s %s) is not tried: does it record what it changes?", op.id, op.method, op.path)
		}
	}
	text, err := json.Marshal(entriesOf(h))
	servertest.Must(t, err)
	if found := regexp.MustCompile(`.{60}` + canary + `.{20}`).FindString(string(text)); found != "" {
		t.Errorf("the record keeps what is secret: …%s…", found)
	}
	if v, err := h.Accounts.Verify(t.Context(), ""); err != nil || !v.Whole() {
		t.Errorf("%+v %v", v, err)
	}
}

func fill(text string, known map[string]string) string {
	for name, value := range known {
		text = strings.ReplaceAll(text, "${"+name+"}", value)
	}
	return text
}

// learn finds a field anywhere in a response.
func learn(t *testing.T, what, answer string, known map[string]string) {
	t.Helper()
	if what == "" {
		return
	}
	name, field, _ := strings.Cut(what, "=")
	found := regexp.MustCompile(`"` + field + `":"([^"]+)"`).FindStringSubmatch(answer)
	if found == nil {
		t.Fatalf("no %s in %s", field, answer)
	}
	known[name] = found[1]
}

func entriesOf(h *servertest.Server) []accounts.Entry {
	h.Helper()
	var all []accounts.Entry
	for e, err := range h.Accounts.EntriesBetween(h.Context(), time.Now().AddDate(0, -1, 0), time.Now().AddDate(0, 1, 0)) {
		servertest.Must(h.T, err)
		all = append(all, e)
	}
	return all
}

// check looks for the fields that an entry must have.
func (s *step) check(t *testing.T, e *accounts.Entry) {
	t.Helper()
	had := map[string]string{}
	for _, c := range e.Changes {
		had[c.Field] = c.Before + ">" + c.After
	}
	for _, want := range strings.Fields(s.changes) {
		field, values, told := strings.Cut(want, "=")
		if got, ok := had[field]; !ok || told && got != values {
			t.Errorf("%s: the entry %s tells of %s: %q, want %q of %v", s.op, e.Action, field, got, values, e.Changes)
		}
	}
}

// Owners of all sites can export and check the record, and nobody else.
func TestAuditExportAndCheck(t *testing.T) {
	h := servertest.New(t, nil)
	owner := h.NewPerson("owner@example.com", accounts.Grants{accounts.AllSites: accounts.Owner})
	admin := h.NewPerson("admin@example.com", accounts.Grants{accounts.AllSites: accounts.Admin})
	owner.Want(http.StatusOK, "", http.MethodPatch, "/api/v1/sites/blog", `{"name":"=Journal"}`)
	owner.Want(http.StatusOK, `"changes":[{"field":"name","before":"blog","after":"=Journal"}]`, http.MethodGet, "/api/v1/audit", "")
	lines := strings.Split(strings.TrimSpace(owner.Want(http.StatusOK, `"seq":1,`, http.MethodGet, "/api/v1/audit/export", "")), "\n")
	last := accounts.EntryJSON{}
	servertest.Must(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	entries := entriesOf(h)
	if e := &entries[len(entries)-1]; len(lines) != len(entries) || last.Hash != e.Sum() || last.Seq != int64(len(entries)) || last.Action != "site.update" {
		t.Errorf("%d lines of %d entries, at last %+v", len(lines), len(entries), last)
	}
	owner.Want(http.StatusOK, "seq,at,actor,action,site,subject,changes,omitted,id,prev,hash\n", http.MethodGet, "/api/v1/audit/export?format=csv", "")
	if _, text := owner.Do(http.MethodGet, "/api/v1/audit/export?from=2020-01-01&to=2020-12-31", ""); text != "" {
		t.Errorf("a year before: %s", text)
	}
	for _, bad := range []string{"from=2026-13-01", "from=2026-05-02&to=2026-05-01", "from=0001-01-01", "format=xml"} {
		owner.Want(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/api/v1/audit/export?"+bad, "")
	}
	const check = "/api/v1/audit/verification"
	owner.Want(http.StatusOK, `"whole":true`, http.MethodGet, check, "")
	head, err := h.Accounts.Head(t.Context())
	servertest.Must(t, err)
	owner.Want(http.StatusOK, `"noted":"found"`, http.MethodGet, check+"?head="+head.Point(), "")
	owner.Want(http.StatusOK, `"whole":false`, http.MethodGet, check+"?head=1:"+head.Hash, "")
	owner.Want(http.StatusUnprocessableEntity, "invalid", http.MethodGet, check+"?head=x", "")
	servertest.Must(t, accounts.Entries.Delete(t.Context(), h.Table, entries[1].EntryKey))
	owner.Want(http.StatusOK, `"whole":false`, http.MethodGet, check, "")
	owner.Want(http.StatusOK, `"code":"missing"`, http.MethodGet, check, "")
	for _, path := range []string{"/api/v1/audit/export", check} {
		admin.Want(http.StatusForbidden, "forbidden", http.MethodGet, path, "")
	}
}
