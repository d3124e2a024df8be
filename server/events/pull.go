package events

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/sse"

	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/server/internal/middleware"
)

const (
	soonLook      = 50 * time.Millisecond // how often the feed is polled after an append, until it has entered the feed
	soonLooks     = 10
	maxReceivers  = 200              // requests that wait for events at a time
	receiveBodyIn = 30 * time.Second // longer than a request may wait: the connection is closed when it ends
)

type createSubscriptionRequest struct {
	SubscriptionPath
	Body struct {
		EventTypes     []string `json:"eventTypes,omitempty" maxItems:"50" doc:"Only events of these types. Default: all."`
		AggregateTypes []string `json:"aggregateTypes,omitempty" maxItems:"50" doc:"Only events of aggregates of these types. Default: all."`
		Tags           []string `json:"tags,omitempty" maxItems:"16" doc:"Only events that have all of these tags."`
		After          int64    `json:"after,omitempty" minimum:"0" doc:"Only events after this position of the feed. Default: 0, the beginning."`
		FromEnd        bool     `json:"fromEnd,omitempty" doc:"Only events that enter the feed from now on. Not with after."`
		Partitions     int      `json:"partitions,omitempty" minimum:"1" maximum:"64" doc:"Parts that can be handled at the same time. The events of an aggregate are in one part. Default: 1."`
		Attempts       int      `json:"attempts,omitempty" minimum:"-1" maximum:"1000" doc:"Attempts to handle an event before it is parked; -1 for no limit. Default: 10."`
		RetryDelay     float64  `json:"retryDelay,omitempty" minimum:"0.001" maximum:"86400" doc:"Upper bound of the random wait before the first retry, in seconds. It doubles with each retry. Default: 0.2."`
		MaxRetryDelay  float64  `json:"maxRetryDelay,omitempty" minimum:"0.001" maximum:"86400" doc:"Maximum of that wait, in seconds. Default: 30."`
	}
}

type createSubscriptionAnswer struct {
	Status int
	Body   subscriptionBody
}

// PullOptions bound what a consumer receives.
type PullOptions struct {
	Events   int     `json:"events,omitempty" minimum:"1" maximum:"100" doc:"Maximum number of events. Default: 10."`
	Bytes    int     `json:"bytes,omitempty" minimum:"1" maximum:"4194304" doc:"Maximum size of their data, in bytes. The first event may exceed it. Default: 4 MB."`
	Visible  float64 `json:"visible,omitempty" minimum:"1" maximum:"43200" doc:"Visibility time: seconds until events that were not acknowledged are delivered again. Default: 30."`
	Consumer string  `json:"consumer,omitempty" maxLength:"128" doc:"Name of the consumer, for the list of subscriptions."`
}

func (b *PullOptions) ask() subscription.ReceiveOptions {
	return subscription.ReceiveOptions{Events: b.Events, Bytes: b.Bytes, Visible: seconds(b.Visible), Consumer: b.Consumer}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

type receiveRequest struct {
	SubscriptionPath
	Body *struct { // a pointer, because it may be missing
		Wait float64 `json:"wait,omitempty" minimum:"0" maximum:"20" doc:"Seconds to wait for events if there are none. Default: 0."`
		PullOptions
	}
}

type streamRequest struct {
	SubscriptionPath
	Body *PullOptions
}

// delivery is an event that was delivered to a consumer.
type delivery struct {
	Token     string    `json:"token" doc:"For its acknowledgment or rejection."`
	Attempt   int       `json:"attempt" doc:"Number of this attempt, from 1."`
	Parked    bool      `json:"parked,omitempty" doc:"The event was parked, and is retried on request."`
	Partition int       `json:"partition"`
	Until     time.Time `json:"until" doc:"End of the visibility time."`
	FeedEvent
}

type receiveAnswer struct {
	Body struct {
		Events []delivery `json:"events" doc:"Those of an aggregate are in order. Empty if there were none in time."`
	}
}

func (s *Service) pullRoutes(api huma.API) {
	const one = root + "/subscriptions/{subscription}"
	create := operation(middleware.ForWrite, "create-subscription", http.MethodPut, one, "Create a subscription whose events consumers receive over HTTP")
	create.Description = "The answer is 201, or 200 if there is such a subscription already. If it has other settings, 409 `subscription_exists`."
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, s.createSubscription)
	receive := operation(middleware.ForWrite, "receive-events", http.MethodPost, one+"/receive", "Receive events of a subscription")
	receive.Description = `Any number of consumers may ask. Each event is delivered to one of them, with a token. The consumer handles the events in order, and acknowledges or rejects each
within the visibility time. Until then the partition of the event is leased to it. An event is delivered after each earlier event of its aggregate was acknowledged or
parked, or together with it.`
	receive.Middlewares = huma.Middlewares{s.mw.LimitStreams(api, "receive", maxReceivers)}
	receive.BodyReadTimeout = receiveBodyIn
	huma.Register(api, receive, s.receive)
	stream := operation(middleware.ForWrite, "stream-deliveries", http.MethodPost, one+"/stream", "Receive events of a subscription as server-sent events")
	stream.Description = "Like receive, for as long as the connection lasts. Acknowledge events as usual: a partition whose events are not settled gets no more."
	stream.Middlewares = huma.Middlewares{s.mw.LimitStreams(api, "deliveries", maxStreams)}
	stream.BodyReadTimeout = -1 // the connection is read until the consumer is gone
	sse.Register(api, stream, map[string]any{"event": delivery{}, "beat": heartbeat{}}, s.streamDeliveries)
}

