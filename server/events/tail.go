package events

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/sse"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventjson"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

const (
	streamFor  = 10 * time.Minute // after this time a stream ends; browsers reconnect and are authorized again
	maxStreams = 200              // concurrent streams
	tailBeat   = 15 * time.Second // heartbeat interval, so that proxies do not close a silent stream
	tailLook   = 2 * time.Second  // polling interval for appends of other processes
)

// heartbeat is the heartbeat of a stream.
type heartbeat struct {
	Now time.Time `json:"now"`
}

// notifier wakes up streams on an append. The zero value is ready to use.
type notifier struct {
	mu     sync.Mutex    // guards rung
	signal chan struct{} // closed by the next call of notify; nil if nobody listens
}

// listen returns a channel that the next call of notify closes. A nil notifier never closes its
// channel.
func (b *notifier) listen() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.signal == nil {
		b.signal = make(chan struct{})
	}
	return b.signal
}

func (b *notifier) notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.signal != nil {
		close(b.signal)
		b.signal = nil
	}
}

type tailRequest struct {
	AggregatePath
	Last  string `header:"Last-Event-ID" maxLength:"20" doc:"The number of the last event that was seen. Browsers send it when they reconnect."`
	After int64  `query:"after" minimum:"-1" default:"-1" doc:"The number of the last event that was seen, if there is no Last-Event-ID; 0 for all. Default: only new events."`
}

func (s *Service) tailRoutes(api huma.API) {
	tail := operation(middleware.ForRead, "tail-events", http.MethodGet, aggregatePath+"/tail", "Stream the events of an aggregate as server-sent events")
	tail.Description = "The event ID is its number in the stream, so that a reader who reconnects misses nothing. The stream need not exist yet."
	tail.Middlewares = huma.Middlewares{s.mw.LimitStreams(api, "aggregate", maxStreams)}
	sse.Register(api, tail, map[string]any{"event": eventjson.Event{}, "beat": heartbeat{}}, s.tail)
}

// position returns the number of the event after which a stream continues.
func (s *Service) position(ctx context.Context, in *tailRequest) (int64, error) {
	if n, err := strconv.ParseInt(in.Last, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	if in.After >= 0 {
		return in.After, nil
	}
	h, err := s.store.Head(ctx, in.id())
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return 0, err
	}
	return h.Version, nil
}

func (s *Service) tail(ctx context.Context, in *tailRequest, send sse.Sender) {
	at, err := s.position(ctx, in)
	if err == nil {
		err = s.watch(ctx, send, nil, tailLook, func(ctx context.Context) error {
			for e, err := range s.storeFor(ctx).Read(ctx, in.id(), eventstore.From(at+1)) {
				if err == nil {
					err = send(sse.Message{ID: int(e.Seq), Data: describe(&e)})
				}
				if err != nil {
					return err
				}
				at = e.Seq
			}
			return nil
		})
	}
	s.ended(ctx, err)
}

// ended logs why a stream ended with an error.
func (s *Service) ended(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		s.mw.Logger.WarnContext(ctx, "stream ended with an error", "error", err)
	}
}

// watch calls more, which sends the new events, after every append of this process, after every call
// of other.notify, and every interval, until the reader is gone.
func (s *Service) watch(ctx context.Context, send sse.Sender, other *notifier, every time.Duration, more func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, streamFor)
	defer cancel()
	defer context.AfterFunc(s.background.Context(), cancel)()
	look, pulse := time.NewTicker(every), time.NewTicker(tailBeat)
	defer look.Stop()
	defer pulse.Stop()
	err := send.Data(heartbeat{s.table.Now().UTC()}) // the reader is connected now
	for err == nil {
		rung, also := s.appended.listen(), other.listen() // before reading, so that an append meanwhile wakes the loop
		if err = more(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-rung:
		case <-also:
		case <-look.C:
		case <-pulse.C:
			err = send.Data(heartbeat{s.table.Now().UTC()})
		}
	}
	return err
}
