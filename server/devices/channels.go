package devices

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/channelform"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
)

// ChannelPath names a notification channel of a fleet.
type ChannelPath struct {
	middleware.FleetPath
	Channel string `path:"channel" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" patternDescription:"letters, digits, _ and -" doc:"ID of the channel."`
}

func (in *ChannelPath) key() alerts.ChannelKey {
	return alerts.ChannelKey{FleetID: in.Fleet, ChannelID: in.Channel}
}

// ChannelForm has the settings of a channel that people choose. alerts.CheckChannel validates them.
type ChannelForm struct {
	Name string               `json:"name,omitempty"`
	Kind delivery.ChannelKind `json:"kind"`
	delivery.Settings
	Least  telemetry.Severity     `json:"least,omitempty" doc:"Notify only of alerts of this severity or worse: info, warning or critical. Default: all."`
	Events []telemetry.Transition `json:"events,omitempty" doc:"Any of firing, resolved, withdrawn. Default: all."`
	Within int                    `json:"within,omitempty" doc:"Seconds after which a notification is dropped. 0: a day, -1: never."`
	Off    bool                   `json:"off,omitempty"`
}

// TransformSchema documents the kinds of channels and their settings.
func (ChannelForm) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return channelform.Describe(s)
}

type channelBody struct {
	ID string `json:"id"`
	ChannelForm
}

// describeChannel omits what the caller may not see.
func describeChannel(ctx context.Context, c *alerts.Channel) channelBody {
	shown := c.Settings.Shown(c.Kind, middleware.CallerOf(ctx).May(middleware.ForWrite, accounts.OfFleet(c.FleetID)))
	return channelBody{c.ChannelID, ChannelForm{c.Name, c.Kind, shown, c.Least, c.Events, c.Within, c.Off}}
}

type channelsAnswer struct {
	Body struct {
		Channels []channelBody   `json:"channels"`
		Kinds    []delivery.Kind `json:"kinds" doc:"The kinds that a channel can have."`
	}
}

type putChannelRequest struct {
	ChannelPath
	Body ChannelForm
}

type putChannelAnswer struct {
	Body struct {
		Channel channelBody `json:"channel"`
		Secret  string      `json:"secret,omitempty" doc:"Signs the messages of a webhook. Returned once, when the webhook is created."`
	}
}

// NotificationPath names a notification of a fleet.
type NotificationPath struct {
	middleware.FleetPath
	Notification string `path:"notification" maxLength:"200" doc:"ID of the notification."`
}

type notificationsRequest struct {
	middleware.FleetPath
	State delivery.State `query:"state" enum:"waiting,sent,skipped,dead" doc:"Default: all."`
	PageParams
}

type notificationBody struct {
	ID        string               `json:"id"`
	Channel   string               `json:"channel"`
	Event     telemetry.Transition `json:"event"`
	Alert     alerts.AlertSnapshot `json:"alert" doc:"The alert at the time of the notification."`
	State     delivery.State       `json:"state" enum:"waiting,sent,skipped,dead"`
	Due       time.Time            `json:"due,omitzero" doc:"When delivery is tried next, if it is pending."`
	Attempts  int                  `json:"attempts"`
	LastError string               `json:"lastError,omitempty"`
	CreatedAt time.Time            `json:"createdAt"`
	SentAt    time.Time            `json:"sentAt,omitzero"`
}

func describeNotification(n *alerts.Notification) notificationBody {
	b := notificationBody{
		ID: n.NotificationID, Channel: n.ChannelID, Event: n.Event, Alert: n.Alert, State: n.State, Attempts: n.Attempts, LastError: n.LastError,
		CreatedAt: n.CreatedAt, SentAt: n.SentAt,
	}
	if n.State == delivery.Waiting {
		b.Due = n.Due
	}
	return b
}

type notificationAnswer struct{ Body notificationBody }

type notificationsAnswer struct {
	Body struct {
		Notifications []notificationBody `json:"notifications" doc:"Notifications of the latest alerts first."`
		Cursor        string             `json:"cursor,omitempty"`
	}
}

