package alerts

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	sendTimeout = 10 * time.Second
	maxAnswer   = 4 << 10
)

// ErrPrivate is returned for a webhook with a private or loopback address.
var ErrPrivate = errors.New("alerts: the webhook has a private address, which this server does not call")

// message is the body of a webhook.
type message struct {
	ID    string `json:"id"`
	Event string `json:"event"`
	Alert Told   `json:"alert"`
}

// WebhookSender returns a function that posts notifications as JSON, signed according to
// standardwebhooks.com. The header webhook-id is the notification's ID, the same at every attempt;
// webhook-timestamp is the time of the attempt in epoch seconds; webhook-signature is "v1," and the
// HMAC-SHA256 of "id.timestamp.body" with the channel's secret, in base64. Answers of 200 to 299
// are acknowledgements. It follows no redirects, and calls only public addresses unless private is
// set.
func WebhookSender(private bool) func(context.Context, *Channel, *Notification, time.Time) error {
	dialer := &net.Dialer{Timeout: sendTimeout}
	if !private {
		// The name is already resolved here, so it cannot change its address between check and
		// call.
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return checkPublic(address) }
	}
	client := &http.Client{
		Timeout:       sendTimeout,
		Transport:     &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10, TLSHandshakeTimeout: sendTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, c *Channel, n *Notification, now time.Time) error {
		body, err := json.Marshal(message{n.NotificationID, "alert." + string(n.Event), n.Alert})
		if err != nil {
			return err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
		if err != nil {
			return errors.New("the address is invalid")
		}
		at := strconv.FormatInt(now.Unix(), 10)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", "onefold")
		r.Header.Set("webhook-id", n.NotificationID)
		r.Header.Set("webhook-timestamp", at)
		r.Header.Set("webhook-signature", Sign(c.Secret, n.NotificationID, at, body))
		answer, err := client.Do(r)
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
}

// withoutAddress removes the URL from an error, because its path is often a secret.
func withoutAddress(err error) error {
	var u interface{ Unwrap() error }
	if errors.As(err, &u) {
		return u.Unwrap()
	}
	return err
}

// Sign returns the webhook-signature of a message. A secret with the prefix whsec_ is base64 after
// it.
func Sign(secret, id, timestamp string, body []byte) string {
	key := []byte(secret)
	if coded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if raw, err := base64.StdEncoding.DecodeString(coded); err == nil {
			key = raw
		}
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// shared lists networks that are not public, besides those that netip knows.
var shared = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"), // Teredo and 6to4 contain IPv4 addresses
}

// CheckPublicURL rejects a webhook whose URL has a private or loopback address. Names other than
// localhost are not resolved; their addresses are checked at each call. Errors: a *RuleError.
func CheckPublicURL(c *Channel) error {
	u, err := url.Parse(c.URL)
	if c.Kind != Webhook || err != nil {
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
