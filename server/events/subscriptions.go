package events

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

type subscriptionBody struct {
	Name       string          `json:"name"`
	Position   int64           `json:"position" doc:"Feed position up to which all events are handled or parked."`
	Lag        int64           `json:"lag" doc:"Number of appends in the feed after that position."`
	Handled    int64           `json:"handled" doc:"Events handled, including repetitions."`
	Parked     int             `json:"parked" doc:"Parked events: those that could not be handled, and later events of their aggregates."`
	Pulled     bool            `json:"pulled,omitempty" doc:"Consumers receive its events over HTTP. Otherwise a program runs it."`
	InFlight   int             `json:"inFlight,omitempty" doc:"Events that consumers have received and not settled, while their visibility time lasts."`
	Created    time.Time       `json:"created"`
	Updated    time.Time       `json:"updated,omitzero" doc:"When a consumer last recorded progress."`
	Partitions []partitionBody `json:"partitions" doc:"Those that were ever consumed."`
}

type partitionBody struct {
	Partition int       `json:"partition"`
	Position  int64     `json:"position"`
	Consumer  string    `json:"consumer,omitempty" doc:"The process that took the partition last."`
	Parked    int       `json:"parked"`
	Failures  int       `json:"failures" doc:"Consecutive failed attempts."`
	Error     string    `json:"error,omitempty" doc:"Error of the last attempt. Absent if it succeeded."`
	Updated   time.Time `json:"updated"`
}

type subscriptionsAnswer struct {
	Body struct {
		Head          int64              `json:"head" doc:"Position of the last append in the feed."`
		Subscriptions []subscriptionBody `json:"subscriptions" doc:"Sorted by name."`
	}
}

// maxParkedListed is the maximum number of parked events in a response.
const maxParkedListed = 1000

type parkedEventBody struct {
	AggregateType string    `json:"aggregateType"`
	AggregateID   string    `json:"aggregateId"`
	Seq           int64     `json:"seq"`
	ID            string    `json:"id"`
	Type          string    `json:"type"`
	Position      int64     `json:"position"`
	Partition     int       `json:"partition"`
	Reason        string    `json:"reason,omitempty" doc:"Error of the last attempt. Absent if the event waits for an earlier event of its aggregate."`
	Attempts      int       `json:"attempts"`
	Parked        time.Time `json:"parked"`
}

type parkedEventsAnswer struct {
	Body struct {
		Parked []parkedEventBody `json:"parked" doc:"Sorted by partition and position, at most 1,000."`
		More   bool              `json:"more" doc:"There are more."`
	}
}

// SubscriptionPath names a subscription.
type SubscriptionPath struct {
	Name string `path:"subscription" maxLength:"64" doc:"Name of the subscription."`
}

type parkedRequest struct {
	SubscriptionPath
	Body *struct { // a pointer, because it may be missing
		Aggregates []struct {
			Type string `json:"type" minLength:"1" maxLength:"64"`
			ID   string `json:"id" minLength:"1" maxLength:"256"`
		} `json:"aggregates,omitempty" maxItems:"1000" doc:"Default: all."`
	}
}

func (r *parkedRequest) ids() []eventstore.ID {
	if r.Body == nil {
		return nil
	}
	ids := make([]eventstore.ID, len(r.Body.Aggregates))
	for i, a := range r.Body.Aggregates {
		ids[i] = eventstore.ID{Type: a.Type, ID: a.ID}
	}
	return ids
}

type retriedAnswer struct {
	Body struct {
		Aggregates int `json:"aggregates" doc:"Number of aggregates whose parked events will be tried again."`
	}
}

type discardedAnswer struct {
	Body struct {
		Events int `json:"events" doc:"Number of discarded events."`
	}
}

type resetRequest struct {
	SubscriptionPath
	Body struct {
		Position int64 `json:"position" minimum:"0" doc:"Handle events after this feed position; 0 for all."`
	}
}

func (s *Service) subscriptionRoutes(api huma.API) {
	const list, one = root + "/subscriptions", root + "/subscriptions/{subscription}"
	huma.Register(api, operation(middleware.ForRead, "subscriptions", http.MethodGet, list, "List the subscriptions with their progress"), s.subscriptions)
	huma.Register(api, operation(middleware.ForRead, "parked-events", http.MethodGet, one+"/parked", "List the parked events of a subscription"), s.parkedEvents)
	retry := operation(middleware.ForWrite, "retry-parked-events", http.MethodPost, one+"/retry", "Retry parked events after a fix")
	retry.Description = "The consumers try the first parked event of each aggregate within seconds, and then the others in order, until one fails."
	huma.Register(api, retry, s.retryEvents)
	huma.Register(api, operation(middleware.ForWrite, "discard-parked-events", http.MethodPost, one+"/discard", "Discard parked events, which are then never handled"), s.discardEvents)
	huma.Register(api, operation(middleware.ForWrite, "reset-subscription", http.MethodPost, one+"/reset", "Move a subscription to a feed position"), s.resetSubscription)
	huma.Register(api, operation(middleware.ForWrite, "delete-subscription", http.MethodDelete, one, "Delete a subscription with its parked events"), s.deleteSubscription)
}