func (s *Service) channelRoutes(api huma.API) {
	const list, one, sent = fleetPath + "/channels", fleetPath + "/channels/{channel}", fleetPath + "/notifications"
	tags := []string{"alerts"}
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "channels", Method: http.MethodGet, Path: list, Summary: "List the notification channels of a fleet", Tags: tags,
	}), s.channels)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "put-channel", Method: http.MethodPut, Path: one, MaxBodyBytes: middleware.MaxSmallBody, Summary: "Create or replace a channel", Description: "Secrets that are omitted are kept.", Tags: tags,
	}), s.putChannel)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "delete-channel", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent,
		Summary: "Delete a channel", Description: "Pending notifications are skipped.", Tags: tags,
	}), s.deleteChannel)
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "notifications", Method: http.MethodGet, Path: sent, Summary: "List the notifications of a fleet's alerts with their delivery", Tags: tags,
	}), s.notifications)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "resend-notification", Method: http.MethodPost, Path: sent + "/{notification}/resend", DefaultStatus: http.StatusAccepted,
		Summary: "Retry a failed or skipped notification", Description: "Notifications in other states are left unchanged.", Tags: tags,
	}), s.resend)
}

func (s *Service) channels(ctx context.Context, in *middleware.FleetPath) (*channelsAnswer, error) {
	if _, err := telemetry.GetFleet(ctx, s.table, in.Fleet); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	all, err := alerts.ChannelsOfFleet.Collect(ctx, s.table, telemetry.FleetIn{FleetID: in.Fleet})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(channelsAnswer)
	answer.Body.Channels, answer.Body.Kinds = make([]channelBody, len(all)), delivery.Kinds
	for i := range all {
		answer.Body.Channels[i] = describeChannel(ctx, &all[i])
	}
	return answer, nil
}

func (s *Service) putChannel(ctx context.Context, in *putChannelRequest) (*putChannelAnswer, error) {
	before, err := alerts.Channels.Get(ctx, s.table, in.key())
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return nil, s.mw.Error(ctx, err)
	}
	b := &in.Body
	c := alerts.Channel{
		ChannelKey: in.key(), Name: b.Name, Kind: b.Kind, Settings: b.Settings, Least: b.Least, Events: b.Events, Within: b.Within, Off: b.Off,
	}
	if !s.o.PrivateWebhooks {
		if err := alerts.CheckPublicURL(&c); err != nil {
			return nil, s.mw.Error(ctx, err)
		}
	}
	if c, err = alerts.PutChannel(ctx, s.table, c); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.recordChange(ctx, "channel.put", in.Fleet, in.Channel, channelBefore(ctx, &before), describeChannel(ctx, &c))
	answer := new(putChannelAnswer)
	if answer.Body.Channel = describeChannel(ctx, &c); c.Secret != before.Secret {
		answer.Body.Secret = c.Secret
	}
	return answer, nil
}

// channelBefore returns the previous state of a channel for the audit record, or nil if it did not
// exist.
func channelBefore(ctx context.Context, c *alerts.Channel) any {
	if c.ChannelID == "" {
		return nil
	}
	return describeChannel(ctx, c)
}

func (s *Service) deleteChannel(ctx context.Context, in *ChannelPath) (*struct{}, error) {
	before, err := alerts.Channels.Get(ctx, s.table, in.key())
	if err == nil {
		err = alerts.DeleteChannel(ctx, s.table, in.key())
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.recordChange(ctx, "channel.delete", in.Fleet, in.Channel, describeChannel(ctx, &before), nil)
	return nil, nil
}

func (s *Service) notifications(ctx context.Context, in *notificationsRequest) (*notificationsAnswer, error) {
	if _, err := telemetry.GetFleet(ctx, s.table, in.Fleet); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	page, err := alerts.NotificationsOfFleet.Page(ctx, s.table, alerts.DeliveriesIn{FleetID: in.Fleet, State: in.State}, in.Cursor, in.Limit)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(notificationsAnswer)
	answer.Body.Notifications, answer.Body.Cursor = described(page, describeNotification), page.Next
	return answer, nil
}

func (s *Service) resend(ctx context.Context, in *NotificationPath) (*notificationAnswer, error) {
	n, err := alerts.Resend(ctx, s.table, alerts.NotificationKey{FleetID: in.Fleet, NotificationID: in.Notification})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.record(ctx, "notification.resend", in.Fleet, in.Notification)
	return &notificationAnswer{describeNotification(&n)}, nil
}
