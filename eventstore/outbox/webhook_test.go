package outbox_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/subscription"
)

const secret, oldSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "an old secret that is not base64"

// receiver is a server that records the IDs of events it accepts, and their order.
type receiver struct {
	*httptest.Server
	t        *testing.T
	answer   func(w http.ResponseWriter, r *http.Request, ids []string) // 204 if it does nothing
	mu       sync.Mutex
	accepted []string
	requests int
}

func newReceiver(t *testing.T, answer func(http.ResponseWriter, *http.Request, []string)) *receiver {
	r := &receiver{t: t, answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	if s.code = code; code != 0 {
		s.ResponseWriter.WriteHeader(code)
	}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	body, err := io.ReadAll(q.Body)
	if err != nil {
		r.t.Error(err)
	}
	r.verify(q.Header, body)
	if form := q.Header.Get("Content-Type"); form != outbox.StructuredType && form != outbox.BatchType {
		r.t.Errorf("the content type is %s", form)
	}
	ids := idsIn(body)
	s := &status{w, 0}
	if r.answer != nil {
		r.answer(s, q, ids)
	}
	if s.code == 0 {
		w.WriteHeader(http.StatusNoContent)
	}
	if s.code < 300 {
		r.accepted = append(r.accepted, ids...)
	}
}

func idsOf(r *http.Request) []string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return idsIn(body)
}

// idsIn returns the IDs of the events in a body.
func idsIn(body []byte) (ids []string) {
	if !bytes.HasPrefix(body, []byte("[")) {
		body = slices.Concat([]byte("["), body, []byte("]"))
	}
	var events []struct{ ID string }
	if err := json.Unmarshal(body, &events); err != nil {
		panic(err)
	}
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

// verify checks the signatures as standardwebhooks.com says, without the code of the sender.
func (r *receiver) verify(h http.Header, body []byte) {
	at, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)).Abs() > 10*time.Minute {
		r.t.Errorf("the timestamp is %q", h.Get("webhook-timestamp"))
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		r.t.Error(err)
	}
	var want []string
	for _, key := range [][]byte{raw, []byte(oldSecret)} {
		mac := hmac.New(sha256.New, key)
		io.WriteString(mac, h.Get("webhook-id")+"."+h.Get("webhook-timestamp")+"."+string(body))
		want = append(want, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if got := h.Get("webhook-signature"); got != strings.Join(want, " ") {
		r.t.Errorf("the signature is %q", got)
	}
}

// handler returns the handler of a subscription that posts to the receiver.
func (r *receiver) handler(change func(*outbox.WebhookOptions)) subscription.Handler {
	o := outbox.WebhookOptions{URL: r.URL + "/secret-path", Secrets: []string{secret, oldSecret}, Private: true, Header: http.Header{"authorization": {"Bearer x"}, "Webhook-Id": {"forged"}}}
	if change != nil {
		change(&o)
	}
	w, err := outbox.NewWebhook(o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(w.Close)
	return outbox.To(w, outbox.Options{})
}

func batches(n int) func(*outbox.WebhookOptions) {
	return func(o *outbox.WebhookOptions) { o.Batch = n }
}

// isPermanent reports whether a subscription would park the event at once.
func isPermanent(err error) bool {
	want := subscription.Permanent(nil)
	for ; err != nil; err = errors.Unwrap(err) {
		if sameType(err, want) {
			return true
		}
	}
	return false
}

func TestWebhookStructured(t *testing.T) {
	var headers []http.Header
	r := newReceiver(t, func(_ http.ResponseWriter, q *http.Request, _ []string) { headers = append(headers, q.Header) })
	if n, err := r.handler(nil)(t.Context(), feed("a", "b", "a")); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	if !slices.Equal(r.accepted, []string{"a-1", "b-1", "a-2"}) || r.requests != 3 {
		t.Errorf("%d requests: %v", r.requests, r.accepted)
	}
	if h := headers[2]; h.Get("webhook-id") != "a-2" || h.Get("Authorization") != "Bearer x" || h.Get("User-Agent") != "onefold" {
		t.Errorf("the headers are %v", h)
	}
}

func TestWebhookBatch(t *testing.T) {
	var ids []string
	r := newReceiver(t, func(_ http.ResponseWriter, q *http.Request, _ []string) {
		ids = append(ids, q.Header.Get("webhook-id"))
	})
	handle := r.handler(batches(2))
	for range 2 {
		if n, err := handle(t.Context(), feed("a", "a", "a")); n != 3 || err != nil {
			t.Fatal(n, err)
		}
	}
	if r.requests != 4 || ids[0] != ids[2] || ids[1] != ids[3] || ids[0] == ids[1] || !strings.HasPrefix(ids[0], "batch_") {
		t.Errorf("%d requests: %v", r.requests, ids)
	}
	large := feed("a", "a", "a")
	large[0].Payload = eventstore.Payload(`"` + strings.Repeat("x", 3000) + `"`)
	r.requests = 0
	if n, err := r.handler(func(o *outbox.WebhookOptions) { o.Batch, o.BatchBytes = 100, 2500 })(t.Context(), large); n != 3 || err != nil || r.requests != 2 {
		t.Errorf("%d of large events in %d requests: %v", n, r.requests, err)
	}
}

// TestWebhookRefusals has a receiver that refuses the third event with each status.
func TestWebhookRefusals(t *testing.T) {
	for code, permanent := range map[int]bool{
		301: false, 302: false, 307: false, 308: false, 400: true, 401: false, 403: false, 404: false, 405: false, 408: false, 410: true, 413: true, 421: false, 422: true, 425: false, 429: false,
		500: false, 502: false, 503: false,
	} {
		for _, batch := range []int{0, 1, 5} {
			r := newReceiver(t, func(w http.ResponseWriter, q *http.Request, ids []string) {
				if slices.Contains(ids, "c-1") {
					w.Header().Set("Location", "/elsewhere")
					w.WriteHeader(code)
				}
				if q.URL.Path != "/secret-path" {
					t.Errorf("%d: followed a redirect", code)
				}
			})
			want := 2
			if batch > 1 && (!permanent || code == 410) {
				want = 0
			}
			n, err := r.handler(batches(batch))(t.Context(), feed("a", "b", "c", "d", "c"))
			if n != want || err == nil || isPermanent(err) != permanent || strings.Contains(err.Error(), "secret-path") {
				t.Errorf("%d in batches of %d: %d accepted, %v", code, batch, n, err)
			}
			if !slices.Equal(r.accepted, []string{"a-1", "b-1"}[:want]) {
				t.Errorf("%d in batches of %d: got %v", code, batch, r.accepted)
			}
		}
	}
}

func TestWebhookRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"7": 7 * time.Second, "999999": 5 * time.Minute, "-1": 0, "0": 0, "": 0, "soon": 0, "99999999999999999999": 0,
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat):  5 * time.Minute,
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 0,
	} {
		now, slept, refuse := time.Now(), time.Duration(0), true
		r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ []string) {
			if refuse {
				w.Header().Set("Retry-After", header)
				w.WriteHeader(http.StatusTooManyRequests)
			}
		})
		handle := r.handler(func(o *outbox.WebhookOptions) {
			o.Now = func() time.Time { return now }
			o.Sleep = func(_ context.Context, d time.Duration) error {
				slept, now = slept+max(d, 0), now.Add(max(d, 0))
				return nil
			}
		})
		if n, err := handle(t.Context(), feed("a")); n != 0 || err == nil || slept != 0 {
			t.Errorf("%q: %d, %v, slept %s", header, n, err, slept)
		}
		refuse = false
		if n, err := handle(t.Context(), feed("a", "b")); n != 2 || err != nil || slept != want {
			t.Errorf("%q: %d, %v, slept %s, not %s", header, n, err, slept, want)
		}
	}
}

