package notices

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics/notify"
	"github.com/onefold/onefold/server/internal/channelform"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table/delivery"
)

// SiteChannelPath names a channel of a site.
type SiteChannelPath struct {
	middleware.SitePath
	Channel string `path:"channel" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" patternDescription:"letters, digits, _ and -" doc:"ID of the channel."`
}

func (in *SiteChannelPath) key() notify.ChannelKey {
	return notify.ChannelKey{SiteID: in.Site, ChannelID: in.Channel}
}

// SiteChannelForm has the settings of a channel that people choose.
type SiteChannelForm struct {
	Name string               `json:"name,omitempty" maxLength:"100"`
	Kind delivery.ChannelKind `json:"kind"`
	delivery.Settings
	Off bool `json:"off,omitempty" doc:"Nothing is sent. Waiting messages are skipped."`
}

// TransformSchema documents the kinds of channels and their settings.
func (SiteChannelForm) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return channelform.Describe(s)
}

type siteChannelBody struct {
	ID string `json:"id"`
	SiteChannelForm
	Unsubscribed []string `json:"unsubscribed,omitempty" audit:"hide" doc:"Recipients who asked for no more mail. Remove an address from the channel and add it again to send to it again."`
}

// describe omits what the caller may not see.
func describe(ctx context.Context, c *notify.Channel) siteChannelBody {
	shown := c.Shown(c.Kind, middleware.CallerOf(ctx).May(middleware.ForWrite, c.SiteID))
	return siteChannelBody{c.ChannelID, SiteChannelForm{c.Name, c.Kind, shown, c.Off}, c.Unsubscribed}
}

func describeIn(ctx context.Context) func(*notify.Channel) siteChannelBody {
	return func(c *notify.Channel) siteChannelBody { return describe(ctx, c) }
}

type siteChannelsAnswer struct {
	Body struct {
		Channels []siteChannelBody `json:"channels"`
		Kinds    []delivery.Kind   `json:"kinds" doc:"The kinds that a channel can have."`
	}
}

type putSiteChannelRequest struct {
	SiteChannelPath
	Body SiteChannelForm
}

type putSiteChannelAnswer struct {
	Body struct {
		Channel siteChannelBody `json:"channel"`
		Secret  string          `json:"secret,omitempty" doc:"Signs the messages of a webhook. Returned once, when the webhook is created."`
	}
}

type testAnswer struct {
	Body struct {
		ID string `json:"id" doc:"ID of the message, which the channel accepted."`
	}
}

func (s *Service) channelRoutes(api huma.API) {
	const list, one = sitePath + "/channels", sitePath + "/channels/{channel}"
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "site-channels", Method: http.MethodGet, Path: list, Summary: "List the channels to which reports of a site are sent", Tags: tags,
	}), s.channels)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "put-site-channel", Method: http.MethodPut, Path: one, MaxBodyBytes: middleware.MaxSmallBody, Summary: "Create or replace a channel of a site",
		Description: "Secrets that are omitted are kept.", Tags: tags,
	}), s.putChannel)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "delete-site-channel", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent,
		Summary: "Delete a channel of a site", Description: "Waiting messages are skipped.", Tags: tags, Errors: []int{http.StatusNotFound},
	}), s.deleteChannel)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "test-site-channel", Method: http.MethodPost, Path: one + "/test", Summary: "Send a test message through a channel of a site",
		Description: "It is sent at once, and once.", Tags: tags, Errors: []int{http.StatusNotFound, http.StatusBadGateway, http.StatusTooManyRequests},
	}), s.testChannel)
}

func (s *Service) channels(ctx context.Context, in *middleware.SitePath) (*siteChannelsAnswer, error) {
	all, err := listed(ctx, s, in.Site, func(ctx context.Context) ([]notify.Channel, error) {
		return notify.ChannelsOfSite.Collect(ctx, s.table, notify.SiteIn{SiteID: in.Site})
	}, describeIn(ctx))
	if err != nil {
		return nil, err
	}
	answer := new(siteChannelsAnswer)
	answer.Body.Channels, answer.Body.Kinds = all, delivery.Kinds
	return answer, nil
}

func (s *Service) putChannel(ctx context.Context, in *putSiteChannelRequest) (*putSiteChannelAnswer, error) {
	current, was, err := before(ctx, s, notify.Channels, in.key(), describeIn(ctx))
	if err != nil {
		return nil, err
	}
	b := &in.Body
	c := notify.Channel{ChannelKey: in.key(), Name: b.Name, Target: delivery.Target{Kind: b.Kind, Settings: b.Settings}, Off: b.Off}
	if !s.o.Private {
		if err := notify.CheckPublic(&c); err != nil {
			return nil, s.mw.Error(ctx, err)
		}
	}
	if c, err = notify.PutChannel(ctx, s.table, c); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.record(ctx, "channel.put", in.Site, in.Channel, was, describe(ctx, &c))
	answer := new(putSiteChannelAnswer)
	if answer.Body.Channel = describe(ctx, &c); c.Kind == delivery.Webhook && c.Secret != current.Secret {
		answer.Body.Secret = c.Secret
	}
	return answer, nil
}

func (s *Service) deleteChannel(ctx context.Context, in *SiteChannelPath) (*struct{}, error) {
	c, err := notify.DeleteChannel(ctx, s.table, in.key())
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.record(ctx, "channel.delete", in.Site, in.Channel, describe(ctx, &c), nil)
	return nil, nil
}

func (s *Service) testChannel(ctx context.Context, in *SiteChannelPath) (*testAnswer, error) {
	c, err := notify.Channels.Get(ctx, s.table, in.key())
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if err := s.limit(in.Site); err != nil {
		return nil, err
	}
	answer := new(testAnswer)
	if answer.Body.ID, err = notify.Test(ctx, s.o.Senders, &c, s.table.Now()); err != nil {
		return nil, middleware.Problem(http.StatusBadGateway, "not_sent", "The message was not accepted: "+err.Error()+".")
	}
	s.record(ctx, "channel.test", in.Site, in.Channel, nil, nil)
	return answer, nil
}
