// Package webhook posts to URLs that users configure, without reaching private networks, and signs
// messages as standardwebhooks.com specifies.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

const (
	defaultTimeout = 10 * time.Second
	maxAnswer      = 4 << 10 // bytes of a response that are read
	maxHeader      = 16 << 10
	maxURL         = 2000
)

// Options configures a Client. The zero value has good defaults.
type Options struct {
	Private   bool          // also call private and loopback addresses
	KeepAlive bool          // reuse connections; call Close at the end
	Timeout   time.Duration // of a request with its response; default 10 s
}

// Client posts to URLs. It follows no redirects, uses no proxy, reads at most 4 KiB of a response,
// and calls only public addresses unless Options.Private is set. It is safe for concurrent use.
type Client struct{ http *http.Client }

// NewClient returns a client.
func NewClient(o Options) *Client {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	dialer := &net.Dialer{Timeout: o.Timeout}
	if !o.Private {
		// The name is already resolved here, so it cannot change its address between check and
		// call.
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return CheckPublic(address) }
	}
	return &Client{&http.Client{
		Timeout: o.Timeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableKeepAlives: !o.KeepAlive, IdleConnTimeout: time.Minute,
			MaxResponseHeaderBytes: maxHeader, TLSHandshakeTimeout: o.Timeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the connections that are kept.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StatusError is returned for a response other than 200 to 299.
type StatusError struct {
	Code       int    // such as 404
	Status     string // such as "404 Not Found"
	RetryAfter string // header of that name
}

func (e *StatusError) Error() string { return "answered " + e.Status }

// Post sends a body with headers, which it changes. Responses of 200 to 299 are acknowledgements.
// Errors: a *StatusError; ErrPrivate; those of the network, without the URL, because its path is
// often a secret.
func (c *Client) Post(ctx context.Context, address string, body []byte, header http.Header) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address is invalid")
	}
	header.Set("User-Agent", "onefold")
	r.Header = header
	answer, err := c.http.Do(r)
	if err != nil {
		return withoutAddress(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)); err != nil {
		return fmt.Errorf("the response was cut off: %w", withoutAddress(err))
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return &StatusError{answer.StatusCode, answer.Status, answer.Header.Get("Retry-After")}
	}
	return nil
}

// withoutAddress removes the URL from an error.
func withoutAddress(err error) error {
	var u interface{ Unwrap() error }
	if errors.As(err, &u) {
		return u.Unwrap()
	}
	return err
}

// CheckURL returns what is wrong with a URL to post to, or "".
func CheckURL(address string) (problem string) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || len(address) > maxURL {
		return fmt.Sprintf("use an http:// or https:// URL without a user name, of at most %d bytes", maxURL)
	}
	return ""
}