func TestWebhookHostile(t *testing.T) {
	slow := make(chan struct{})
	defer close(slow)
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, []string){
		"never answers": func(_ http.ResponseWriter, q *http.Request, _ []string) {
			select {
			case <-slow:
			case <-q.Context().Done():
			}
		},
		"closes": func(http.ResponseWriter, *http.Request, []string) { panic(http.ErrAbortHandler) },
		"huge header": func(w http.ResponseWriter, _ *http.Request, _ []string) {
			w.Header().Set("X", strings.Repeat("x", 100<<10))
			w.WriteHeader(200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, answer)
			n, err := r.handler(func(o *outbox.WebhookOptions) { o.Timeout = 100 * time.Millisecond })(t.Context(), feed("a"))
			if n != 0 || err == nil || isPermanent(err) || strings.Contains(err.Error(), "secret-path") {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
	written := 0
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ []string) {
		w.WriteHeader(http.StatusOK)
		for written = 0; written < 64<<20; {
			n, err := w.Write(make([]byte, 64<<10))
			if written += n; err != nil {
				return
			}
		}
	})
	if n, err := r.handler(nil)(t.Context(), feed("a")); n != 1 || err != nil {
		t.Errorf("a huge response: %d, %v", n, err)
	}
	if r.Close(); written >= 64<<20 {
		t.Error("read a huge response")
	}
}

func TestWebhookOptions(t *testing.T) {
	good := outbox.WebhookOptions{URL: "https://example.com/", Secrets: []string{secret}}
	for name, change := range map[string]func(*outbox.WebhookOptions){
		"no URL": func(o *outbox.WebhookOptions) { o.URL = "" }, "scheme": func(o *outbox.WebhookOptions) { o.URL = "ftp://example.com" },
		"user": func(o *outbox.WebhookOptions) { o.URL = "https://me@example.com" }, "private": func(o *outbox.WebhookOptions) { o.URL = "http://127.0.0.1" },
		"no secret": func(o *outbox.WebhookOptions) { o.Secrets = nil }, "short secret": func(o *outbox.WebhookOptions) { o.Secrets = []string{"whsec_MfKQ9r8GKYqrTwj="} },
		"batch": func(o *outbox.WebhookOptions) { o.Batch = 1001 },
	} {
		o := good
		change(&o)
		if _, err := outbox.NewWebhook(o); !errors.Is(err, outbox.ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good.Secrets = []string{outbox.NewSecret()}
	if _, err := outbox.NewWebhook(good); err != nil {
		t.Error(err)
	}
}
