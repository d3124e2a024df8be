package devices_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/telemetry"
)

// outcomes returns the outcomes of a response, as status or reason.
func outcomes(t *testing.T, answer string) string {
	t.Helper()
	var body struct{ Outcomes []telemetry.Outcome }
	servertest.Must(t, json.Unmarshal([]byte(answer), &body))
	var all []string
	for _, o := range body.Outcomes {
		text := string(o.Status)
		if o.Reason != "" {
			text = string(o.Reason)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestReadingsOverHTTP(t *testing.T) {
	w := newWorks(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	at := func(ago time.Duration) string { return now.Add(-ago).Format(time.RFC3339Nano) }
	device, key := w.tokens["d1"], w.keys[accounts.Ingest]
	for _, c := range []struct {
		name, token, body string
		status            int
		want              string
	}{
		{"one", device, `{"at":"` + at(time.Second) + `","values":{"t":1.50}}`, 202, "stored"},
		{"again", device, `{"device":"d1","at":"` + at(time.Second) + `","values":{"t":1.5}}`, 202, "duplicate"},
		{"another in that millisecond, and an old one", device, `[{"at":"` + at(time.Second) + `","values":{"t":2}},{"at":"` + at(2*time.Hour) + `","values":{"t":3,"door":"open"}}]`, 202, "stored late"},
		{"by a key, one of each kind", key, `[{"device":"d2","values":{"t":1}},{"device":"theirs","values":{"t":1}},{"device":"no","values":{"t":1}},{"device":"d2","values":{"t":{}}},{"values":{"t":1}},
			{"device":"d2","at":"1970-01-01T00:00:00Z","values":{"t":1}},{"device":"d2"}]`, 202, "stored unknown_device unknown_device bad_value unknown_device clock_implausible no_values"},
		{"times of clocks that were never set", device, `[{"at":"0001-01-01T00:00:00Z","values":{"t":7}},{"at":"0001-01-01T01:00:00+01:00","values":{"t":8}},{"at":"0000-01-01T00:00:00Z","values":{"t":9}},{"at":0,"values":{"t":7}},{"at":"9999-12-31T23:59:59Z","values":{"t":9}}]`,
			202, "clock_implausible clock_implausible clock_implausible clock_implausible clock_implausible"},
		{"of another", device, `{"device":"d2","values":{"t":1}}`, 202, "other_device"},
		{"by a key that writes", w.keys[accounts.Write], `{"device":"d2","values":{"t":2}}`, 202, "stored"},
		{"nothing", device, `[]`, 202, ""},
		{"no JSON", device, `{"values":`, 400, ""},
		{"something else", device, `17`, 400, ""},
		{"too many", device, "[" + strings.Repeat(`{"values":{}},`, 5000) + `{"values":{}}]`, 413, ""},
		{"by a key that reads", w.keys[accounts.Read], `{"device":"d2","values":{"t":3}}`, 403, ""},
		{"by nobody", "", `{"device":"d2","values":{"t":3}}`, 401, ""},
		{"by a wrong token", device + "x", `{"values":{"t":3}}`, 401, ""},
		{"by another's token", "d1." + strings.TrimPrefix(w.tokens["d2"], "d2."), `{"values":{"t":3}}`, 401, ""},
		{"by who reads everything", servertest.Token, `{"device":"d2","values":{"t":3}}`, 401, ""},
	} {
		status, answer := w.Post("/api/readings", c.body, bearer(c.token)...)
		if status != c.status || status == 202 && outcomes(t, answer) != c.want {
			t.Errorf("%s: %d %.300s", c.name, status, answer)
		}
		if status != 202 && !strings.Contains(answer, "urn:onefold:error:") {
			t.Errorf("%s: %.300s has no code", c.name, answer)
		}
	}
	if have := w.stored("d1"); fmt.Sprint(have) != "[door=open t=1.5 t=2 t=3]" {
		t.Errorf("stored of d1: %v", have)
	}
	if have := w.stored("d2"); fmt.Sprint(have) != "[t=1 t=2]" || w.stored("theirs") != nil {
		t.Errorf("stored of d2: %v", have)
	}
}

func zipped(t *testing.T, text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	servertest.Must(t, err)
	servertest.Must(t, z.Close())
	return b.String()
}

// Telegraf writes some points in several lines, which are one reading, also of a rejected point.
func TestLinesOfAPointAreOneReading(t *testing.T) {
	w := newWorks(t)
	at := time.Now().Add(-time.Minute).UnixNano()
	body := fmt.Sprintf("system,host=d1 load1=0.5,n_users=2i %[1]d\nsystem,host=nobody a=1 %[1]d\nsystem,host=d1 uptime=90i %[1]d\ncpu,host=d1 idle=1 %[1]d\nsystem,host=nobody b=1 %[1]d\n", at)
	for range 2 { // and again, as after a lost response
		status, answer := w.Post("/api/v2/write?bucket=plant", body, "Authorization", "Token "+w.keys[accounts.Ingest])
		if status != 400 || !strings.Contains(answer, "2 of 5 lines were rejected, the others are stored: line 2: ") || !strings.Contains(answer, "; line 5: ") || strings.Count(answer, `"reason":"unknown_device"`) != 2 {
			t.Errorf("%d %s", status, answer)
		}
	}
	if got, want := fmt.Sprint(w.stored("d1")), "[cpu.idle=1 system.load1=0.5 system.n_users=2 system.uptime=90]"; got != want {
		t.Errorf("stored %s, want %s", got, want)
	}
	var page struct {
		Readings []struct{ Values map[string]any }
	}
	servertest.Must(t, json.Unmarshal([]byte(w.owner.Want(200, "", "GET", plantPath+"/devices/d1/readings", "")), &page))
	if len(page.Readings) != 2 {
		t.Errorf("%d readings, want one of system and one of cpu: %v", len(page.Readings), page.Readings)
	}
}

// Requests and responses of InfluxDB clients.
func TestLinesOverHTTP(t *testing.T) {
	w := newWorks(t)
	now := time.Now()
	device, key := w.tokens["d1"], w.keys[accounts.Ingest]
	basic := []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("telegraf:"+key))}
	token := []string{"Authorization", "Token " + key}
	line := func(device string, v int) string {
		return fmt.Sprintf("w,device=%s t=%d %d\n", device, v, now.UnixNano())
	}
	const v2 = "/api/v2/write?org=o&bucket=plant"
	for _, c := range []struct {
		name, path, body string
		headers          []string
		status           int
		says             string
	}{
		{"good", v2, line("d1", 1) + line("d2", 2), token, 204, ""},
		{"again", v2, line("d1", 1), bearer(key), 204, ""},
		{"packed", v2, zipped(t, line("d1", 3)), append(slices.Clone(token), "Content-Encoding", "gzip"), 204, ""},
		{"seconds", v2 + "&precision=s", fmt.Sprintf("w,host=d1 t=4 %d", now.Unix()), token, 204, ""},
		{"a device's own", v2, "w,host=here t=5\n", bearer(device), 204, ""},
		{"without a bucket", "/api/v2/write", "w t=6\n", bearer(device), 204, ""},
		{"nothing", v2, "\n# nothing\n", token, 204, ""},
		{"some are wrong", v2, line("d1", 7) + "broken\n\n" + line("nobody", 1) + line("theirs", 1) + "w t=1\n" + line("d1", 8), token, 400,
			`{"code":"invalid","message":"partial write: 4 of 6 lines were rejected, the others are stored: line 2: `},
		{"of another device", v2, line("d2", 9), bearer(device), 400, `"line":1,"reason":"bad_line"`},
		{"another fleet's bucket", "/api/v2/write?bucket=other", line("d1", 9), token, 404, `"code":"not found"`},
		{"nobody", v2, line("d1", 9), nil, 401, `"code":"unauthorized"`},
		{"a key that reads", v2, line("d1", 9), bearer(w.keys[accounts.Read]), 403, `"code":"forbidden"`},
		{"no such precision", v2 + "&precision=d", line("d1", 9), token, 400, "precision"},
		{"not packed", v2, "x", append(slices.Clone(token), "Content-Encoding", "gzip"), 400, "gzip"},
		{"packed otherwise", v2, "x", append(slices.Clone(token), "Content-Encoding", "br"), 415, "gzip"},
		{"too much, packed", v2, zipped(t, strings.Repeat(" ", 9<<20)), append(slices.Clone(token), "Content-Encoding", "gzip"), 413, `"code":"request too large"`},
		{"too much", v2, strings.Repeat(" ", 9<<20), token, 413, `{"code":"request too large","message":"The body is larger than 8 MiB. `},
		{"version 1, too much", "/write?db=plant", strings.Repeat(" ", 9<<20), basic, 413, `{"error":"The body is larger than 8 MiB. `},
		{"too many lines", v2, strings.Repeat("w t=1\n", 20_001), token, 413, ""},
		{"version 1", "/write?db=plant&precision=ms", fmt.Sprintf("w,host=d1 t=10 %d", now.UnixMilli()), basic, 204, ""},
		{"version 1, by parameters", "/write?db=plant/autogen&u=x&p=" + key, line("d1", 11), nil, 204, ""},
		{"version 1, wrong", "/write?db=plant", "broken", basic, 400, `{"error":"partial write: 1 of 1`},
		{"version 1, no password", "/write?db=plant", line("d1", 12), nil, 401, `{"error":`},
		{"version 1, its database", "/query", "q=CREATE+DATABASE+%22plant%22", []string{"Content-Type", "application/x-www-form-urlencoded"}, 200, "results"},
		{"version 1, a question", "/query", "q=SELECT+1", []string{"Content-Type", "application/x-www-form-urlencoded"}, 400, "error"},
	} {
		status, answer := w.Post(c.path, c.body, c.headers...)
		if status != c.status || !strings.Contains(answer, c.says) || (status == 204) != (answer == "") {
			t.Errorf("%s: %d %.300s", c.name, status, answer)
		}
	}
	have := w.stored("d1")
	if want := "[w.t=1 w.t=10 w.t=11 w.t=3 w.t=4 w.t=5 w.t=6 w.t=7 w.t=8]"; fmt.Sprint(have) != want {
		t.Errorf("stored of d1: %v", have)
	}
	for path, want := range map[string]int{"/ping": 204, "/api/v2/ping": 204, "/health": 200} {
		if status, _ := w.Get(path); status != want {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// A device that sends too much is told when to retry, over any protocol, and what it sends again
// counts once.
func TestTooFast(t *testing.T) {
	w := newWorks(t)
	w.owner.Want(http.StatusOK, `"perMinute":60`, http.MethodPatch, "/api/v1/fleets/plant", `{"limits":{"perMinute":60}}`)
	var list, lines []string
	for i := range 200 {
		list = append(list, fmt.Sprintf(`{"seq":%d,"values":{"t":1}}`, i))
		lines = append(lines, fmt.Sprintf("w t=%d", i))
	}
	for path, body := range map[string]string{"/api/readings": "[" + strings.Join(list, ",") + "]", "/api/v2/write?bucket=plant": strings.Join(lines, "\n")} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+path, strings.NewReader(body))
		servertest.Must(t, err)
		r.Header.Set("Authorization", "Bearer "+w.tokens["d1"])
		answer, err := http.DefaultClient.Do(r)
		servertest.Must(t, err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d, Retry-After %q", path, answer.StatusCode, answer.Header.Get("Retry-After"))
		}
	}
	if n := len(w.stored("d1")); n == 0 || n >= 200 {
		t.Errorf("%d stored", n)
	}
}