func (s *Service) subscriptions(ctx context.Context, _ *struct{}) (*subscriptionsAnswer, error) {
	all, err := subscription.List(ctx, s.store)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	head, err := s.store.FeedHead(ctx)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(subscriptionsAnswer)
	answer.Body.Head, answer.Body.Subscriptions = head.Position, make([]subscriptionBody, len(all))
	for i := range all {
		answer.Body.Subscriptions[i] = describeSubscription(&all[i], s.table.Now())
	}
	return answer, nil
}

func describeSubscription(st *subscription.Status, now time.Time) subscriptionBody {
	body := subscriptionBody{
		Name: st.Name, Position: st.Position(), Lag: st.Lag(), Handled: st.Handled(), Parked: st.Parked(), Pulled: st.Pulled != nil, InFlight: st.InFlight(now), Created: st.CreatedAt, Updated: st.UpdatedAt(),
		Partitions: make([]partitionBody, len(st.Partitions)),
	}
	for i, p := range st.Partitions {
		body.Partitions[i] = partitionBody{p.Partition, p.Position, p.Owner, p.Parked, p.Failures, p.Error, p.UpdatedAt}
	}
	return body
}

// subscriptionError maps an error to a response.
func (s *Service) subscriptionError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, subscription.ErrNotFound):
		return middleware.Problem(http.StatusNotFound, "no_such_subscription", "There is no subscription with this name.")
	case errors.Is(err, subscription.ErrExists):
		return middleware.Problem(http.StatusConflict, "subscription_exists", "There is a subscription with this name and other settings. Use another name, or delete it.")
	case errors.Is(err, subscription.ErrNotPulled):
		return middleware.Problem(http.StatusConflict, "not_pulled", "A program runs this subscription. Create one of your own.")
	case errors.Is(err, subscription.ErrDefinition):
		return middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", middleware.Detail(err))
	}
	return s.mw.Error(ctx, err)
}

func (s *Service) parkedEvents(ctx context.Context, in *SubscriptionPath) (*parkedEventsAnswer, error) {
	if _, err := subscription.Get(ctx, s.store, in.Name); err != nil {
		return nil, s.subscriptionError(ctx, err)
	}
	answer := new(parkedEventsAnswer)
	answer.Body.Parked = []parkedEventBody{}
	for p, err := range subscription.ParkedOf.All(ctx, s.table, subscription.Key{Name: in.Name}) {
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		if answer.Body.More = len(answer.Body.Parked) == maxParkedListed; answer.Body.More {
			break
		}
		answer.Body.Parked = append(answer.Body.Parked, parkedEventBody{
			AggregateType: p.Type, AggregateID: p.EventKey.ID.ID, Seq: p.Seq, ID: p.EventID, Type: p.EventType,
			Position: p.Position, Partition: p.Partition, Reason: p.Reason, Attempts: p.Attempts, Parked: p.ParkedAt,
		})
	}
	return answer, nil
}

func (s *Service) retryEvents(ctx context.Context, in *parkedRequest) (*retriedAnswer, error) {
	n, err := subscription.Retry(ctx, s.store, in.Name, in.ids()...)
	if err != nil {
		return nil, s.subscriptionError(ctx, err)
	}
	s.recordSubscription(ctx, "subscription.retry", in.Name)
	answer := new(retriedAnswer)
	answer.Body.Aggregates = n
	return answer, nil
}

func (s *Service) discardEvents(ctx context.Context, in *parkedRequest) (*discardedAnswer, error) {
	n, err := subscription.Discard(ctx, s.store, in.Name, in.ids()...)
	if err != nil {
		return nil, s.subscriptionError(ctx, err)
	}
	s.recordSubscription(ctx, "subscription.discard", in.Name)
	answer := new(discardedAnswer)
	answer.Body.Events = n
	return answer, nil
}

func (s *Service) resetSubscription(ctx context.Context, in *resetRequest) (*struct{}, error) {
	if err := subscription.Reset(ctx, s.store, in.Name, in.Body.Position); err != nil {
		return nil, s.subscriptionError(ctx, err)
	}
	s.recordSubscription(ctx, "subscription.reset", in.Name)
	return nil, nil
}

func (s *Service) deleteSubscription(ctx context.Context, in *SubscriptionPath) (*struct{}, error) {
	if err := subscription.Delete(ctx, s.store, in.Name); err != nil {
		return nil, s.subscriptionError(ctx, err)
	}
	s.recordSubscription(ctx, "subscription.delete", in.Name)
	return nil, nil
}

func (s *Service) recordSubscription(ctx context.Context, action, name string) {
	s.mw.Record(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: action, Site: accounts.EventStore, Subject: name})
}
