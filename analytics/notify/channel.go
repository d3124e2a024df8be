package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/table/upsert"
)

const (
	maxChannels = 20 // per site
	maxName     = 100
	maxID       = 64
)

// ErrChannel is returned for an invalid channel. The message says what to change, and ends with a
// stable code.
var ErrChannel = errors.New("notify: channel")

// ChannelKey names a channel of a site.
type ChannelKey struct {
	SiteID    string `dynamodbav:"siteId"`
	ChannelID string `dynamodbav:"channelId"`
}

// Channel is where messages about a site go.
type Channel struct {
	ChannelKey
	Name string `dynamodbav:"name,omitempty"`
	delivery.Target
	// Unsubscribed are the recipients of a mail channel who asked for no more mail.
	Unsubscribed []string `dynamodbav:"unsubscribed,omitempty"`
	Off          bool     `dynamodbav:"off,omitempty"`

	CreatedAt time.Time `dynamodbav:"createdAt"`
	UpdatedAt time.Time `dynamodbav:"updatedAt"`
}

// Channels holds the channels of sites.
var Channels = table.Define[Channel, ChannelKey]("analytics.channel", table.Def[Channel]{
	PK: "SITE#{siteId}", SK: "CHANNEL#{channelId}",
	Doc: "Where the reports and alerts of a site go.",
})

// SiteIn selects a site.
type SiteIn struct {
	SiteID string `dynamodbav:"siteId"`
}

// ChannelsOfSite queries the channels of a site, by ID.
var ChannelsOfSite = table.NewQuery(Channels, table.QueryDef[SiteIn]{
	ID: "WN1", Question: "the channels of a site", Load: table.Load{PerSecond: 0.01, Items: 3, ItemBytes: 300},
})

// CheckID validates an ID that people choose, such as that of a channel.
func CheckID(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
}

// CheckName validates a name that people choose.
func CheckName(name string) bool {
	return len(name) <= maxName && !strings.ContainsAny(name, "\r\n\x00")
}

// NewID returns a new ID.
func NewID() string { return strings.ToLower(ulid.Make().String()) }

func (c *Channel) check() error {
	switch {
	case !CheckID(c.ChannelID):
		return fmt.Errorf("%w: id: use at most %d letters, digits, _ and - (channel_id)", ErrChannel, maxID)
	case !CheckName(c.Name):
		return fmt.Errorf("%w: name: use at most %d bytes on one line (channel_name)", ErrChannel, maxName)
	}
	return channelError(c.Settings.Check(c.Kind))
}

// CheckPublic rejects a channel with a private or loopback address; see delivery.CheckPublic. Errors:
// ErrChannel.
func CheckPublic(c *Channel) error { return channelError(delivery.CheckPublic(&c.Settings)) }

func channelError(err error) error {
	if errors.Is(err, delivery.ErrInvalid) {
		return fmt.Errorf("%w: %w", ErrChannel, err)
	}
	return err
}

// PutChannel creates or replaces a channel. Omitted secrets are kept, unless the kind changes. A new
// webhook gets a signing secret, which is returned. Recipients who have unsubscribed remain
// unsubscribed until their address is removed. Errors: ErrChannel, table.ErrNotFound for an unknown
// site.
func PutChannel(ctx context.Context, t *table.Table, c Channel) (Channel, error) {
	if c.ChannelID == "" {
		c.ChannelID = NewID()
	}
	if err := c.check(); err != nil {
		return c, err
	}
	if _, err := analytics.GetSite(ctx, t, c.SiteID); err != nil {
		return c, err
	}
	stored, err := upsert.Item(ctx, t, Channels, c.ChannelKey, func(stored *Channel, exists bool) (err error) {
		replaced := c
		if exists {
			err = replaced.complete(stored, t.Now())
		} else if err = hasRoom(ctx, t, c.SiteID); err == nil {
			err = replaced.complete(nil, t.Now())
		}
		*stored = replaced
		return err
	})
	if err != nil && !errors.Is(err, ErrChannel) {
		err = fmt.Errorf("notify: channel: %w", err)
	}
	return stored, err
}

// complete adds what people do not choose, from the current channel if there is one.
func (c *Channel) complete(current *Channel, now time.Time) error {
	c.CreatedAt = now.UTC().Truncate(time.Millisecond)
	c.UpdatedAt = c.CreatedAt
	var target *delivery.Target
	if current != nil {
		target, c.CreatedAt = &current.Target, current.CreatedAt
		c.Unsubscribed = slices.DeleteFunc(slices.Clone(current.Unsubscribed), func(to string) bool { return !slices.Contains(c.To, to) })
	}
	if err := c.Complete(target); err != nil {
		return channelError(err)
	}
	if c.Kind == delivery.Email && c.Secret == "" {
		c.Secret = rand.Text() // key of the links to unsubscribe
	}
	return nil
}

// hasRoom returns an error if a site has the maximum number of channels.
func hasRoom(ctx context.Context, t *table.Table, siteID string) error {
	all, err := ChannelsOfSite.Collect(ctx, t, SiteIn{siteID})
	if err == nil && len(all) >= maxChannels {
		err = fmt.Errorf("%w: the site already has %d channels, the maximum (channel_limit)", ErrChannel, maxChannels)
	}
	return err
}

// MissingChannel returns the first of some channels that a site does not have, or "".
func MissingChannel(ctx context.Context, t *table.Table, siteID string, ids []string) (string, error) {
	for _, id := range ids {
		_, err := Channels.Get(ctx, t, ChannelKey{SiteID: siteID, ChannelID: id})
		if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
			return id, nil
		}
		if err != nil {
			return "", fmt.Errorf("notify: channel: %w", err)
		}
	}
	return "", nil
}

// DeleteChannel deletes a channel and returns it. Its waiting messages are skipped. Errors:
// table.ErrNotFound.
func DeleteChannel(ctx context.Context, t *table.Table, k ChannelKey) (Channel, error) {
	c, err := Channels.Get(ctx, t, k)
	if err == nil {
		err = Channels.Delete(ctx, t, k, table.Present())
	}
	if errors.Is(err, table.ErrCondition) {
		err = table.ErrNotFound
	}
	if err != nil {
		return c, fmt.Errorf("notify: delete channel %s: %w", k.ChannelID, err)
	}
	return c, nil
}

// recipients returns to whom a message is sent separately: the recipients of mail, or "" for others.
func (c *Channel) recipients() []string {
	if c.Kind != delivery.Email {
		return []string{""}
	}
	return slices.DeleteFunc(slices.Clone(c.To), func(to string) bool { return slices.Contains(c.Unsubscribed, to) })
}
