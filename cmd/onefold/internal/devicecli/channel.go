package devicecli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/onefold/onefold/cmd/internal/outbox"
	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// Channels are the commands for notification channels.
type Channels struct {
	Add    channelAdd    `cmd:"" help:"Create a channel that sends a fleet's alerts to a webhook or by email."`
	List   channelList   `cmd:"" help:"List the channels of a fleet."`
	Delete channelDelete `cmd:"" help:"Delete a channel."`
	Test   channelTest   `cmd:"" help:"Send a test message through a channel."`
}

// channelOutput is the JSON form of a channel. The secret is included only when the channel is
// created.
type channelOutput struct {
	ID        string                 `json:"id"`
	Fleet     string                 `json:"fleet"`
	Kind      alerts.ChannelKind     `json:"kind"`
	Name      string                 `json:"name,omitempty"`
	URL       string                 `json:"url,omitempty"`
	Secret    string                 `json:"secret,omitempty"`
	To        []string               `json:"to,omitempty"`
	Least     telemetry.Severity     `json:"least,omitempty"`
	Events    []telemetry.Transition `json:"events,omitempty"`
	Within    int                    `json:"withinSeconds,omitempty"`
	Off       bool                   `json:"off,omitempty"`
	CreatedAt time.Time              `json:"createdAt"`
}

func channelOutputOf(c *alerts.Channel) channelOutput {
	return channelOutput{
		ID: c.ChannelID, Fleet: c.FleetID, Kind: c.Kind, Name: c.Name, URL: c.URL, To: c.To, Least: c.Least, Events: c.Events,
		Within: c.Within, Off: c.Off, CreatedAt: c.CreatedAt,
	}
}

type channelAdd struct {
	ID      string        `arg:"" optional:"" help:"Channel ID (default: a new one)."`
	Fleet   string        `required:"" help:"Fleet ID."`
	Webhook string        `help:"URL to post signed JSON to." placeholder:"URL" xor:"kind" required:""`
	Email   []string      `help:"Email address to notify. Repeat or separate by commas." placeholder:"ADDRESS" xor:"kind" required:""`
	Name    string        `help:"Display name."`
	Least   string        `help:"Lowest severity to send: info, warning or critical (default: all)." placeholder:"SEVERITY"`
	Events  []string      `help:"Events to send: firing, resolved, withdrawn (default: all)." placeholder:"EVENT"`
	Within  time.Duration `help:"Age at which an unsent notification is dropped (default: 24h)." placeholder:"24h"`
}

// Run creates the channel. It prints the secret of a webhook, with which the receiver verifies
// messages.
func (c *channelAdd) Run(ctx context.Context, env *Env) error {
	one := alerts.Channel{
		ChannelKey: alerts.ChannelKey{FleetID: c.Fleet, ChannelID: c.ID}, Kind: alerts.Webhook, Name: c.Name, URL: c.Webhook,
		Least: telemetry.Severity(c.Least), Within: int(c.Within / time.Second),
	}
	for _, e := range c.Events {
		one.Events = append(one.Events, telemetry.Transition(e))
	}
	if len(c.Email) > 0 {
		one.Kind, one.To = alerts.Email, c.Email
	}
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
		out := []channelOutput{}
		for one, err := range alerts.ChannelsOfFleet.All(ctx, s.Table, telemetry.FleetIn{FleetID: c.Fleet}) {
			if err != nil {
				return err
			}
			out = append(out, channelOutputOf(&one))
		}
		if env.JSON {
			return terminal.JSON(env.Out, out)
		}
		w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "CHANNEL\tKIND\tTO\tFROM SEVERITY\tNAME")
		for i := range out {
			one := &out[i]
			to := cmp.Or(one.URL, strings.Join(one.To, ", "))
			if one.Off {
				to += " (off)"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", one.ID, one.Kind, terminal.Printable(to), cmp.Or(one.Least, "all"), terminal.Printable(one.Name))
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
		id, err := senders.Test(ctx, &one, s.Table.Now())
		if err != nil {
			return fmt.Errorf("not_sent: %w", err)
		}
		_, err = fmt.Fprintf(env.Out, "Sent %s through channel %s; it was accepted.\n", id, c.ID)
		return err
	})
}
