package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry"
)

const defaultWithin = 24 * time.Hour // default of Channel.Within

// decideAll decides which transitions of changed alerts are notified, and to which channels. The
// decision is stored in the alert in the same write, so each transition is decided only once.
func decideAll(ctx context.Context, t *table.Table, changes []change) error {
	var d *decider
	for i := range changes {
		c := &changes[i]
		for _, event := range transitions(&c.alert) {
			if d == nil {
				var err error
				if d, err = newDecider(ctx, t, &c.alert); err != nil {
					return err
				}
			}
			c.alert.Notified = append(c.alert.Notified, event)
			c.notifications = append(c.notifications, d.decide(&c.alert, event)...)
		}
	}
	return nil
}

// transitions returns the undecided transitions of an alert.
func transitions(a *telemetry.Alert) (all []telemetry.Transition) {
	add := func(event telemetry.Transition) {
		if !slices.Contains(a.Notified, event) {
			all = append(all, event)
		}
	}
	switch {
	case a.Waits && a.State == telemetry.Firing:
	case a.Withdrawn:
		if slices.Contains(a.Notified, telemetry.Fires) {
			add(telemetry.Withdraws)
		}
	case a.Fired != 0:
		add(telemetry.Fires)
		if a.State == telemetry.Resolved {
			add(telemetry.Resolves)
		}
	}
	return all
}

// decider has what is needed to decide on the notifications for a device's alerts.
type decider struct {
	now      time.Time
	channels []Channel
	device   telemetry.Device
}

func newDecider(ctx context.Context, t *table.Table, a *telemetry.Alert) (*decider, error) {
	d := &decider{now: t.Now().UTC().Truncate(time.Millisecond)}
	var err error
	if d.channels, err = ChannelsOfFleet.Collect(ctx, t, telemetry.FleetIn{FleetID: a.FleetID}); err != nil || len(d.channels) == 0 {
		return d, err
	}
	if d.device, err = telemetry.DeviceByID.Get(ctx, t, telemetry.DeviceIn{DeviceID: a.DeviceID}); errors.Is(err, table.ErrNotFound) {
		err = nil // an alert of a whole fleet
	}
	return d, err
}

func (d *decider) decide(a *telemetry.Alert, event telemetry.Transition) (all []Notification) {
	if a.Waits || d.device.Status == telemetry.Maintenance || d.now.Before(a.SnoozedUntil) {
		return nil
	}
	at := map[telemetry.Transition]int64{telemetry.Fires: a.Fired, telemetry.Resolves: a.Resolved}[event]
	for i := range d.channels {
		c := &d.channels[i]
		if !c.wants(a.Severity, event) || at != 0 && c.tooLate(d.now.Sub(time.UnixMilli(at))) {
			continue
		}
		id := fmt.Sprintf("%s.%s.%s", a.AlertID, event, c.ChannelID)
		all = append(all, Notification{
			NotificationKey: NotificationKey{a.FleetID, id}, ChannelID: c.ChannelID, Shard: table.Shard(id, delivery.Shards), Event: event,
			Alert: d.describe(a), Status: delivery.NewStatus(d.now),
		})
	}
	return all
}

func (c *Channel) wants(s telemetry.Severity, event telemetry.Transition) bool {
	return !c.Off && rank(s) >= rank(c.Least) && (len(c.Events) == 0 || slices.Contains(c.Events, event))
}

func (c *Channel) tooLate(after time.Duration) bool {
	within := defaultWithin
	if c.Within != 0 {
		within = time.Duration(c.Within) * time.Second
	}
	return within > 0 && after > within
}

// rank orders severities; "" is below all.
func rank(s telemetry.Severity) int {
	return slices.Index(severities, s)
}

// severities in ascending order.
var severities = []telemetry.Severity{telemetry.Info, telemetry.Warning, telemetry.Critical}

func (d *decider) describe(a *telemetry.Alert) AlertSnapshot {
	told := AlertSnapshot{
		AlertID: a.AlertID, FleetID: a.FleetID, DeviceID: a.DeviceID, Device: d.device.Name, RuleID: a.RuleID, Message: a.Message,
		Metric: a.Metric, Severity: a.Severity, Value: a.Value, Peak: a.Peak,
		Since: time.UnixMilli(a.Since).UTC(), FiredAt: time.UnixMilli(a.Fired).UTC(),
	}
	if a.Resolved != 0 {
		at := time.UnixMilli(a.Resolved).UTC()
		told.Resolved = &at
	}
	return told
}
