package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client reads the HTTP API of a server with a key.
type Client struct {
	base string
	key  string
	http *http.Client

	now func() time.Time // for ranges that end now
}

// NewClient returns a client of the server at a URL such as https://stats.example.org. rounds sends the
// requests; default: http.DefaultTransport. now is the time; default: time.Now.
func NewClient(address, key string, rounds http.RoundTripper, now func() time.Time) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("bad_server: %.100q: use a URL such as https://stats.example.org", address)
	}
	if key == "" {
		return nil, errors.New("no_key: a server needs an API key with scope read: set --key or ONEFOLD_KEY")
	}
	if now == nil {
		now = time.Now
	}
	return &Client{base: strings.TrimSuffix(address, "/"), key: key, now: now, http: &http.Client{
		Transport: rounds, Timeout: callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a key goes to one server only
	}}, nil
}

const (
	callTimeout = 55 * time.Second // less than the write timeout of the server
	maxAnswer   = 8 << 20          // bytes of an answer of the API
)

// Problem is an answer of the API that reports an error.
type Problem struct {
	Status int
	Code   string // stable
	Detail string // says what to do
}

func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// get reads a resource into out. Errors: *Problem, and those of the connection.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.do(ctx, http.MethodGet, path, nil, out)
}

// post asks a question whose body is JSON. Errors: as get.
func (c *Client) post(ctx context.Context, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, path, text, out)
}

func (c *Client) do(ctx context.Context, method, path string, body []byte, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("no_server: the server does not answer: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("no_server: reading the answer: %w", err)
	case answer.StatusCode/100 != 2:
		return problemOf(answer.StatusCode, text)
	case len(text) > maxAnswer:
		return &Problem{Status: answer.StatusCode, Code: "too_large", Detail: "The answer is too large. Ask for a shorter range or a lower limit."}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // numbers of answers are passed on, and a float64 would round large ones
	if err := decoder.Decode(out); err != nil {
		return fmt.Errorf("bad_server: %s does not answer like onefold: %w", c.base, err)
	}
	return nil
}

// maxDetail is the maximum length of an error's text, in bytes.
const maxDetail = 2_000

// problemOf reads a problem (RFC 9457).
func problemOf(status int, text []byte) *Problem {
	var said struct {
		Type, Detail string
		Errors       []struct{ Message, Location string }
	}
	p := &Problem{Status: status, Code: "unexpected", Detail: fmt.Sprintf("The server answered with status %d.", status)}
	if json.Unmarshal(text, &said) != nil || said.Detail == "" {
		return p
	}
	p.Code, p.Detail = strings.TrimPrefix(said.Type, "urn:onefold:error:"), said.Detail
	for _, e := range said.Errors {
		p.Detail += " " + e.Location + ": " + e.Message + "."
	}
	p.Detail = strings.ToValidUTF8(p.Detail[:min(len(p.Detail), maxDetail)], "")
	return p
}

// pathOf returns a path of the API with IDs in it, one for each %s. An ID that could change the path is
// an error.
func pathOf(format string, ids ...string) (string, error) {
	escaped := make([]any, len(ids))
	for i, id := range ids {
		if id == "" || id == "." || id == ".." {
			return "", &Problem{Status: http.StatusNotFound, Code: "not_found", Detail: fmt.Sprintf("There is nothing with the ID %q.", id)}
		}
		escaped[i] = url.PathEscape(id)
	}
	return fmt.Sprintf(format, escaped...), nil
}
