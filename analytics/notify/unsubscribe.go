package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/onefold/onefold/table"
)

// ErrLink is returned for a link to unsubscribe that is not, or no longer, valid.
var ErrLink = errors.New("notify: the link to unsubscribe is invalid")

// UnsubscribePath begins the paths of links to unsubscribe, which go on with site, channel and token.
const UnsubscribePath = "/unsubscribe/"

// token proves that its holder got mail for a recipient. It is in links instead of the address,
// because URLs are logged.
func (c *Channel) token(to string) string {
	mac := hmac.New(sha256.New, []byte(c.Secret))
	mac.Write([]byte("unsubscribe\x00" + c.SiteID + "\x00" + c.ChannelID + "\x00" + to))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

// UnsubscribeURL returns the link at which a recipient unsubscribes, or "" if the URL of the server is
// unknown.
func (c *Channel) UnsubscribeURL(base, to string) string {
	if base == "" || to == "" {
		return ""
	}
	return strings.TrimSuffix(base, "/") + UnsubscribePath + url.PathEscape(c.SiteID) + "/" + c.ChannelID + "/" + c.token(to)
}

// Recipient returns the recipient whom a link belongs to. Errors: ErrLink.
func Recipient(ctx context.Context, t *table.Table, k ChannelKey, token string) (string, error) {
	c, err := Channels.Get(ctx, t, k)
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return "", ErrLink
	}
	if err != nil {
		return "", fmt.Errorf("notify: unsubscribe: %w", err)
	}
	return c.recipientOf(token)
}

func (c *Channel) recipientOf(token string) (string, error) {
	for _, to := range c.To {
		if c.Secret != "" && hmac.Equal([]byte(c.token(to)), []byte(token)) {
			return to, nil
		}
	}
	return "", ErrLink
}

// Unsubscribe ends mail through a channel to the recipient whom a link belongs to, and returns the
// recipient. Repeating it changes nothing. Errors: ErrLink.
func Unsubscribe(ctx context.Context, t *table.Table, k ChannelKey, token string) (string, error) {
	if _, err := Recipient(ctx, t, k, token); err != nil { // before anything is written
		return "", err
	}
	var to string
	_, err := Channels.Modify(ctx, t, k, func(c *Channel) (err error) {
		if to, err = c.recipientOf(token); err == nil && !slices.Contains(c.Unsubscribed, to) {
			c.Unsubscribed = append(c.Unsubscribed, to)
		}
		return err
	})
	if errors.Is(err, table.ErrNotFound) {
		return "", ErrLink
	}
	return to, err
}
