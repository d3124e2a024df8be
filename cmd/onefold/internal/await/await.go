// Package await keeps a process alive that serves or works, while its table cannot be reached when it starts: it tries again
// until the table answers, and says so meanwhile to whoever asks. A process that ended for that would be started again and again,
// or not at all, and its end would say nothing. It belongs to the command line.
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

// Options say how to wait.
type Options struct {
	Flag, Addr string    // where to answer meanwhile, and the flag that says so; "": nowhere
	Err        io.Writer // to tell people on, required
}

// How long it takes until a table is asked again: twice as long each time, with jitter.
const (
	first   = time.Second
	longest = 10 * time.Second
)

// Open opens a table, again until that can be reached, or ctx ends. What else goes wrong is returned at once: a table that is there
// and differs, credentials that are refused, an address that is used.
func Open[T any](ctx context.Context, o Options, open func(context.Context) (T, error)) (opened T, err error) {
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

// away reports whether a table could not be asked, which says nothing of the table.
func away(err error) bool {
	failure, gaveUp := dynamo.GaveUp(err)
	return gaveUp && failure.Kind != dynamo.Moved || errors.Is(err, remote.ErrAway)
}

// What a request may take of a server that has nothing to say.
const (
	requestTimeout = 5 * time.Second
	headerBytes    = 1 << 14
)

// answer says on standard error that a table is waited for, and why, and listens until stop is called.
func (o *Options) answer(why error) (stop func() error, err error) {
	if o.Addr == "" {
		fmt.Fprintf(o.Err, "onefold waits for its table: %v\n", why)
		return func() error { return nil }, nil
	}
	listener, err := listen.On(o.Flag, o.Addr)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Err, "onefold waits for its table, and says so at http://%s/readyz: %v\n", listener.Addr(), why)
	s := &http.Server{
		Handler: http.HandlerFunc(say), ReadHeaderTimeout: requestTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, MaxHeaderBytes: headerBytes,
	}
	s.SetKeepAlivesEnabled(false) // who comes again is to find the server itself
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

// say answers as a server does whose table is away.
func say(w http.ResponseWriter, r *http.Request) {
	status, kind, text := http.StatusServiceUnavailable, "application/json", `{"status":"unreachable"}`
	switch r.URL.Path {
	case "/livez":
		status, text = http.StatusOK, `{"status":"alive"}`
	case "/readyz", "/healthz":
	default:
		kind, text = "application/problem+json", `{"type":"urn:onefold:error:store_unreachable","title":"Service Unavailable","status":503,`+
			`"detail":"The table cannot be reached, and was not since this server was started. Send the same again later."}`
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	if status != http.StatusOK {
		w.Header().Set("Retry-After", fmt.Sprint(int(longest.Seconds())))
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // nobody is there to be told
}
