package alerts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/table/upsert"
	"github.com/onefold/onefold/telemetry"
)

const maxChannels = 20 // per fleet: the transaction that changes an alert writes a notification for each

// CheckChannel validates a channel. Errors: a *RuleError.
func CheckChannel(c *Channel) error {
	bad := func(field, format string, args ...any) error {
		return &RuleError{Code: "channel_" + strings.ToLower(field), Field: field, What: fmt.Sprintf(format, args...)}
	}
	switch {
	case strings.ContainsAny(c.ChannelID, "#.\x00") || len(c.ChannelID) > 64:
		return bad("channelId", "at most 64 letters, digits, _ and -")
	case len(c.Name) > maxName || strings.ContainsAny(c.Name, "\r\n\x00"):
		return bad("name", "use at most %d bytes on one line", maxName)
	case c.Least != "" && rank(c.Least) < 0:
		return bad("least", "choose info, warning or critical, or none for all")
	case c.Within < -1 || c.Within > maxFor:
		return bad("within", "1 to %d seconds, 0 for a day, -1 for ever", maxFor)
	}
	for _, e := range c.Events {
		if e != telemetry.Fires && e != telemetry.Resolves && e != telemetry.Withdraws {
			return bad("events", "use firing, resolved and withdrawn, or leave it empty for all")
		}
	}
	return ruleError(c.Settings.Check(c.Kind))
}

// PutChannel creates or replaces a channel. Omitted secrets are kept, unless the kind changes. A new
// webhook gets a signing secret, which is returned. Secrets are stored in plain text, because every
// message needs them. Errors: telemetry.ErrInvalid (a *RuleError), table.ErrNotFound for an unknown
// fleet.
func PutChannel(ctx context.Context, t *table.Table, c Channel) (Channel, error) {
	if c.ChannelID == "" {
		c.ChannelID = strings.ToLower(ulid.Make().String())
	}
	err := CheckChannel(&c)
	if err == nil {
		_, err = telemetry.GetFleet(ctx, t, c.FleetID)
	}
	if err != nil {
		return c, fmt.Errorf("alerts: channel: %w", err)
	}
	stored, err := upsert.Item(ctx, t, Channels, c.ChannelKey, func(stored *Channel, exists bool) (err error) {
		replaced := c
		if exists {
			err = replaced.complete(stored, t.Now())
		} else if err = hasRoom(ctx, t, c.FleetID); err == nil {
			err = replaced.complete(nil, t.Now())
		}
		*stored = replaced
		return err
	})
	if err != nil {
		err = fmt.Errorf("alerts: channel: %w", err)
	}
	return stored, err
}

// complete adds what people do not choose, from the current channel if there is one.
func (c *Channel) complete(current *Channel, now time.Time) error {
	c.CreatedAt = now.UTC().Truncate(time.Millisecond)
	c.UpdatedAt = c.CreatedAt
	to := c.target()
	var target *delivery.Target
	if current != nil {
		was := current.target()
		target, c.CreatedAt = &was, current.CreatedAt
	}
	if err := to.Complete(target); err != nil {
		return ruleError(err)
	}
	c.Settings, c.Secret = to.Settings, to.Secret
	return nil
}

// hasRoom returns an error if a fleet has the maximum number of channels.
func hasRoom(ctx context.Context, t *table.Table, fleetID string) error {
	all, err := ChannelsOfFleet.Collect(ctx, t, telemetry.FleetIn{FleetID: fleetID})
	if err == nil && len(all) >= maxChannels {
		err = &RuleError{Code: "channel_limit", Field: "channelId", What: fmt.Sprintf("the fleet already has %d channels, the maximum", maxChannels)}
	}
	return err
}

func (c *Channel) target() delivery.Target {
	return delivery.Target{Kind: c.Kind, Settings: c.Settings, Secret: c.Secret}
}

// CheckPublicURL rejects a channel whose URL has a private or loopback address; see
// delivery.CheckPublic. Errors: a *RuleError.
func CheckPublicURL(c *Channel) error { return ruleError(delivery.CheckPublic(&c.Settings)) }

// ruleError returns an error about a setting as one of this package.
func ruleError(err error) error {
	var e *delivery.Error
	if errors.As(err, &e) {
		return &RuleError{Code: e.Code, Field: e.Field, What: e.What}
	}
	return err
}

// DeleteChannel deletes a channel. Its waiting notifications are skipped.
func DeleteChannel(ctx context.Context, t *table.Table, k ChannelKey) error {
	if err := Channels.Delete(ctx, t, k); err != nil {
		return fmt.Errorf("alerts: delete channel %s: %w", k.ChannelID, err)
	}
	return nil
}
