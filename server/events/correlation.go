package events

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/server/internal/middleware"
)

const (
	correlationScan  = 500      // appends searched by a request
	correlationBatch = 50       // of them read at once
	correlationBytes = 32 << 20 // of events read by a request; the last batch may exceed it
	correlationFor   = 20 * time.Second
)

type correlationRequest struct {
	ID     string    `query:"id" required:"true" minLength:"1" maxLength:"1024" doc:"A correlation ID, or the ID of an event."`
	Around time.Time `query:"around" doc:"RFC 3339: search the appends around this time."`
	Before int64     `query:"before" minimum:"1" doc:"Search the appends before this position of the feed."`
	After  int64     `query:"after" minimum:"-1" default:"-1" doc:"Search the appends after this position of the feed."`
}

type correlationAnswer struct {
	Body struct {
		Events  []FeedEvent `json:"events" doc:"Events with this correlation ID, the event with this ID, and events that it caused, in the order of the feed."`
		From    int64       `json:"from" doc:"First position that was searched. To search earlier appends, pass it as before."`
		To      int64       `json:"to" doc:"Last position that was searched. To search later appends, pass it as after."`
		End     int64       `json:"end" doc:"Last position of the feed."`
		Skipped int         `json:"skipped,omitempty" doc:"Appends that could not be searched, because their events were truncated."`
	}
}

func (s *Service) correlationRoutes(api huma.API) {
	op := operation(middleware.ForRead, "correlated-events", http.MethodGet, root+"/correlated", "Find the events with a correlation ID in a part of the feed")
	op.Description = "There is no index by correlation ID: a request searches at most 500 appends, by default the last ones, and says which. Give only one of around, before and after."
	op.Errors = append(op.Errors, http.StatusUnprocessableEntity)
	huma.Register(api, op, s.correlated)
}

func (s *Service) correlated(ctx context.Context, in *correlationRequest) (*correlationAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, correlationFor)
	defer cancel()
	part, err := s.searchedPart(ctx, in)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	c := &correlation{id: in.ID, store: s.storeFor(ctx)}
	if err := c.search(ctx, part); err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(correlationAnswer)
	answer.Body.Events = make([]FeedEvent, len(c.found))
	for i := range c.found {
		answer.Body.Events[i] = describeFeedEvent(&c.found[i])
	}
	answer.Body.From, answer.Body.To, answer.Body.End, answer.Body.Skipped = c.after+1, c.through, part.end, c.skipped
	return answer, nil
}

// feedPart is the part of the feed in (after, through].
type feedPart struct {
	after, through int64
	end            int64 // of the feed
	backwards      bool  // if not all of it can be searched, the end matters, not the beginning
}

// searchedPart returns the part of the feed that a request asks for.
func (s *Service) searchedPart(ctx context.Context, in *correlationRequest) (p feedPart, err error) {
	asked := 0
	for _, is := range []bool{!in.Around.IsZero(), in.Before > 0, in.After >= 0} {
		if is {
			asked++
		}
	}
	if asked > 1 {
		return p, middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", "Give only one of around, before and after.")
	}
	head, err := s.store.FeedHead(ctx)
	if err != nil {
		return p, err
	}
	p.end, p.backwards = head.Position, true
	switch {
	case !in.Around.IsZero():
		at, err := s.store.FeedPositionsAt(ctx, []time.Time{in.Around})
		if err != nil {
			return p, err
		}
		p.after, p.backwards = at[0]-correlationScan/2, false
	case in.After >= 0:
		p.after, p.backwards = min(in.After, p.end), false
	case in.Before > 0:
		p.after = min(in.Before-1, p.end) - correlationScan
	default:
		p.after = p.end - correlationScan
	}
	p.through = min(p.after+correlationScan, p.end)
	p.after = max(p.after, 0)
	return p, nil
}

// correlation collects the events of a correlation ID.
type correlation struct {
	id    string
	store *eventstore.Store

	found          []eventstore.FeedEvent
	after, through int64 // the part that was searched
	read, told     int   // bytes of the events read and found
	skipped        int
}

// search searches a part batch by batch until it has read or found enough.
func (c *correlation) search(ctx context.Context, p feedPart) error {
	c.after, c.through = p.after, p.after
	if p.backwards {
		c.after, c.through = p.through, p.through
	}
	for c.read < correlationBytes && c.told < pageBytes {
		switch {
		case p.backwards && c.after > p.after:
			from := max(c.after-correlationBatch, p.after)
			events, err := c.batch(ctx, from, c.after)
			if err != nil {
				return err
			}
			c.found, c.after = append(events, c.found...), from
		case !p.backwards && c.through < p.through:
			to := min(c.through+correlationBatch, p.through)
			events, err := c.batch(ctx, c.through, to)
			if err != nil {
				return err
			}
			c.found, c.through = append(c.found, events...), to
		default:
			return nil
		}
	}
	return nil
}

// batch returns the events of the appends in (after, through]. If some were truncated, it reads
// append by append and skips those.
func (c *correlation) batch(ctx context.Context, after, through int64) (found []eventstore.FeedEvent, err error) {
	page, err := c.store.FeedPage(ctx, after, int(through-after))
	if errors.Is(err, eventstore.ErrTruncated) {
		if through-after == 1 {
			c.skipped++
			return nil, nil
		}
		for ; after < through; after++ {
			events, err := c.batch(ctx, after, after+1)
			if err != nil {
				return nil, err
			}
			found = append(found, events...)
		}
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range page.Events {
		e := &page.Events[i]
		c.read += eventBytes(&e.Event)
		if e.Correlation == c.id || e.EventID == c.id || e.Causation == c.id {
			c.told += eventBytes(&e.Event)
			found = append(found, *e)
		}
	}
	return found, nil
}
