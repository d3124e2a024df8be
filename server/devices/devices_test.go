package devices_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

const plantPath = "/api/v1/fleets/plant"

// field returns a text field of a response.
func field(t *testing.T, answer, name string) string {
	t.Helper()
	var body map[string]any
	servertest.Must(t, json.Unmarshal([]byte(answer), &body))
	text, _ := body[name].(string)
	return text
}

// The life of a device: created, claimed, given tokens, listed, deleted.
func TestDevicesOverHTTP(t *testing.T) {
	w := newWorks(t)
	o := w.owner
	o.Want(201, `"status":"provisioned"`, "POST", plantPath+"/devices", `{"id":"n1","type":"pump","firmware":"1.0","tags":["roof","roof"],"status":"provisioned","notes":{"room":"7"}}`)
	o.Want(409, "exists", "POST", plantPath+"/devices", `{"id":"n1"}`)
	o.Want(409, "exists", "POST", plantPath+"/devices", `{"id":"theirs"}`)
	o.Want(422, "invalid_request", "POST", plantPath+"/devices", `{"id":"a#b"}`)
	o.Want(422, "invalid_request", "POST", plantPath+"/devices", `{"id":"n2","status":"broken"}`)
	o.Want(404, "not_found", "POST", plantPath+"/devices", `{"id":"n2","profile":"none"}`)
	o.Want(404, "not_found", "GET", plantPath+"/devices/theirs", "")
	for _, c := range []struct{ method, path string }{
		{"PATCH", ""}, {"DELETE", ""}, {"POST", "/tokens"}, {"DELETE", "/tokens"}, {"POST", "/claim-code"},
	} {
		o.Want(404, "not_found", c.method, plantPath+"/devices/theirs"+c.path, map[bool]string{true: "{}"}[c.method == "PATCH"])
	}
	code := field(t, o.Want(201, "code", "POST", plantPath+"/devices/n1/claim-code", ""), "code")
	o.Want(403, "bad_claim", "POST", plantPath+"/claim", `{"code":"wrong"}`)
	token := field(t, o.Want(200, `"status":"active"`, "POST", plantPath+"/claim", `{"code":"`+strings.ToLower(code)+`"}`), "token")
	o.Want(403, "bad_claim", "POST", plantPath+"/claim", `{"code":"`+code+`"}`)
	sends := func(token string, want int) {
		t.Helper()
		if status, answer := w.Post("/api/readings", `{"values":{"t":21.5}}`, bearer(token)...); status != want {
			t.Errorf("%d %s, want %d", status, answer, want)
		}
	}
	sends(token, 202)
	second := field(t, o.Want(201, "token", "POST", plantPath+"/devices/n1/tokens", ""), "token")
	sends(token, 202)
	o.Want(204, "", "DELETE", plantPath+"/devices/n1/tokens", "")
	sends(token, 401)
	sends(second, 202)
	o.Want(200, `"status":"maintenance"`, "PATCH", plantPath+"/devices/n1", `{"status":"maintenance","firmware":"1.1"}`)
	o.Want(409, "bad_transition", "PATCH", plantPath+"/devices/n1", `{"status":"provisioned"}`)
	servertest.Must(t, w.Worker.Drain(t.Context()))
	o.Want(200, `"latest":{"t":{"at":`, "GET", plantPath+"/devices/n1", "")
	for query, want := range map[string]string{
		"": "d1 d2 n1", "?status=maintenance": "n1", "?type=pump": "n1", "?tag=roof": "n1", "?firmware=1.1": "n1", "?firmware=1.0": "", "?search=D": "d1 d2",
		"?connectivity=online": "n1", "?connectivity=never": "d1 d2", "?tag=roof&status=active": "",
	} {
		if have := w.list(o, plantPath+"/devices"+query); have != want {
			t.Errorf("%s: %q, want %q", query, have, want)
		}
	}
	o.Want(200, `{"devices":3,"byStatus":{"active":2,"maintenance":1},"byConnectivity":{"never":2,"online":1}}`, "GET", plantPath+"/board", "")
	o.Want(204, "", "DELETE", plantPath+"/devices/n1", "")
	sends(second, 401)
	o.Want(404, "not_found", "GET", plantPath+"/devices/n1", "")
	servertest.Must(t, w.Worker.Drain(t.Context()))
	o.Want(200, `"devices":["n1"]`, "GET", plantPath+"/deleting", "")
	o.Want(200, `"devices":2,`, "GET", plantPath+"/board", "")
}

