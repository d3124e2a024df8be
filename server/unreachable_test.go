package server_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go/middleware"

	"github.com/onefold/onefold/dynamo/resilient"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
)

// away is a database behind the SDK's client on a connection that can be cut.
type away struct {
	*resilient.Store
	*resilient.Streams
	cut atomic.Bool
}

// newAway returns a database as a server sees a shared one, with short timeouts.
func newAway(t *testing.T) (*away, *enginetest.DB) {
	t.Helper()
	a, db := &away{}, enginetest.New(t, enginetest.At(time.Now()))
	scissors := func(stack *middleware.Stack) error {
		return stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("scissors", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			if a.cut.Load() {
				return middleware.FinalizeOutput{}, middleware.Metadata{}, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			}
			return next.HandleFinalize(ctx, in)
		}), middleware.Before)
	}
	client, streams := db.Client(), db.StreamsClient()
	clientOptions, streamOptions := client.Options(), streams.Options()
	clientOptions.APIOptions, streamOptions.APIOptions = append(clientOptions.APIOptions, scissors), append(streamOptions.APIOptions, scissors)
	o := resilient.Options{Attempts: 2, Failures: 3, OpenFor: time.Millisecond, Sleep: func(context.Context, time.Duration) error { return nil }}
	a.Store = resilient.Wrap(dynamodb.New(clientOptions), o)
	a.Streams = resilient.WrapStreams(dynamodbstreams.New(streamOptions), o)
	return a, db
}

// ask sends a request and returns the response with its body.
func ask(t *testing.T, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	servertest.Must(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", servertest.Firefox)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	servertest.Must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	servertest.Must(t, err)
	return answer, string(text)
}

// The responses of each protocol while the store throttles and while it is unreachable, and that
// everything works when it is back.
func TestUnavailableStore(t *testing.T) {
	a, db := newAway(t)
	h := servertest.On(t, a, func(o *server.Options) { o.Service, o.StreamService = a.Store, a.Streams })
	reader := []string{"Authorization", "Bearer " + servertest.Token}
	requests := []struct {
		method, path, body string
		header             []string
	}{
		{http.MethodPost, "/api/event", `{"site":"blog","url":"/"}`, nil},
		{http.MethodPost, "/api/events", `{"site":"blog","events":[{"url":"/"},{"url":"/b"}]}`, nil},
		{http.MethodPost, "/api/event", `{"site":"other","url":7}`, nil},
		{http.MethodPost, "/api/readings", `{"values":{"t":1}}`, []string{"Authorization", "Bearer d1.abcdefghijklmnopqrstuvwxyz0123456789"}},
		{http.MethodGet, "/api/v1/sites/blog", "", reader},
		{http.MethodGet, "/api/v1/sites/blog/report", "", reader},
	}
	all := func(status int, code string) {
		t.Helper()
		for _, r := range requests {
			answer, body := ask(t, r.method, h.URL+r.path, r.body, r.header...)
			if strings.Contains(r.body, "7}") {
				if answer.StatusCode != http.StatusUnprocessableEntity { // the form is validated first
					t.Errorf("%s: %d %s", r.path, answer.StatusCode, body)
				}
				continue
			}
			if answer.StatusCode != status || !strings.Contains(body, `"urn:onefold:error:`+code+`"`) || answer.Header.Get("Retry-After") == "" {
				t.Errorf("%s %s: %d %v %s, want %d %s", r.method, r.path, answer.StatusCode, answer.Header, body, status, code)
			}
		}
	}
	db.Inject(enginetest.Fault{Effect: enginetest.Throttle})
	all(http.StatusTooManyRequests, "throttled")
	if answer, body := ask(t, http.MethodGet, h.URL+"/readyz", ""); answer.StatusCode != http.StatusOK || !strings.Contains(body, `"closed"`) {
		t.Errorf("readyz while it throttles: %d %s", answer.StatusCode, body)
	}
	db.Heal()
	db.Inject(enginetest.Fault{Effect: enginetest.Fail})
	all(http.StatusServiceUnavailable, "store_unreachable")
	db.Heal()
	a.cut.Store(true)
	all(http.StatusServiceUnavailable, "store_unreachable")
	if answer, body := ask(t, http.MethodGet, h.URL+"/readyz", ""); answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, `"unreachable"`) {
		t.Errorf("readyz without a store: %d %s", answer.StatusCode, body)
	}
	if answer, body := ask(t, http.MethodGet, h.URL+"/livez", ""); answer.StatusCode != http.StatusOK || !strings.Contains(body, `"alive"`) {
		t.Errorf("livez without a store: %d %s", answer.StatusCode, body)
	}
	_, metrics := ask(t, http.MethodGet, h.URL+"/metrics", "")
	for _, want := range []string{`onefold_store_up{service="table"} 0`, `onefold_store_breaker_trips_total{service="table"} `, `onefold_store_throttles_total{limit="provisioned",operation="read",resource="onefold"`, `onefold_store_up{service="streams"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s in\n%s", want, regexp.MustCompile(`(?m)^onefold_store.*`).FindAllString(metrics, -1))
		}
	}
	a.cut.Store(false)
	for range 100 { // while the breaker leaves the store alone, a few milliseconds
		if answer, _ := ask(t, http.MethodGet, h.URL+"/readyz", ""); answer.StatusCode == http.StatusOK {
			break
		}
	}
	if answer, body := ask(t, http.MethodPost, h.URL+"/api/event", `{"site":"blog","url":"/"}`); answer.StatusCode != http.StatusAccepted {
		t.Errorf("it is back: %d %s", answer.StatusCode, body)
	}
	if n := h.PageViewsToday(); n != 1 {
		t.Errorf("%d page views", n)
	}
}
