// Package gateway adapts an http.Handler to requests of a function URL or an HTTP API, in payload
// format 2.0. https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html
package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

var errEvent = errors.New("bad_event: the event is not a request in payload format 2.0 of a function URL or HTTP API; set ONEFOLD_MODE to match the function's event source")

// Answer lets a handler respond to a request. If the handler is not done shortly before ctx ends,
// Answer responds with 503; the handler's work then continues during the next request.
func Answer(ctx context.Context, handler http.Handler, payload []byte) (*events.APIGatewayV2HTTPResponse, error) {
	var in events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, fmt.Errorf("%w (%v)", errEvent, err)
	}
	if in.Version != "2.0" || in.RequestContext.HTTP.Method == "" {
		return nil, errEvent
	}
	r, err := request(ctx, &in)
	if err != nil {
		return refused(http.StatusBadRequest, "bad_request", err.Error()), nil
	}
	w := &answer{header: make(http.Header)}
	end, bounded := ctx.Deadline()
	if !bounded {
		handler.ServeHTTP(w, r)
		return w.response(), nil
	}
	http.TimeoutHandler(marked(handler), time.Until(end)-reserve, "").ServeHTTP(w, r)
	// TimeoutHandler can only write a text. It is replaced by a problem in the format of the API.
	if w.header.Get(finished) == "" {
		return refused(http.StatusServiceUnavailable, "too_slow", tooSlow), nil
	}
	w.header.Del(finished)
	return w.response(), nil
}

// finished is a header that tells a handler's responses from those of TimeoutHandler, which discards
// the header of a handler that is not done in time. It is not sent.
const finished = "Onefold-Finished"

// marked returns a handler whose responses have the header finished.
func marked(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(finished, "true")
		handler.ServeHTTP(w, r)
	})
}

const (
	reserve    = 250 * time.Millisecond // of an invocation's time, for the response
	retryAfter = "2"                    // seconds
	tooSlow    = "The table did not respond in time. Send the request again: items with an ID are counted once."
)

// request converts the payload to a request.
func request(ctx context.Context, in *events.APIGatewayV2HTTPRequest) (*http.Request, error) {
	body := []byte(in.Body)
	if in.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(in.Body); err != nil {
			return nil, errors.New("the body is not valid base64")
		}
	}
	path := in.RawPath
	// An HTTP API with a named stage has the stage in the path, which the routes do not.
	if stage := in.RequestContext.Stage; stage != "" && stage != "$default" {
		path = strings.TrimPrefix(path, "/"+stage)
	}
	target := &url.URL{Path: path, RawQuery: in.RawQueryString}
	if decoded, err := url.PathUnescape(path); err == nil {
		target.Path, target.RawPath = decoded, path
	}
	if !strings.HasPrefix(target.Path, "/") {
		target.Path, target.RawPath = "/"+target.Path, ""
	}
	r := (&http.Request{
		Method: in.RequestContext.HTTP.Method, URL: target, RequestURI: target.RequestURI(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header, len(in.Headers)),
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Host: in.RequestContext.DomainName, RemoteAddr: net.JoinHostPort(in.RequestContext.HTTP.SourceIP, "0"),
	}).WithContext(ctx)
	for name, value := range in.Headers {
		r.Header.Set(name, value)
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
		r.Header.Del("Host")
	}
	if len(in.Cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(in.Cookies, "; "))
	}
	return r, nil
}

// answer buffers the response, because Lambda sends it as a whole.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// response converts the response. Only cookies may not be joined in one header line.
func (a *answer) response() *events.APIGatewayV2HTTPResponse {
	a.WriteHeader(http.StatusOK)
	out := &events.APIGatewayV2HTTPResponse{StatusCode: a.status, Headers: make(map[string]string, len(a.header))}
	for name, values := range a.header {
		if name == "Set-Cookie" {
			out.Cookies = values
			continue
		}
		out.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	if out.Body = a.body.String(); !utf8.ValidString(out.Body) {
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(a.body.Bytes()), true
	}
	return out
}

// refused returns a problem in the server's format.
func refused(status int, code, detail string) *events.APIGatewayV2HTTPResponse {
	text, _ := json.Marshal(map[string]any{ // numbers and strings can always be encoded
		"type": "urn:onefold:error:" + code, "title": http.StatusText(status), "status": status, "detail": detail,
	})
	headers := map[string]string{"content-type": "application/problem+json"}
	if status == http.StatusServiceUnavailable {
		headers["retry-after"] = retryAfter
	}
	return &events.APIGatewayV2HTTPResponse{StatusCode: status, Headers: headers, Body: string(text)}
}
