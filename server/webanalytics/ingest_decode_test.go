package webanalytics

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/server/internal/middleware"
)

var plainBodies = []string{
	`{"site":"blog","id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","url":"https://example.org/a?b=c","referrer":"","screen":"1440x900","language":"en-GB"}`,
	` { "site" : "blog" , "url" : "/ü" , "props" : { "a" : "1" , "b" : "" } , "engagedMs" : 12 , "scroll" : 0 , "revenue":"12.50" } ` + "\r\n\t",
	`{"site":"blog","url":"/","name":"x","userId":"u","sessionId":"s","visitor":{"address":"192.0.2.1","userAgent":"x"},"props":{}}`,
	`{"site":"blog","events":[{"url":"/"},{"url":"/","visitor":{"userAgent":"x","address":"192.0.2.1"}},{"url":"/","engagedMs":-1}]}`,
	`{"events":[{"url":"/a","language":"de"},{"url":"/b","language":"de"}],"site":"blog"}`,
}

// otherBodies are those that decodePlain leaves to the general decoder, valid or not.
var otherBodies = []string{
	``, `{`, `{}x`, `{"site":"blog","url":"/","url":"/b"}`, `{"site":"blog","url":"/\u00e4"}`, "{\"site\":\"blog\",\"url\":\"/\xff\"}", "{\"site\":\"blog\",\"url\":\"/\n\"}",
	`{"site":"blog","url":"/","scroll":01}`, `{"site":"blog","url":"/","scroll":-}`, `{"site":"blog","url":"/","scroll":1.0}`, `{"site":"blog","url":"/","scroll":1e2}`,
	`{"site":"blog","url":"/","scroll":99999999999}`, `{"site":"blog","url":"/","at":"2026-05-12T14:00:00Z"}`, `{"site":"blog","url":"/","lcp":1200.5}`,
	`{"site":"blog","url":"/","props":{"a":"1","a":"2"}}`, `{"site":"blog","url":"/","props":{"a":1}}`, `{"site":"blog","url":"/","more":1}`, `{"site":"blog","url":"/",}`,
	`{"Site":"blog","url":"/"}`, `{"site":"blog","url":7}`, `{"site":"blog","url":"/","visitor":{"address":"a","address":"b"}}`, `{"site" "blog"}`, `{"site":"blog","url":"/`,
}

// same compares the results of both decoders for a body.
func same(t *testing.T, body string, many bool) (plain bool) {
	t.Helper()
	site, events, ok := decodePlain([]byte(body), many)
	if !ok {
		return false
	}
	wantSite, want, wantOK := decodeAny([]byte(body), many)
	if !wantOK || site != wantSite || !reflect.DeepEqual(events, want) {
		t.Errorf("%q: %q %+v, want %q %+v (%v)", body, site, events, wantSite, want, wantOK)
	}
	return true
}

func TestDecodePlain(t *testing.T) {
	for _, body := range plainBodies {
		one, many := same(t, body, false), same(t, body, true)
		if one == many {
			t.Errorf("%s: one %v, many %v", body, one, many)
		}
	}
	for _, body := range otherBodies {
		if same(t, body, false) || body != "" && same(t, `{"site":"blog","events":[`+body+`]}`, true) {
			t.Errorf("%s: was read", body)
		}
	}
	if events := strings.Repeat(`{"url":"/"},`, maxEvents); same(t, `{"site":"blog","events":[`+events+`{"url":"/"}]}`, true) {
		t.Error("a batch that is too large was read")
	}
}

func FuzzDecodePlain(f *testing.F) {
	for _, body := range append(plainBodies, otherBodies...) {
		f.Add(body, false)
		f.Add(body, true)
	}
	f.Fuzz(func(t *testing.T, body string, many bool) { same(t, body, many) })
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"site":"blog","id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","url":"https://example.org/blog/post-17?utm_source=letter","referrer":"https://news.ycombinator.com/item?id=1","screen":"1440x900","language":"en-GB"}`)
	batch := []byte(`{"site":"blog","events":[` + strings.TrimSuffix(strings.Repeat(`{"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","url":"/blog/post-17","screen":"1440x900","language":"en-GB","visitor":{"address":"192.0.2.1","userAgent":"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}},`, 500), ",") + `]}`)
	for _, c := range []struct {
		name   string
		decode func([]byte, bool) (string, []Event, bool)
	}{{"plain", decodePlain}, {"any", decodeAny}} {
		b.Run("one/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.decode(body, false)
			}
		})
		b.Run("batch/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.decode(batch, true)
			}
		})
	}
}

// Responses are the same as those of an encoder.
func TestAppendOutcomes(t *testing.T) {
	for _, text := range []string{"", "01ARZ3NDEKTSV4RRFFQ69G5FAV", `a "b" \ c`, "ä\u2028\x00\x7f<&>\xff"} {
		var o outcomes
		o.Body.Now = 1747058400000
		for n := range 3 {
			var want bytes.Buffer
			if err := middleware.PlainJSON(&want).Encode(o.Body); err != nil {
				t.Fatal(err)
			}
			if got := string(o.appendTo(nil)); n > 0 && got != want.String() {
				t.Errorf("%s\nwant\n%s", got, want.String())
			}
			o.Body.Outcomes = append(o.Body.Outcomes, analytics.Outcome{EventID: text, Status: analytics.Stored},
				analytics.Outcome{EventID: text, Status: analytics.Rejected, Reason: analytics.Reason(text), Detail: text})
		}
	}
}