// list returns the IDs of all pages, with one device per page.
func (w *works) list(p *servertest.Person, path string) string {
	w.Helper()
	var ids []string
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	for cursor := ""; ; {
		var page struct {
			Devices []struct{ ID string }
			Cursor  string
		}
		servertest.Must(w.T, json.Unmarshal([]byte(p.Want(200, "", "GET", path+sep+"limit=1&cursor="+cursor, "")), &page))
		for _, d := range page.Devices {
			ids = append(ids, d.ID)
		}
		if cursor = page.Cursor; cursor == "" {
			return strings.Join(ids, " ")
		}
	}
}

func TestImportOfDevices(t *testing.T) {
	w := newWorks(t)
	send := func(kind, query, body string, status int, want string) string {
		t.Helper()
		got, answer := w.owner.Do("POST", plantPath+"/devices/import"+query, body, "Content-Type", kind)
		if got != status || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s, want %q", kind, got, answer, want)
		}
		if strings.Contains(answer, "telemetry:") || strings.Contains(answer, "table:") || strings.Contains(answer, "pattern") {
			t.Errorf("%s: the answer tells where in the program it went wrong, not what: %s", kind, answer)
		}
		return answer
	}
	list := "id,name,tags,note:room\na1,\"A, one\",x;y,7\nd1,,,\ntheirs,,,\na b,,,\na2,short\na3,,,\n"
	send("text/csv", "?dryRun=true", list, 200, `"created":0,"existing":0,"rejected":1`)
	answer := send("text/csv; charset=utf-8", "?tokens=true", list, 200, `"created":2,"existing":1,"rejected":3`)
	if strings.Count(answer, `"token":"a`) != 2 || !strings.Contains(answer, `{"line":6,"id":"","status":"rejected","detail":"expected as many columns as the header: got 2, want 4"}`) {
		t.Errorf("%s", answer)
	}
	w.owner.Want(200, `"name":"A, one"`, "GET", plantPath+"/devices/a1", "")
	send("text/csv", "", list, 200, `"created":0,"existing":3`)
	send("application/jsonl", "", "{\"id\":\"b1\",\"type\":\"pump\"}\n\n{\"id\":1}\n{\"name\":\"x\",\"colour\":1}\n{}\n", 200, `"created":1,"existing":0,"rejected":3`)
	send("text/csv", "", "id,profile\nc1,nope\n", 200, `"detail":"the fleet has no profile \"nope\""`)
	send("text/csv", "", "id,profile\nc#1,\n..,\n", 200, `"rejected":2`)
	send("text/csv", "", "id,colour\n", 400, "bad_csv")
	send("text/csv", "", "id\n\"a", 200, `"rejected":1`)
	send("text/html", "", "id\n", 415, "unsupported_media_type")
	send("application/jsonl", "", strings.Repeat("{}\n", 5001), 413, "too_many_devices")
}

func TestProfilesAndFleets(t *testing.T) {
	w := newWorks(t)
	o := w.owner
	const profile = `{"metrics":[{"name":"t","kind":"gauge","unit":"C","min":"-40"}],"every":60,"clock":{"late":"reject","lateAfter":60}}`
	o.Want(200, `"every":60`, "PUT", plantPath+"/profiles/p", profile)
	o.Want(409, "exists", "PUT", "/api/v1/fleets/other/profiles/p", profile)
	o.Want(404, "not_found", "GET", "/api/v1/fleets/other/profiles/p", "")
	o.Want(422, "invalid_request", "PUT", plantPath+"/profiles/q", `{"metrics":[{"name":"t","kind":"speed"}]}`)
	o.Want(200, `"profile":"p"`, "PATCH", plantPath+"/devices/d1", `{"profile":"p"}`)
	servertest.Must(t, w.Worker.Drain(t.Context()))
	o.Want(409, "in_use", "DELETE", plantPath+"/profiles/p", "")
	if _, answer := w.Post("/api/readings", `{"values":{"t":-41}}`, bearer(w.tokens["d1"])...); outcomes(t, answer) != "implausible" {
		t.Errorf("%s", answer)
	}
	o.Want(200, "", "PATCH", plantPath+"/devices/d1", `{"profile":""}`)
	servertest.Must(t, w.Worker.Drain(t.Context()))
	o.Want(204, "", "DELETE", plantPath+"/profiles/p", "")
	o.Want(404, "not_found", "GET", plantPath+"/profiles/p", "")

	o.Want(201, `"timezone":"UTC"`, "POST", "/api/v1/fleets", `{"id":"new"}`)
	o.Want(201, `"timezone":"UTC"`, "POST", "/api/v1/fleets", `{"id":"new"}`)
	o.Want(409, "exists", "POST", "/api/v1/fleets", `{"id":"new","name":"x"}`)
	o.Want(422, "invalid_request", "POST", "/api/v1/fleets", `{"id":"new2","timezone":"Nowhere"}`)
	o.Want(422, "invalid_request", "POST", "/api/v1/fleets", `{"id":".."}`) // paths cannot contain it
	o.Want(422, "invalid_request", "PATCH", "/api/v1/fleets/new", `{"retention":{"rawDays":1}}`)
	o.Want(204, "", "DELETE", "/api/v1/fleets/new", "")
	o.Want(404, "not_found", "GET", "/api/v1/fleets/new", "")
}

