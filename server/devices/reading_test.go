package devices_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
)

// measured sends a reading a minute of yesterday's hour at 12:00 UTC and the one after it: t from 0
// to 119.
func (w *works) measured() (start time.Time) {
	w.Helper()
	start = time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	var all []string
	for i := range 120 {
		all = append(all, fmt.Sprintf(`{"at":%d,"values":{"t":%d,"door":"%s"}}`, start.Add(time.Duration(i)*time.Minute).UnixMilli(), i, []string{"open", "=shut"}[i/60]))
	}
	if status, answer := w.Post("/api/readings", "["+strings.Join(all, ",")+"]", bearer(w.tokens["d1"])...); status != 202 || strings.Count(answer, `"late"`) != 120 {
		w.Fatalf("%d %.300s", status, answer)
	}
	servertest.Must(w.T, w.Worker.Drain(w.Context()))
	return start
}

func TestReading(t *testing.T) {
	w := newWorks(t)
	start := w.measured()
	read := w.Browser()
	const d1 = plantPath + "/devices/d1"
	get := func(path, want string) string {
		t.Helper()
		return read.Want(200, want, "GET", d1+path, "", bearer(w.keys[accounts.Read])...)
	}
	times := func(from, to time.Duration) string {
		return "from=" + start.Add(from).Format(time.RFC3339) + "&to=" + start.Add(to).Format(time.RFC3339)
	}
	get("/series?metric=t&resolution=hourly&"+times(0, 2*time.Hour), `"value":29.5,"figures":{"metric":"t","kind":"gauge","count":60,`)
	get("/series?metric=t&resolution=raw&maxPoints=10&"+times(0, time.Hour), `"thinned":true`)
	get("/series?metric=t&"+times(-time.Hour, 2*time.Hour), `"resolution":"raw"`)
	get("/series?metric=none&"+times(0, time.Hour), `"points":[]`)
	get("/latest", `"t":119`)
	get("/aggregates?"+times(0, time.Hour), `"start":"`+start.Format(time.RFC3339)+`","readings":60`)
	if answer := get("/aggregates?"+times(time.Second, 2*time.Hour), `"readings":60`); strings.Count(answer, `"start"`) != 1 {
		t.Errorf("aggregates: %s", answer)
	}
	get("/aggregates?"+times(0, 0+time.Millisecond*0+time.Hour)+"&period=daily", `"aggregates":[]`)
	var seen []float64
	for cursor := ""; ; {
		var page struct {
			Readings []struct{ Values struct{ T float64 } }
			Cursor   string
		}
		servertest.Must(t, json.Unmarshal([]byte(get("/readings?limit=7&cursor="+cursor+"&"+times(time.Minute, time.Hour), "")), &page))
		for _, r := range page.Readings {
			seen = append(seen, r.Values.T)
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if len(seen) != 59 || seen[0] != 1 || seen[58] != 59 {
		t.Errorf("readings: %v", seen)
	}
	if text := get("/export?"+times(0, 2*time.Hour), "at,arrived,metric,value,late\n"); strings.Count(text, "\n") != 241 || !strings.Contains(text, "door,'=shut,true") {
		t.Errorf("CSV has %d lines: %.200s", strings.Count(text, "\n"), text)
	}
	if text := get("/export?format=jsonl&"+times(0, 2*time.Hour), `"t":119`); strings.Count(text, "\n") != 120 {
		t.Errorf("JSON has %d lines", strings.Count(text, "\n"))
	}
	get("/export?kind=aggregates&"+times(0, 2*time.Hour), ",t,60,1770,29.5,0,59,")
	for path, code := range map[string]string{
		"/series?metric=t&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z": "bad_range", "/series?metric=t&resolution=weekly": "invalid_request", "/series": "invalid_request",
		"/series?metric=t&maxPoints=2": "invalid_request", "/readings?from=yesterday": "invalid_request", "/readings?cursor=x": "bad_cursor", "/aggregates?cursor=x": "bad_cursor",
		"/export?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z": "bad_range", "/series?metric=%23": "invalid_request",
	} {
		read.Want(422, code, "GET", d1+path, "", bearer(w.keys[accounts.Read])...)
	}
	read.Want(400, "unknown_parameter", "GET", d1+"/series?metric=t&resolutoin=raw", "", bearer(w.keys[accounts.Read])...)
	for _, path := range []string{"/series?metric=t", "/readings", "/latest", "/aggregates", "/export", "/quarantine", "/retractions", ""} {
		read.Want(404, "not_found", "GET", plantPath+"/devices/theirs"+path, "", bearer(w.keys[accounts.Read])...)
		read.Want(403, "forbidden", "GET", d1+path, "", bearer(w.theirs[accounts.Write])...)
		read.Want(401, "unauthorized", "GET", d1+path, "", bearer(w.tokens["d1"])...)
	}
}

func TestRetractions(t *testing.T) {
	w := newWorks(t)
	start := w.measured()
	const d1 = plantPath + "/devices/d1"
	body := fmt.Sprintf(`{"from":%q,"to":%q,"metrics":["t"],"reason":"sensor wet"}`, start.Format(time.RFC3339), start.Add(30*time.Minute).Format(time.RFC3339))
	id := field(t, w.owner.Want(201, "sensor wet", "POST", d1+"/retractions", body), "id")
	w.owner.Want(422, "bad_range", "POST", d1+"/retractions", `{"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}`)
	path := d1 + "/series?metric=t&resolution=hourly&from=" + start.Format(time.RFC3339) + "&to=" + start.Add(time.Hour).Format(time.RFC3339)
	w.eventually(path, `"count":30`)
	w.owner.Want(204, "", "DELETE", d1+"/retractions/"+id, "")
	w.eventually(path, `"count":60`)
	w.owner.Want(404, "not_found", "DELETE", d1+"/retractions/01J00000000000000000000000", "")
	if _, answer := w.Post("/api/readings", `{"at":1000,"values":{"t":1}}`, bearer(w.tokens["d1"])...); outcomes(t, answer) != "clock_implausible" {
		t.Errorf("%s", answer)
	}
	w.owner.Want(200, `"claimed":"1970-01-01T00:00:01Z"`, "GET", d1+"/quarantine", "")
}

// eventually waits for background work.
func (w *works) eventually(path, want string) {
	w.Helper()
	var answer string
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		servertest.Must(w.T, w.Worker.Drain(w.Context()))
		if _, answer = w.owner.Do("GET", path, ""); strings.Contains(answer, want) {
			return
		}
	}
	w.Fatalf("%s: %.400s, want %s", path, answer, want)
}

// A live stream of a device has its readings, over whatever protocol, and nothing of others.
func TestTail(t *testing.T) {
	w := newWorks(t)
	for i, path := range []string{plantPath + "/devices/d1/tail", plantPath + "/tail"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL+path, nil)
		servertest.Must(t, err)
		r.Header.Set("Authorization", "Bearer "+w.keys[accounts.Read])
		answer, err := http.DefaultClient.Do(r)
		servertest.Must(t, err)
		lines := bufio.NewScanner(answer.Body)
		next := func() string {
			for lines.Scan() {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					return data
				}
			}
			t.Fatalf("%s ended: %v", path, lines.Err())
			return ""
		}
		if first := next(); !strings.Contains(first, "now") {
			t.Errorf("first: %s", first)
		}
		reading := func() string {
			for {
				if data := next(); !strings.HasPrefix(data, `{"now"`) {
					return data
				}
			}
		}
		at := time.Now().Add(-time.Duration(i+1) * time.Minute).UTC().Format(time.RFC3339Nano) // distinct times, however fast the test runs
		for _, send := range []struct{ token, body string }{
			{w.tokens["theirs"], `{"values":{"t":1}}`}, {w.tokens["d1"], `{"at":"` + at + `","values":{"t":2}}`}, {w.tokens["d1"], `{"at":"` + at + `","values":{"t":2}}`}, {w.tokens["d1"], `{"seq":` + strconv.Itoa(i) + `,"values":{"t":3}}`},
		} {
			w.Post("/api/readings", send.body, bearer(send.token)...)
		}
		for _, want := range []string{`{"t":2}`, `{"t":3}`} {
			if have := reading(); !strings.Contains(have, `"device":"d1"`) || !strings.Contains(have, want) {
				t.Errorf("%s: %s, want %s", path, have, want)
			}
		}
		answer.Body.Close()
	}
}
