package webanalytics_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/server/webanalytics"
)

// postUnmeasured sends a body without a known length, which never takes the fast path.
func postUnmeasured(h *servertest.Server, path, body string, headers ...string) (int, string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), http.MethodPost, h.URL+path, io.MultiReader(strings.NewReader(body)))
	servertest.Must(h.T, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", servertest.Firefox)
	return h.Do(r, headers)
}

// tooLong returns events each of which has one field that exceeds its tag by a character.
func tooLong(t *testing.T) (bodies []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[webanalytics.Event]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		for tag, by := range map[string]int{"maxLength": 1, "minLength": -1} {
			limit := f.Tag.Get(tag)
			if limit == "" {
				continue
			}
			n, err := strconv.Atoi(limit)
			servertest.Must(t, err)
			fields := map[string]string{"site": "blog", "url": "/"}
			fields[name] = strings.Repeat("ü", n+by)
			body, err := json.Marshal(fields)
			servertest.Must(t, err)
			bodies = append(bodies, string(body))
		}
	}
	return bodies
}

// The fast path does not change responses.
func TestFastPathResponses(t *testing.T) {
	h := servertest.New(t, func(o *server.Options) { o.Analytics.EventPath = "/numbers" })
	bodies := append(tooLong(t), `{}`, `{"site":"blog"}`, `{"site":"","url":"/"}`, `{"site":"nobody","url":"/"}`, `{"site":"blog","url":"/"} x`,
		`{"site":"blog","url":"/","more":1}`, `{"site":"blog","url":null}`, `{"site":"blog","url":"/","props":{"a":1}}`, `{"site":"blog","url":"/","scroll":1.5}`,
		`{"site":"blog","url":"/","at":"yesterday"}`, `{"site":"blog","url":"/","visitor":{"address":"192.0.2.1"}}`, `{"site":"a#b","url":"/"}`,
		`{"site":"blog","url":"/","visitor":{"address":"192.0.2.1","userAgent":"x"}}`, `{"site":"blog","events":[]}`, `{"site":"blog","events":[{"url":""}]}`,
		`{"Site":"blog","URL":"/"}`, `{"site":"blog","url":"/","url":"/b"}`, "{\"site\":\"blog\",\"url\":\"/\xff\"}", `{"site":"blog","url":"/\ud800"}`, `{"site":"blog","url":"/","engagedMs":1.0}`,
		`{"site":"blog","url":"/","engagedMs":1e2}`, `{"site":"blog","url":"/","engagedMs":"1"}`, `{"site":"blog","url":"/","lcp":1e400}`, `{"site":"blog","url":"/","at":"2026-05-12T14:00:00,5Z"}`, `{"site":"blog","url":"/","at":"2026-05-12t14:00:00z"}`,
		`{"site":"blog","url":"/","at":"2026-05-12T14:00:00+24:00"}`, `{"site":"blog","url":"/","at":""}`, `{"site":"blog","events":[{"url":"/"},]}`, ` {"site":"blog","url":"/"} `,
		`[`, `"text"`, `{"site":"blog","id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","url":"/"}`, `{"site":"blog","url":"javascript:alert(1)"}`,
		fmt.Sprintf(`{"site":"blog","url":"/","props":{%s"z":"1"}}`, manyProperties(30)),
		`{"site":"blog","events":[{"id":"not a ULID","url":"/"},{"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","url":"/a"}]}`)
	for _, body := range bodies {
		for _, path := range []string{"/api/event", "/api/events", "/numbers"} {
			status, quick := h.Post(path, body)
			wantStatus, want := postUnmeasured(h, path, body)
			if status != wantStatus || inOrder(t, quick) != inOrder(t, want) {
				t.Errorf("%s %.200s:\n%d %s\nwant\n%d %s", path, body, status, quick, wantStatus, want)
			}
		}
	}
}

func manyProperties(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"p%d":"v",`, i)
	}
	return b.String()
}

// inOrder normalizes a response: without the clock and IDs, which may differ, and with its errors
// in order.
func inOrder(t *testing.T, body string) string {
	t.Helper()
	var answer map[string]any
	servertest.Must(t, json.Unmarshal([]byte(body), &answer))
	delete(answer, "now")
	outcomes, _ := answer["outcomes"].([]any)
	for _, o := range outcomes {
		delete(o.(map[string]any), "id") // of an event without one
	}
	list, _ := answer["errors"].([]any)
	slices.SortFunc(list, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	text, err := json.Marshal(answer)
	servertest.Must(t, err)
	return string(text)
}
