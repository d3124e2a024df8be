package alerts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	sendTimeout = 10 * time.Second
	maxAnswer   = 4 << 10
)

// ErrPrivate is returned for a channel with a private or loopback address.
var ErrPrivate = errors.New("alerts: the channel has a private address, which this server does not call")

// caller posts to the URLs of channels. It follows no redirects, and calls only public addresses
// unless it was made otherwise.
type caller struct{ client *http.Client }

func newCaller(private bool) caller {
	dialer := &net.Dialer{Timeout: sendTimeout}
	if !private {
		// The name is already resolved here, so it cannot change its address between check and
		// call.
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return checkPublic(address) }
	}
	return caller{&http.Client{
		Timeout:       sendTimeout,
		Transport:     &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10, TLSHandshakeTimeout: sendTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// post sends a body with headers, given as names and values. Answers of 200 to 299 are
// acknowledgements.
func (c caller) post(ctx context.Context, address string, body []byte, headers ...string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address is invalid")
	}
	r.Header.Set("User-Agent", "onefold")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return withoutAddress(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)); err != nil {
		return fmt.Errorf("the response was cut off: %w", withoutAddress(err))
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("answered %s", answer.Status)
	}
	return nil
}

// withoutAddress removes the URL from an error, because its path is often a secret.
func withoutAddress(err error) error {
	var u interface{ Unwrap() error }
	if errors.As(err, &u) {
		return u.Unwrap()
	}
	return err
}

// shared lists networks that are not public, besides those that netip knows.
var shared = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"), // Teredo and 6to4 contain IPv4 addresses
}

// CheckPublicURL rejects a channel whose URL has a private or loopback address. Names other than
// localhost are not resolved; their addresses are checked at each call. Errors: a *RuleError.
func CheckPublicURL(c *Channel) error {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, err := netip.ParseAddr(host)
	private := host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && checkPublic(netip.AddrPortFrom(ip, 443).String()) != nil
	if private {
		return &RuleError{Code: "channel_url_private", Field: "url", What: "a private or loopback address, which this server does not call unless it was started with --webhook-private"}
	}
	return nil
}

func checkPublic(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return ErrPrivate
	}
	ip := at.Addr().Unmap().WithZone("")
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return ErrPrivate
	}
	for _, p := range shared {
		if p.Contains(ip) {
			return ErrPrivate
		}
	}
	return nil
}
