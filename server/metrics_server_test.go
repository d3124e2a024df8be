package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/servertest"
)

// mustTell fails unless /metrics has every line.
func mustTell(t *testing.T, h *servertest.Server, lines ...string) {
	t.Helper()
	_, told := h.Get("/metrics")
	for _, line := range lines {
		if !strings.Contains("\n"+told, "\n"+line+"\n") {
			t.Errorf("/metrics does not say %s", line)
		}
	}
}

// A panic of a handler is counted; a connection that is closed on purpose is not.
func TestPanicsAreCounted(t *testing.T) {
	var with atomic.Value
	h := servertest.New(t, func(o *server.Options) {
		o.Failing = func() []server.Part {
			if v := with.Load(); v != nil {
				panic(v.(fault).error)
			}
			return nil
		}
	})
	mustTell(t, h, "onefold_http_panics_total 0")
	for _, v := range []error{errors.New("a fault"), http.ErrAbortHandler, errors.New("another")} {
		with.Store(fault{v})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/healthz", nil)
		servertest.Must(t, err)
		if answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r); err == nil {
			answer.Body.Close()
			t.Errorf("%v: answered %s", v, answer.Status)
		}
	}
	mustTell(t, h, "onefold_http_panics_total 2")
}

// fault is the value of a handler's panic.
type fault struct{ error }

// Metrics report whether the server is ready, its version, and what waits.
func TestServerMetrics(t *testing.T) {
	var broken atomic.Bool
	var passed atomic.Int64
	start := time.Now()
	h := servertest.New(t, func(o *server.Options) {
		o.Version, o.Clock = "v1.2.3", func() time.Time { return start.Add(time.Duration(passed.Load())) }
		o.TryWrite = func(context.Context) error {
			if broken.Load() {
				return errors.New("the disk is on fire")
			}
			return nil
		}
	})
	mustTell(t, h, `onefold_build_info{version="v1.2.3"} 1`, "onefold_ready 1", `onefold_ingest_waiting{kind="event"} 0`, `onefold_ingest_waiting{kind="reading"} 0`,
		`onefold_http_max_streams{stream="realtime"} 200`, `onefold_http_streams{stream="feed"} 0`, `onefold_http_streams_refused_total{stream="readings"} 0`)
	broken.Store(true)
	passed.Store(int64(time.Minute)) // a write is tried again
	mustTell(t, h, "onefold_ready 0")
}
