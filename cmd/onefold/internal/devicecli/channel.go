package devicecli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"github.com/onefold/onefold/cmd/internal/outbox"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/channelflags"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// Channels are the commands for notification channels.
type Channels struct {
	Add    channelAdd    `cmd:"" help:"Create a channel that sends a fleet's alerts."`
	List   channelList   `cmd:"" help:"List the channels of a fleet."`
	Delete channelDelete `cmd:"" help:"Delete a channel."`
	Test   channelTest   `cmd:"" help:"Send a test message through a channel."`
}

// channelOutput is the JSON form of a channel. The secret is included only when the channel is
// created.
type channelOutput struct {
	ID    string               `json:"id"`
	Fleet string               `json:"fleet"`
	Kind  delivery.ChannelKind `json:"kind"`
	Name  string               `json:"name,omitempty"`
	delivery.Settings
	Secret    string                 `json:"secret,omitempty"`
	Least     telemetry.Severity     `json:"least,omitempty"`
	Events    []telemetry.Transition `json:"events,omitempty"`
	Within    int                    `json:"withinSeconds,omitempty"`
	Off       bool                   `json:"off,omitempty"`
	CreatedAt time.Time              `json:"createdAt"`
}

func channelOutputOf(c *alerts.Channel) channelOutput {
	return channelOutput{
		ID: c.ChannelID, Fleet: c.FleetID, Kind: c.Kind, Name: c.Name, Settings: c.Settings.Shown(c.Kind, true), Least: c.Least, Events: c.Events,
		Within: c.Within, Off: c.Off, CreatedAt: c.CreatedAt,
	}
}

type channelAdd struct {
	ID     string        `arg:"" optional:"" help:"Channel ID (default: a new one)."`
	Fleet  string        `required:"" help:"Fleet ID."`
	Kinds  kong.Plugins  `embed:""` // of NewChannels
	Name   string        `help:"Display name."`
	Least  string        `help:"Lowest severity to send: info, warning or critical (default: all)." placeholder:"SEVERITY"`
	Events []string      `help:"Events to send: firing, resolved, withdrawn (default: all)." placeholder:"EVENT"`
	Within time.Duration `help:"Age at which an unsent notification is dropped (default: 24h)." placeholder:"24h"`
}

// NewChannels returns the commands, with flags for all kinds of channels.
func NewChannels() (c Channels) {
	c.Add.Kinds = channelflags.New()
	return c
}

// Run creates the channel. It prints the secret of a webhook, with which the receiver verifies
// messages.
func (c *channelAdd) Run(ctx context.Context, env *Env) error {
	one := alerts.Channel{
		ChannelKey: alerts.ChannelKey{FleetID: c.Fleet, ChannelID: c.ID}, Name: c.Name,
		Least: telemetry.Severity(c.Least), Within: int(c.Within / time.Second),
	}
	for _, e := range c.Events {
		one.Events = append(one.Events, telemetry.Transition(e))
	}
	one.Kind, one.Settings = channelflags.Read(c.Kinds)
	return env.Open(ctx, func(s *Store) error {
		err := alerts.CheckChannel(&one)
		if err == nil {
			err = c.unused(ctx, s)
		}
		if err == nil {
			one, err = alerts.PutChannel(ctx, s.Table, one)
		}
		if err != nil {
			return explain("fleet", c.Fleet, err)
		}
		out := channelOutputOf(&one)
		out.Secret = one.Secret
		if env.JSON {
			return terminal.JSON(env.Out, out)
		}
		if _, err = fmt.Fprintf(env.Out, "Created channel %s.\n", one.ChannelID); err == nil && one.Secret != "" {
			_, err = fmt.Fprintf(env.Out, "Signing secret of its messages, not shown again: %s\n", one.Secret)
		}
		return err
	})
}

// unused returns an error if the ID is in use, since adding the channel would change the existing
// one.
func (c *channelAdd) unused(ctx context.Context, s *Store) error {
	if c.ID == "" {
		return nil
	}
	_, err := alerts.Channels.Get(ctx, s.Table, alerts.ChannelKey{FleetID: c.Fleet, ChannelID: c.ID})
	if err == nil {
		return fmt.Errorf("channel_exists: channel %q already exists; `onefold channels list --fleet %s` shows it", c.ID, c.Fleet)
	}
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	return err
}

type channelList struct {
	Fleet string `required:"" help:"Fleet ID."`
}

// Run lists the channels.
func (c *channelList) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		if _, err := telemetry.GetFleet(ctx, s.Table, c.Fleet); err != nil {
			return explain("fleet", c.Fleet, err)
		}
		all, err := alerts.ChannelsOfFleet.Collect(ctx, s.Table, telemetry.FleetIn{FleetID: c.Fleet})
		if err != nil {
			return err
		}
		if env.JSON {
			out := make([]channelOutput, len(all))
			for i := range all {
				out[i] = channelOutputOf(&all[i])
			}
			return terminal.JSON(env.Out, out)
		}
		w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "CHANNEL\tKIND\tTO\tFROM SEVERITY\tNAME")
		for i := range all {
			one, to := &all[i], all[i].Settings.Where(all[i].Kind)
			if one.Off {
				to += " (off)"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", one.ChannelID, one.Kind, terminal.Printable(to), cmp.Or(one.Least, "all"), terminal.Printable(one.Name))
		}
		return w.Flush()
	})
}

// oneChannel names a channel of a fleet.
type oneChannel struct {
	ID    string `arg:"" help:"Channel ID."`
	Fleet string `required:"" help:"Fleet ID."`
}

func (c *oneChannel) key() alerts.ChannelKey {
	return alerts.ChannelKey{FleetID: c.Fleet, ChannelID: c.ID}
}

// explain adds advice to an error about a channel.
func (c *oneChannel) explain(err error) error {
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return fmt.Errorf("no_such_channel: there is no channel %q; `onefold channels list --fleet %s` lists all channels", c.ID, c.Fleet)
	}
	return err
}

type channelDelete struct{ oneChannel }

// Run deletes the channel.
func (c *channelDelete) Run(ctx context.Context, env *Env) error {
	return env.Open(ctx, func(s *Store) error {
		_, err := alerts.Channels.Get(ctx, s.Table, c.key())
		if err == nil {
			err = alerts.DeleteChannel(ctx, s.Table, c.key())
		}
		if err != nil {
			return c.explain(err)
		}
		_, err = fmt.Fprintf(env.Out, "Deleted channel %s.\n", c.ID)
		return err
	})
}

type channelTest struct {
	oneChannel
	outbox.Flags
}

// Run sends a test message.
func (c *channelTest) Run(ctx context.Context, env *Env) error {
	senders, err := c.Senders()
	if err != nil {
		return fmt.Errorf("invalid: %w", err)
	}
	return env.Open(ctx, func(s *Store) error {
		one, err := alerts.Channels.Get(ctx, s.Table, c.key())
		if err != nil {
			return c.explain(err)
		}
		id, err := alerts.Test(ctx, senders, &one, s.Table.Now())
		if err != nil {
			return fmt.Errorf("not_sent: %w", err)
		}
		_, err = fmt.Fprintf(env.Out, "Sent %s through channel %s; it was accepted.\n", id, c.ID)
		return err
	})
}
