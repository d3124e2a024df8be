package dynamohttp

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// Doer passes requests of an unchanged *dynamodb.Client or *dynamodbstreams.Client to a backend in
// the same process. It is a value for their Options.HTTPClient, and an http.RoundTripper. It opens
// no socket, whatever host a request names, and ignores signatures.
type Doer struct{ handler *Handler }

// NewDoer returns a Doer for a backend.
func NewDoer(b Backend) *Doer {
	o := Options{Timeout: -1, MaxRequests: -1, MaxBytes: -1} // the process limits itself
	o.defaults()
	h := newHandler(b, o, newMetrics())
	h.trusting = true
	return &Doer{handler: h}
}

// Do executes a request.
func (d *Doer) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }() // a RoundTripper must close the body
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := recorder{header: http.Header{}, status: http.StatusOK}
	d.handler.ServeHTTP(&w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// RoundTrip implements http.RoundTripper.
func (d *Doer) RoundTrip(r *http.Request) (*http.Response, error) { return d.Do(r) }

// recorder records a response.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }
