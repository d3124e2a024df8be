package gateway_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onefold/onefold/cmd/onefold-lambda/internal/gateway"
)

const get = `{"version":"2.0","rawPath":"/","requestContext":{"http":{"method":"GET","sourceIp":"127.0.0.1"}}}`

// A handler that is not done in time is answered for. The responses of other handlers are not
// changed, whatever they say.
func TestAnswerInTime(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	busy := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "The table did not respond in time. Send the request again: items with an ID are counted once.") //nolint:errcheck // goes to memory
	}
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		stop    bool // the caller gives up before the deadline
		kind    string
		says    string
	}{
		{"slow", slow, false, "application/problem+json", "too_slow"},
		{"stopped", slow, true, "application/problem+json", "too_slow"},
		{"busy", busy, false, "text/plain", "The table did not respond in time."},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if c.stop {
					time.AfterFunc(time.Second, cancel)
				}
				got, err := gateway.Answer(ctx, c.handler, []byte(get))
				if err != nil {
					t.Fatal(err)
				}
				if got.StatusCode != http.StatusServiceUnavailable || got.Headers["content-type"] != c.kind || !strings.Contains(got.Body, c.says) || len(got.Headers) > 2 {
					t.Errorf("answered %+v", got)
				}
			})
		})
	}
}
