// Package reportcli has the commands for what sites tell people: channels, alerts, and reports that are
// sent regularly.
package reportcli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/cmd/internal/outbox"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/channelflags"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
)

// Channels are the commands for the channels of sites.
type Channels struct {
	Add    channelAdd    `cmd:"" help:"Create a channel that reports and alerts of a site are sent to."`
	List   channelList   `cmd:"" help:"List the channels of a site."`
	Delete channelDelete `cmd:"" help:"Delete a channel."`
	Test   channelTest   `cmd:"" help:"Send a test message through a channel."`
}

// NewChannels returns the commands, with flags for all kinds of channels.
func NewChannels() (c Channels) {
	c.Add.Kinds = channelflags.New()
	return c
}

// channelOutput is the JSON form of a channel. The secret of a webhook is included only when it is
// created.
type channelOutput struct {
	ID   string               `json:"id"`
	Site string               `json:"site"`
	Kind delivery.ChannelKind `json:"kind"`
	Name string               `json:"name,omitempty"`
	delivery.Settings
	Secret       string    `json:"secret,omitempty"`
	Unsubscribed []string  `json:"unsubscribed,omitempty"`
	Off          bool      `json:"off,omitempty"`
	CreatedAt    time.Time `json:"createdAt"`
}

func outputOf(c *notify.Channel) channelOutput {
	return channelOutput{ID: c.ChannelID, Site: c.SiteID, Kind: c.Kind, Name: c.Name, Settings: c.Shown(c.Kind, true), Unsubscribed: c.Unsubscribed, Off: c.Off, CreatedAt: c.CreatedAt}
}

type channelAdd struct {
	Site  string       `arg:"" help:"Site ID."`
	ID    string       `arg:"" optional:"" help:"Channel ID (default: a new one)."`
	Kinds kong.Plugins `embed:""` // of NewChannels
	Name  string       `help:"Display name."`
}

// Run creates the channel. It prints the secret of a webhook, with which the receiver verifies
// messages.
func (c *channelAdd) Run(ctx context.Context, env *cmdenv.Env) error {
	one := notify.Channel{ChannelKey: notify.ChannelKey{SiteID: c.Site, ChannelID: c.ID}, Name: c.Name}
	one.Kind, one.Settings = channelflags.Read(c.Kinds)
	return env.Open(ctx, func(s *cmdenv.Store) error {
		if err := unused(ctx, s, channelNoun, notify.Channels, one.ChannelKey, c.Site, c.ID); err != nil {
			return err
		}
		made, err := notify.PutChannel(ctx, s.Table, one)
		if err != nil {
			return cmdenv.SiteError(c.Site, err)
		}
		out := outputOf(&made)
		if made.Kind == delivery.Webhook {
			out.Secret = made.Secret
		}
		if env.JSON {
			return terminal.JSON(env.Out, out)
		}
		if _, err = fmt.Fprintf(env.Out, "Created channel %s. Next: onefold site report add %s --every weekly\n", made.ChannelID, c.Site); err == nil && out.Secret != "" {
			_, err = fmt.Fprintf(env.Out, "Signing secret of its messages, not shown again: %s\n", out.Secret)
		}
		return err
	})
}

type channelList struct {
	Site string `arg:"" help:"Site ID."`
}

// Run lists the channels.
func (c *channelList) Run(ctx context.Context, env *cmdenv.Env) error {
	l := listing[notify.Channel, channelOutput]{
		site: c.Site, output: outputOf, header: "CHANNEL\tKIND\tTO\tUNSUBSCRIBED\tNAME",
		all: func(ctx context.Context, t *table.Table) ([]notify.Channel, error) {
			return notify.ChannelsOfSite.Collect(ctx, t, notify.SiteIn{SiteID: c.Site})
		},
		empty: fmt.Sprintf("No channels yet. Create one with: onefold site channel add %s --email you@example.com", c.Site),
		row: func(one *notify.Channel) string {
			to := one.Where(one.Kind)
			if one.Off {
				to += " (off)"
			}
			return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", one.ChannelID, one.Kind, terminal.Printable(to), terminal.Printable(strings.Join(one.Unsubscribed, ", ")), terminal.Printable(one.Name))
		},
	}
	return l.run(ctx, env)
}

// oneChannel names a channel of a site.
type oneChannel struct {
	Site string `arg:"" help:"Site ID."`
	ID   string `arg:"" help:"Channel ID."`
}

func (c *oneChannel) key() notify.ChannelKey {
	return notify.ChannelKey{SiteID: c.Site, ChannelID: c.ID}
}

type channelDelete struct{ oneChannel }

// Run deletes the channel.
func (c *channelDelete) Run(ctx context.Context, env *cmdenv.Env) error {
	return channelNoun.remove(ctx, env, c.Site, c.ID, func(t *table.Table) error {
		_, err := notify.DeleteChannel(ctx, t, c.key())
		return err
	})
}

type channelTest struct {
	oneChannel
	outbox.Flags
}

// Run sends a test message.
func (c *channelTest) Run(ctx context.Context, env *cmdenv.Env) error {
	senders, err := c.Senders()
	if err != nil {
		return fmt.Errorf("invalid: %w", err)
	}
	return env.Open(ctx, func(s *cmdenv.Store) error {
		one, err := notify.Channels.Get(ctx, s.Table, c.key())
		if err != nil {
			return channelNoun.missing(c.Site, c.ID, err)
		}
		id, err := notify.Test(ctx, senders, &one, s.Table.Now())
		if err != nil {
			return fmt.Errorf("not_sent: %w", err)
		}
		_, err = fmt.Fprintf(env.Out, "Sent %s through channel %s; it was accepted.\n", id, c.ID)
		return err
	})
}
