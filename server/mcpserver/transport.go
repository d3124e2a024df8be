package mcpserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
)

// handlerTransport sends requests to a handler of the same process, as requests of a client's address.
type handlerTransport struct {
	handler http.Handler
	address string
	logger  *slog.Logger
}

// errPanicked is returned for a request whose handler panicked. Outside of net/http, which recovers, a
// panic would end the process.
var errPanicked = errors.New("internal error")

// RoundTrip runs the handler to its end.
func (t *handlerTransport) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			t.logger.Error("a handler panicked", "path", r.URL.Path, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			answer, err = nil, errPanicked
		}
	}()
	as := r.Clone(r.Context())
	as.RemoteAddr, as.RequestURI = t.address, r.URL.RequestURI()
	if as.Body == nil {
		as.Body = http.NoBody
	}
	w := &recorder{header: http.Header{}}
	t.handler.ServeHTTP(w, as)
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// recorder keeps a response in memory, up to slightly more than a Client reads.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the response's header.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader keeps the first status.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write keeps the beginning of the body. The rest counts as written.
func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if room := maxAnswer + 1 - w.body.Len(); room > 0 {
		w.body.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
