// Package reportcli has the commands for what sites tell people: channels, and reports that are sent
// regularly.
package reportcli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"github.com/onefold/onefold/analytics"
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
	Add    channelAdd    `cmd:"" help:"Create a channel that reports of a site are sent to."`
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
		if _, err := notify.Channels.Get(ctx, s.Table, one.ChannelKey); err == nil {
			return fmt.Errorf("channel_exists: channel %q already exists; `onefold site channel list %s` shows it", c.ID, c.Site)
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
	return env.Open(ctx, func(s *cmdenv.Store) error {
		if _, err := analytics.GetSite(ctx, s.Table, c.Site); err != nil {
			return cmdenv.SiteError(c.Site, err)
		}
		all, err := notify.ChannelsOfSite.Collect(ctx, s.Table, notify.SiteIn{SiteID: c.Site})
		if err != nil {
			return err
		}
		if env.JSON {
			out := make([]channelOutput, len(all))
			for i := range all {
				out[i] = outputOf(&all[i])
			}
			return terminal.JSON(env.Out, out)
		}
		if len(all) == 0 {
			_, err := fmt.Fprintf(env.Out, "No channels yet. Create one with: onefold site channel add %s --email you@example.com\n", c.Site)
			return err
		}
		w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "CHANNEL\tKIND\tTO\tUNSUBSCRIBED\tNAME")
		for i := range all {
			one, to := &all[i], all[i].Where(all[i].Kind)
			if one.Off {
				to += " (off)"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", one.ChannelID, one.Kind, terminal.Printable(to), terminal.Printable(strings.Join(one.Unsubscribed, ", ")), terminal.Printable(one.Name))
		}
		return w.Flush()
	})
}

// oneChannel names a channel of a site.
type oneChannel struct {
	Site string `arg:"" help:"Site ID."`
	ID   string `arg:"" help:"Channel ID."`
}

func (c *oneChannel) key() notify.ChannelKey {
	return notify.ChannelKey{SiteID: c.Site, ChannelID: c.ID}
}

// explain adds advice to an error about a channel.
func (c *oneChannel) explain(err error) error {
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return fmt.Errorf("no_such_channel: there is no channel %q; `onefold site channel list %s` lists all channels", c.ID, c.Site)
	}
	return err
}

type channelDelete struct{ oneChannel }

// Run deletes the channel.
func (c *channelDelete) Run(ctx context.Context, env *cmdenv.Env) error {
	return env.Open(ctx, func(s *cmdenv.Store) error {
		if _, err := notify.DeleteChannel(ctx, s.Table, c.key()); err != nil {
			return c.explain(err)
		}
		_, err := fmt.Fprintf(env.Out, "Deleted channel %s.\n", c.ID)
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
			return c.explain(err)
		}
		id, err := notify.Test(ctx, senders, &one, s.Table.Now())
		if err != nil {
			return fmt.Errorf("not_sent: %w", err)
		}
		_, err = fmt.Fprintf(env.Out, "Sent %s through channel %s; it was accepted.\n", id, c.ID)
		return err
	})
}
