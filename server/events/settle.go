package events

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/server/internal/middleware"
)

type acknowledgeRequest struct {
	SubscriptionPath
	Body struct {
		Tokens []string `json:"tokens" minItems:"1" maxItems:"100" doc:"Of deliveries, in any order."`
	}
}

type rejectRequest struct {
	SubscriptionPath
	Body struct {
		Tokens []string `json:"tokens" minItems:"1" maxItems:"100" doc:"Of deliveries."`
		Reason string   `json:"reason" minLength:"1" maxLength:"500" doc:"Why the events could not be handled, for people."`
		Park   bool     `json:"park,omitempty" doc:"Park the events without further attempts. Default: retry until the attempts of the subscription are used up."`
	}
}

type extendRequest struct {
	SubscriptionPath
	Body struct {
		Tokens  []string `json:"tokens" minItems:"1" maxItems:"100" doc:"Of deliveries."`
		Visible float64  `json:"visible" minimum:"1" maximum:"43200" doc:"Seconds from now until the events may be delivered again. A time that ends later already is not shortened."`
	}
}

type extendedAnswer struct {
	Body struct {
		Until time.Time `json:"until" doc:"The visibility time does not end before."`
	}
}

type settledAnswer struct {
	Body struct {
		Settled int `json:"settled" doc:"Number of tokens."`
	}
}

// refusedToken says why a token was refused.
type refusedToken struct {
	Token  string `json:"token"`
	Code   string `json:"code" enum:"invalid_token,delivery_lost,earlier_unacknowledged"`
	Detail string `json:"detail"`
}

// refusedProblem is the response if some tokens were refused. The others have had their effect.
type refusedProblem struct {
	*huma.ErrorModel
	Settled int            `json:"settled" doc:"Number of tokens that had their effect, now or before."`
	Refused []refusedToken `json:"refused" doc:"The others, in the order of the request."`
}

func (s *Service) settlingRoutes(api huma.API) {
	const one = root + "/subscriptions/{subscription}"
	refused := &huma.Response{Description: "Some tokens were refused.", Content: map[string]*huma.MediaType{
		"application/problem+json": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[refusedProblem](), true, "RefusedTokens")},
	}}
	acknowledge := operation(middleware.ForWrite, "acknowledge-events", http.MethodPost, one+"/acknowledge", "Acknowledge events that were handled")
	acknowledge.Description = `Repeating an acknowledgment has no effect. If some tokens are refused, the answer is 409 with the code of the first of them, and the others have had their effect:
` + "`delivery_lost`" + ` means that the visibility time ended and the event was delivered again, or that it was rejected; ` + "`earlier_unacknowledged`" + ` that an earlier event
of the aggregate is not acknowledged.`
	acknowledge.Responses = map[string]*huma.Response{"409": refused}
	huma.Register(api, acknowledge, s.acknowledge)
	reject := operation(middleware.ForWrite, "reject-events", http.MethodPost, one+"/reject", "Reject events that could not be handled, to retry or park them")
	reject.Description = "Later events of their aggregates that the consumer has received are withdrawn: do not handle them. They are delivered again after the rejected ones, or parked behind them."
	reject.Responses = map[string]*huma.Response{"409": refused}
	huma.Register(api, reject, s.reject)
	extend := operation(middleware.ForWrite, "extend-deliveries", http.MethodPost, one+"/extend", "Extend the visibility time of events that take longer to handle")
	extend.Description = "The time is extended for all events that the consumer has of the same partition. It may be extended again and again, and also after it has ended, until the event is delivered again."
	extend.Responses = map[string]*huma.Response{"409": refused}
	huma.Register(api, extend, s.extend)
}

func (s *Service) acknowledge(ctx context.Context, in *acknowledgeRequest) (*settledAnswer, error) {
	puller, err := subscription.Open(ctx, s.store, in.Name)
	var refused []error
	if err == nil {
		refused, err = puller.Acknowledge(ctx, in.Body.Tokens)
	}
	if err != nil {
		return nil, s.subscriptionError(ctx, err)
	}
	s.settled.notify()
	return settled(in.Body.Tokens, refused)
}

func (s *Service) reject(ctx context.Context, in *rejectRequest) (*settledAnswer, error) {
	puller, err := subscription.Open(ctx, s.store, in.Name)
	refused := make([]error, len(in.Body.Tokens))
	for i := 0; i < len(refused) && err == nil; i++ {
		refused[i], err = puller.Reject(ctx, in.Body.Tokens[i], in.Body.Reason, in.Body.Park)
	}
	if err != nil {
		return nil, s.subscriptionError(ctx, err)
	}
	s.settled.notify()
	return settled(in.Body.Tokens, refused)
}

func (s *Service) extend(ctx context.Context, in *extendRequest) (*extendedAnswer, error) {
	puller, err := subscription.Open(ctx, s.store, in.Name)
	answer := new(extendedAnswer)
	var refused []error
	if err == nil {
		refused, answer.Body.Until, err = puller.Extend(ctx, in.Body.Tokens, seconds(in.Body.Visible))
	}
	if err != nil {
		return nil, s.subscriptionError(ctx, err)
	}
	_, err = settled(in.Body.Tokens, refused)
	return answer, err
}

// settled describes what became of tokens.
func settled(tokens []string, refused []error) (*settledAnswer, error) {
	answer, p := new(settledAnswer), &refusedProblem{}
	for i, err := range refused {
		if err == nil {
			answer.Body.Settled++
			continue
		}
		code, detail := refusal(err)
		if p.ErrorModel == nil {
			p.ErrorModel = middleware.Problem(http.StatusConflict, code, detail)
		}
		p.Refused = append(p.Refused, refusedToken{tokens[i], code, detail})
	}
	if p.Refused == nil {
		return answer, nil
	}
	p.Settled = answer.Body.Settled
	return nil, p
}

// refusal returns the code of a refused token, and what to do about it.
func refusal(err error) (code, detail string) {
	switch {
	case errors.Is(err, subscription.ErrLost):
		return "delivery_lost", "The event is no longer yours: its visibility time ended and it was delivered again, or it was rejected."
	case errors.Is(err, subscription.ErrEarlier):
		return "earlier_unacknowledged", "Acknowledge or reject the earlier events of the aggregate first."
	}
	return "invalid_token", "This is no token of a delivery of this subscription."
}