func (s *Service) createSubscription(ctx context.Context, in *createSubscriptionRequest) (*createSubscriptionAnswer, error) {
	b := &in.Body
	if b.FromEnd {
		if b.After > 0 {
			return nil, middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", "Give after or fromEnd, not both.")
		}
		b.After = subscription.FromEnd
	}
	created, err := subscription.Create(ctx, s.store, in.Name, b.Partitions, b.After, subscription.Settings{
		EventTypes: b.EventTypes, AggregateTypes: b.AggregateTypes, Tags: b.Tags,
		Attempts: b.Attempts, FirstDelay: seconds(b.RetryDelay), MaxDelay: seconds(b.MaxRetryDelay),
	})
	var st subscription.Status
	if err == nil {
		st, err = subscription.Get(ctx, s.store, in.Name)
	}
	if err != nil {
		return nil, s.subscriptionError(ctx, err)
	}
	answer := &createSubscriptionAnswer{Status: http.StatusOK, Body: describeSubscription(&st, s.table.Now())}
	if created {
		answer.Status = http.StatusCreated
		s.recordSubscription(ctx, "subscription.create", in.Name)
	}
	return answer, nil
}

func (s *Service) receive(ctx context.Context, in *receiveRequest) (*receiveAnswer, error) {
	var ask subscription.ReceiveOptions
	wait := time.Duration(0)
	if in.Body != nil {
		ask, wait = in.Body.ask(), seconds(in.Body.Wait)
	}
	puller, err := subscription.Open(ctx, s.storeFor(ctx), in.Name)
	if err != nil {
		return nil, s.subscriptionError(ctx, err)
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(s.background.Context(), cancel)()
	look := time.NewTicker(feedLook)
	defer look.Stop()
	for soon := 0; ; {
		appended, settled := s.appended.listen(), s.settled.listen() // before receiving, so that what happens meanwhile wakes the loop
		got, err := puller.Receive(ctx, ask)
		if err != nil {
			return nil, s.subscriptionError(ctx, err)
		}
		if len(got.Events) > 0 || waiting.Err() != nil {
			answer := new(receiveAnswer)
			answer.Body.Events = describeDeliveries(&got)
			return answer, nil
		}
		select {
		case <-waiting.Done():
		case <-settled:
		case <-appended:
			soon = soonLooks
			look.Reset(soonLook)
		case <-look.C:
			if soon--; soon == 0 {
				look.Reset(feedLook)
			}
		}
	}
}

func describeDeliveries(r *subscription.Received) []delivery {
	all := make([]delivery, len(r.Events))
	for i := range r.Events {
		e := &r.Events[i]
		all[i] = delivery{e.Token, e.Attempt, e.Parked, e.Partition, r.Until, describeFeedEvent(&e.FeedEvent)}
	}
	return all
}

func (s *Service) streamDeliveries(ctx context.Context, in *streamRequest, send sse.Sender) {
	puller, err := subscription.Open(ctx, s.storeFor(ctx), in.Name)
	if err == nil {
		ask := cmp.Or(in.Body, &PullOptions{}).ask()
		err = s.watch(ctx, send, &s.settled, feedLook, func(ctx context.Context) error {
			for {
				got, err := puller.Receive(ctx, ask)
				if err != nil || len(got.Events) == 0 {
					return err
				}
				for _, d := range describeDeliveries(&got) {
					if err := send(sse.Message{Data: d}); err != nil {
						return err
					}
				}
			}
		})
	}
	s.ended(ctx, err)
}