// Roles and keys belong to one fleet: not to another, nor to a site with the same ID.
func TestFleetsAreSeparated(t *testing.T) {
	w := newWorks(t)
	w.owner.Want(201, "", "POST", "/api/v1/fleets", `{"id":"blog"}`)
	role := func(email string, on string, r accounts.Role) *servertest.Person {
		return w.NewPerson(email, accounts.Grants{on: r})
	}
	viewer, site := role("viewer@example.org", accounts.OfFleet("plant"), accounts.Viewer), role("site@example.org", "blog", accounts.Owner)
	fleet := role("fleet@example.org", accounts.OfFleet("blog"), accounts.Owner)
	viewer.Want(200, `"role":"viewer"`, "GET", plantPath, "")
	viewer.Want(200, `"fleets":[{"id":"plant"`, "GET", "/api/v1/fleets", "")
	viewer.Want(403, "forbidden", "GET", "/api/v1/fleets/other", "")
	viewer.Want(403, "forbidden", "PATCH", plantPath, `{"name":"x"}`)
	viewer.Want(403, "forbidden", "POST", plantPath+"/devices", `{"id":"x"}`)
	site.Want(403, "forbidden", "GET", "/api/v1/fleets/blog", "")
	site.Want(200, `"fleets":[]`, "GET", "/api/v1/fleets", "")
	fleet.Want(200, `"role":"owner"`, "GET", "/api/v1/fleets/blog", "")
	fleet.Want(403, "forbidden", "GET", "/api/v1/sites/blog", "")
	for name, c := range map[string]struct {
		token string
		want  map[string]int
	}{
		"reads plant": {w.keys[accounts.Read], map[string]int{plantPath: 200, plantPath + "/devices/d1": 200, "/api/v1/fleets/other": 403, "/api/v1/sites/blog": 403, "POST " + plantPath + "/devices/d1/tokens": 403}},
		"writes":      {w.keys[accounts.Write], map[string]int{plantPath: 200, "POST " + plantPath + "/devices/d1/tokens": 201, "POST /api/v1/fleets/other/devices/theirs/tokens": 403, "DELETE " + plantPath: 403}},
		"sends":       {w.keys[accounts.Ingest], map[string]int{plantPath: 403, "POST " + plantPath + "/devices/d1/tokens": 403}},
		"a device":    {w.tokens["d1"], map[string]int{plantPath: 401, plantPath + "/devices/d1": 401, "/api/v1/me": 401}},
	} {
		for path, want := range c.want {
			method := http.MethodGet
			if m, p, ok := strings.Cut(path, " "); ok {
				method, path = m, p
			}
			if status, answer := w.Browser().Do(method, path, "", bearer(c.token)...); status != want {
				t.Errorf("%s: %s %s: %d %.200s", name, method, path, status, answer)
			}
		}
	}
	// A role on a deleted fleet does not carry over to a later one with the same ID.
	w.owner.Want(204, "", "DELETE", "/api/v1/fleets/blog", "")
	fleet.Want(403, "forbidden", "GET", "/api/v1/fleets/blog", "")
	if fmt.Sprint(w.stored("d1")) != "[]" {
		t.Error("something was stored")
	}
}
