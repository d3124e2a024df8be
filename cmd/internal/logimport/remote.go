package logimport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/server/webanalytics"
)

// Remote sends events to a running server.
type Remote struct {
	base   string
	key    string
	client *http.Client

	Wait func(context.Context, time.Duration) error // waits before a retry; default: backoff.For
}

// NewRemote returns an Ingester that sends to the server at a URL such as https://stats.example.org,
// with an API key that allows writes.
func NewRemote(address, key string) (*Remote, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("bad_server: %q: use a URL such as https://stats.example.org", address)
	}
	if key == "" {
		return nil, errors.New("no_key: a server needs a key for the site, fleet or event store, with scope write to import or append: set --key or ONEFOLD_KEY")
	}
	client := &http.Client{
		Timeout:       time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a redirected POST would become a GET
	}
	return &Remote{base: strings.TrimSuffix(address, "/"), key: key, client: client, Wait: backoff.For}, nil
}

// Ingest sends events and returns their outcomes. It retries temporary failures for about two
// minutes; events stored by an earlier attempt are then duplicates.
func (r *Remote) Ingest(ctx context.Context, siteID string, hits []analytics.Hit) ([]analytics.Outcome, error) {
	return r.send(ctx, siteID, hits, false)
}

// Preview requests the outcomes of events without storing them.
func (r *Remote) Preview(ctx context.Context, siteID string, hits []analytics.Hit) ([]analytics.Outcome, error) {
	return r.send(ctx, siteID, hits, true)
}

const (
	tries       = 10
	firstWait   = 250 * time.Millisecond
	longestWait = 30 * time.Second
	maxBody     = 4 << 20 // limit of the server
	maxAnswer   = 16 << 20
)

func (r *Remote) send(ctx context.Context, siteID string, hits []analytics.Hit, dryRun bool) ([]analytics.Outcome, error) {
	if len(hits) == 0 {
		return nil, nil
	}
	body, err := json.Marshal(map[string]any{"events": asImported(hits), "dryRun": dryRun})
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody && len(hits) > 1 { // long URLs; halving ends at a single event, whose length is bounded
		first, err := r.send(ctx, siteID, hits[:len(hits)/2], dryRun)
		if err != nil {
			return nil, err
		}
		second, err := r.send(ctx, siteID, hits[len(hits)/2:], dryRun)
		return append(first, second...), err
	}
	var told struct{ Outcomes []analytics.Outcome }
	err = r.Call(ctx, http.MethodPost, "/api/v1/sites/"+url.PathEscape(siteID)+"/import", body, &told)
	if err == nil && len(told.Outcomes) != len(hits) {
		err = fmt.Errorf("server: %d outcomes for %d events", len(told.Outcomes), len(hits))
	}
	return told.Outcomes, err
}

// Call sends a request with a JSON body, if body is not nil, and decodes the response into a value,
// if into is not nil. It retries temporary failures for about two minutes, so the request must be
// safe to repeat.
func (r *Remote) Call(ctx context.Context, method, path string, body []byte, into any) error {
	wait := firstWait
	for try := 1; ; try++ {
		retry, err := r.once(ctx, method, path, body, into)
		if err == nil || retry < 0 || try == tries || ctx.Err() != nil {
			return err
		}
		if err := r.Wait(ctx, max(wait, min(retry, longestWait))); err != nil {
			return err
		}
		wait = min(2*wait, longestWait)
	}
}

// once sends one request. retry is negative if a retry is pointless, otherwise the delay that the
// server asked for.
func (r *Remote) once(ctx context.Context, method, path string, body []byte, into any) (retry time.Duration, err error) {
	answer, err := r.open(ctx, method, path, body)
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return 0, fmt.Errorf("server: %w", err)
	}
	if answer.StatusCode/100 == 2 {
		if into == nil {
			return 0, nil
		}
		if err := json.Unmarshal(text, into); err != nil {
			return -1, fmt.Errorf("server: invalid response: %w", err)
		}
		return 0, nil
	}
	err = Refused(answer.StatusCode, text)
	if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode < http.StatusInternalServerError {
		return -1, err
	}
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // 0 if absent
	return time.Duration(max(seconds, 0)) * time.Second, err
}

// Ask sends a request once and decodes the response.
func (r *Remote) Ask(ctx context.Context, method, path string, body []byte, into any) error {
	_, err := r.once(ctx, method, path, body, into)
	return err
}

// Watch opens a stream, which ends when its body is closed.
func (r *Remote) Watch(ctx context.Context, path string) (io.ReadCloser, error) {
	patient := *r
	patient.client = &http.Client{CheckRedirect: r.client.CheckRedirect}
	answer, err := patient.open(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	return nil, errors.Join(Refused(answer.StatusCode, text), err, answer.Body.Close())
}

// open sends a request and returns the response with any status. The caller closes the body.
func (r *Remote) open(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+r.key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return answer, nil
}

// Problem is an error response of a server.
type Problem struct {
	Code   string // stable, of the API
	Detail string // for people
}

// Error returns the code and the detail.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// Code returns the code of the error response in err's tree, or "" if there is none.
func Code(err error) string {
	if p := (*Problem)(nil); errors.As(err, &p) {
		return p.Code
	}
	return ""
}

// Refused returns the error of a response that rejects the request: a Problem, if the response has
// the server's form.
func Refused(status int, text []byte) error {
	var problem struct{ Type, Detail string }
	if err := json.Unmarshal(text, &problem); err != nil || problem.Type == "" {
		return fmt.Errorf("server: unexpected response %d %s; is this server onefold?", status, http.StatusText(status))
	}
	return &Problem{Code: problem.Type[strings.LastIndexByte(problem.Type, ':')+1:], Detail: problem.Detail}
}

// asImported converts events to the server's form. It truncates strings to the server's limits; a
// table would truncate the addresses further.
func asImported(hits []analytics.Hit) []webanalytics.ImportedEvent {
	events := make([]webanalytics.ImportedEvent, len(hits))
	for i := range hits {
		h := &hits[i]
		events[i] = webanalytics.ImportedEvent{
			ID: h.EventID, Name: h.Name, URL: cut(h.URL, 8192), Referrer: cut(h.Referrer, 8192), Address: cut(h.Address, 256), UserAgent: cut(h.UserAgent, 8192),
			UserID: h.UserID, SessionID: h.SessionID, Client: h.Client, Properties: h.Properties, Revenue: h.Revenue, Currency: h.Currency,
		}
		events[i].Client.Map(func(text string) string { return cut(text, analytics.MaxClient) })
	}
	return events
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
