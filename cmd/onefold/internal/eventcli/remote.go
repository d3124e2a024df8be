package eventcli

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/onefold/onefold/cmd/internal/logimport"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
)

// remote is the event store of a server.
type remote struct{ *logimport.Remote }

func newRemote(address, key string) (*remote, error) {
	r, err := logimport.NewRemote(address, key)
	return &remote{r}, err
}

const root = "/api/v1/events"

func pathOf(id eventstore.ID) string {
	return root + "/aggregates/" + url.PathEscape(id.Type) + "/" + url.PathEscape(id.ID)
}

// append appends events. With a commit ID it retries after temporary errors.
func (r *remote) append(ctx context.Context, id eventstore.ID, a *appending) (c committed, err error) {
	body, err := json.Marshal(a)
	if err != nil {
		return c, err
	}
	send := r.Ask
	if a.CommitID != "" {
		send = r.Call
	}
	return c, send(ctx, http.MethodPost, pathOf(id)+"/events", body, &c)
}

// pageOfEvents is the number of events per request.
const pageOfEvents = 1000

func (r *remote) read(ctx context.Context, id eventstore.ID, in reading) iter.Seq2[eventjson.Event, error] {
	ask := url.Values{"limit": {strconv.Itoa(pageOfEvents)}}
	if in.from > 0 {
		ask.Set("from", strconv.FormatInt(in.from, 10))
	}
	if in.to > 0 {
		ask.Set("to", strconv.FormatInt(in.to, 10))
	}
	if !in.asOf.IsZero() {
		ask.Set("asOf", in.asOf.Format(time.RFC3339Nano))
	}
	if in.backwards {
		ask.Set("backwards", "true")
	}
	return func(yield func(eventjson.Event, error) bool) {
		for next := pathOf(id) + "/events?" + ask.Encode(); next != ""; {
			var page struct {
				Events []eventjson.Event
				Next   string
			}
			if err := r.Ask(ctx, http.MethodGet, next, nil, &page); err != nil {
				yield(eventjson.Event{}, err)
				return
			}
			for _, e := range page.Events {
				if !yield(e, nil) {
					return
				}
			}
			next = page.Next
		}
	}
}

func (r *remote) head(ctx context.Context, id eventstore.ID) (h head, err error) {
	return h, r.Ask(ctx, http.MethodGet, pathOf(id), nil, &h)
}

func (r *remote) state(ctx context.Context, id eventstore.ID, version int64) (s state, err error) {
	return s, r.Ask(ctx, http.MethodGet, pathOf(id)+"/state?version="+strconv.FormatInt(version, 10), nil, &s)
}

func (r *remote) types(ctx context.Context) ([]typeCounts, error) {
	var answer struct{ Types []typeCounts }
	err := r.Ask(ctx, http.MethodGet, root+"/types", nil, &answer)
	return answer.Types, err
}

func (r *remote) aggregates(ctx context.Context, kind string) iter.Seq2[head, error] {
	return func(yield func(head, error) bool) {
		for cursor := ""; ; {
			var page struct {
				Aggregates []head
				Cursor     string
			}
			if err := r.Ask(ctx, http.MethodGet, root+"/aggregates?"+url.Values{"type": {kind}, "limit": {"1000"}, "cursor": {cursor}}.Encode(), nil, &page); err != nil {
				yield(head{}, err)
				return
			}
			for _, h := range page.Aggregates {
				if !yield(h, nil) {
					return
				}
			}
			if cursor = page.Cursor; cursor == "" {
				return
			}
		}
	}
}

func (r *remote) end(ctx context.Context, id eventstore.ID) error {
	return r.Ask(ctx, http.MethodPost, pathOf(id)+"/close", nil, nil)
}

func (r *remote) erase(ctx context.Context, subject string) (receipt erased, err error) {
	return receipt, r.Ask(ctx, http.MethodPost, root+"/subjects/"+url.PathEscape(subject)+"/erase", nil, &receipt)
}
