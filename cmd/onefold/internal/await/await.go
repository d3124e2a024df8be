// Package await keeps a process running whose table is unreachable at startup. The process retries
// until the table responds, and meanwhile answers health checks with the reason. Otherwise a
// supervisor would restart it again and again, or give up, and nothing would show why.
package await

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/onefold/onefold/cmd/internal/remote"
	"github.com/onefold/onefold/cmd/onefold/internal/listen"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/backoff"
)

// Options configure the waiting.
type Options struct {
	Flag, Addr string    // address to answer on meanwhile, and the flag that sets it; "": none
	Err        io.Writer // messages for people; required
}

// Delays between attempts to open a table. They double, with jitter.
const (
	first   = time.Second
	longest = 10 * time.Second
)

// Open opens a table. While the table is unreachable it retries until ctx ends. Any other error is
// returned at once, such as a table that does not match the schema, rejected credentials, or an
// address in use.
func Open[T any](ctx context.Context, o Options, open func(context.Context) (T, error)) (opened T, err error) {
	// Answer health checks only if the first attempt fails.
	if opened, err = open(ctx); !away(err) {
		return opened, err
	}
	stop, err := o.answer(err)
	if err != nil {
		return opened, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for wait := first; ; wait = min(2*wait, longest) {
		if err := backoff.For(ctx, wait/2+rand.N(wait/2)); err != nil {
			return opened, err
		}
		if opened, err = open(ctx); !away(err) {
			return opened, err
		}
	}
}

// away reports whether a table was unreachable, in which case the error says nothing about the
// table.
func away(err error) bool {
	failure, gaveUp := dynamo.GaveUp(err)
	return gaveUp && failure.Kind != dynamo.Moved || errors.Is(err, remote.ErrAway)
}

// Timeouts of requests to a server that has little to answer.
const (
	requestTimeout = 5 * time.Second
	headerBytes    = 1 << 14
)

// answer prints that the table is unreachable, and why. It answers requests until stop is called.
func (o *Options) answer(why error) (stop func() error, err error) {
	if o.Addr == "" {
		fmt.Fprintf(o.Err, "onefold waits for its table: %v\n", why)
		return func() error { return nil }, nil
	}
	listener, err := listen.On(o.Flag, o.Addr)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Err, "onefold waits for its table; status at http://%s/readyz: %v\n", listener.Addr(), why)
	s := &http.Server{
		Handler: http.HandlerFunc(say), ReadHeaderTimeout: requestTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, MaxHeaderBytes: headerBytes,
	}
	s.SetKeepAlivesEnabled(false) // so that a client's next request reaches the real server
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	return func() error {
		err := s.Close()
		if end := <-served; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		return err
	}, nil
}

// say responds like a server whose table is unreachable.
func say(w http.ResponseWriter, r *http.Request) {
	status, kind, text := http.StatusServiceUnavailable, "application/json", `{"status":"unreachable"}`
	switch r.URL.Path {
	case "/livez":
		status, text = http.StatusOK, `{"status":"alive"}`
	case "/readyz", "/healthz":
	default:
		kind, text = "application/problem+json", `{"type":"urn:onefold:error:store_unreachable","title":"Service Unavailable","status":503,`+
			`"detail":"The table has been unreachable since this server started. Retry the request later."}`
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	if status != http.StatusOK {
		w.Header().Set("Retry-After", fmt.Sprint(int(longest.Seconds())))
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone
}
