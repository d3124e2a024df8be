package devices

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/sse"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

const (
	streamFor  = 10 * time.Minute // after this time a stream ends; browsers reconnect and are authorized again
	maxStreams = 200              // concurrent streams
	tailAhead  = 256              // readings buffered for a slow reader
	tailBeat   = 15 * time.Second // heartbeat interval, so that proxies do not close a silent stream
)

// tailed is a reading in a stream.
type tailed struct {
	Device string           `json:"device"`
	At     time.Time        `json:"at"`
	Values telemetry.Values `json:"values"`
	Late   bool             `json:"late,omitempty"`
}

// missed reports how many readings were skipped for a slow reader.
type missed struct {
	Missed int `json:"missed"`
}

// heartbeat is the heartbeat of a stream.
type heartbeat struct {
	Now time.Time `json:"now"`
}

// tail distributes new readings to the streams of this process.
type tail struct {
	mu        sync.Mutex // guards listeners, and missed of each
	listeners map[*listener]struct{}
}

// listener is a stream's subscription to one device or to all.
type listener struct {
	device string // "" for all devices
	come   chan tailed
	missed int // readings skipped since the last call of gone; guarded by tail.mu
}

func (t *tail) listen(device string) (l *listener, leave func()) {
	l = &listener{device: device, come: make(chan tailed, tailAhead)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listeners == nil {
		t.listeners = map[*listener]struct{}{}
	}
	t.listeners[l] = struct{}{}
	return l, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.listeners, l)
	}
}

// publish distributes new readings to listeners without waiting for any.
func (t *tail) publish(readings []telemetry.Incoming, became []telemetry.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.listeners) == 0 {
		return
	}
	for i := range became {
		o := &became[i]
		if o.Status != telemetry.Stored && o.Status != telemetry.StoredLate {
			continue
		}
		one := tailed{readings[i].DeviceID, o.At, o.Kept(readings[i].Values), o.Status == telemetry.StoredLate}
		for l := range t.listeners {
			if l.device != "" && l.device != one.Device {
				continue
			}
			select {
			case l.come <- one:
			default:
				l.missed++
			}
		}
	}
}

// gone returns how many readings a listener has missed since the last call.
func (t *tail) gone(l *listener) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := l.missed
	l.missed = 0
	return n
}

func (s *Service) tailRoutes(api huma.API) {
	types := map[string]any{"reading": tailed{}, "missed": missed{}, "beat": heartbeat{}}
	admit := huma.Middlewares{s.mw.LimitStreams(api, "readings", maxStreams)}
	one := readOperation("tail-device", "/tail", "Stream new readings of a device as server-sent events")
	one.Description = "If several servers share a table, readings of the other servers arrive up to two seconds later, unless they are late by more than a minute."
	one.Errors = append(one.Errors, http.StatusNotFound)
	one.Middlewares = append(huma.Middlewares{s.onlyKnown(api)}, admit...)
	sse.Register(api, one, types, func(ctx context.Context, in *DevicePath, send sse.Sender) {
		s.stream(ctx, in.Device, in.Fleet, send)
	})
	sse.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "tail-fleet", Method: http.MethodGet, Path: fleetPath + "/tail", Middlewares: admit,
		Summary: "Stream new readings of a fleet as server-sent events", Description: "If several servers share a table, only readings that this server ingests.", Tags: []string{"readings"},
	}), types, func(ctx context.Context, in *middleware.FleetPath, send sse.Sender) {
		s.stream(ctx, "", in.Fleet, send)
	})
}

// onlyKnown rejects requests for a device that is not in the path's fleet.
func (s *Service) onlyKnown(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		path := DevicePath{FleetPath: middleware.FleetPath{Fleet: ctx.Param("fleet")}, Device: ctx.Param("device")}
		if _, err := s.known(ctx.Context(), &path); err != nil {
			s.mw.WriteError(api, ctx, err)
			return
		}
		next(ctx)
	}
}

func (s *Service) stream(ctx context.Context, device, fleet string, send sse.Sender) {
	ctx, cancel := context.WithTimeout(ctx, streamFor)
	defer cancel()
	defer context.AfterFunc(s.background.Context(), cancel)()
	l, leave := s.tail.listen(device)
	defer leave()
	w := &watcher{s: s, fleet: fleet, send: send, mine: map[string]bool{}}
	var err error
	if s.o.Shared && device != "" && s.isOf(ctx, device, fleet, w.mine) {
		w.others, err = othersOf(ctx, s.table, device)
	}
	if err == nil {
		err = w.watch(ctx, l)
	}
	if err != nil && ctx.Err() == nil {
		s.mw.Logger.WarnContext(ctx, "stream ended with an error", "device", device, "error", err)
	}
}

// watcher serves one stream.
type watcher struct {
	s      *Service
	fleet  string
	send   sse.Sender
	mine   map[string]bool // whether a device belongs to the fleet
	others *otherServers   // nil if there are no other servers, or more than one device is watched
}

// watch sends readings until ctx ends or the client is gone.
func (w *watcher) watch(ctx context.Context, l *listener) error {
	ticker, look := time.NewTicker(tailBeat), time.NewTicker(lookEvery)
	defer ticker.Stop()
	defer look.Stop()
	if w.others == nil {
		look.Stop()
	}
	gone := w.send.Data(heartbeat{w.s.table.Now().UTC()}) // the listener is registered now
	for gone == nil {
		var come []tailed
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			gone = w.send.Data(heartbeat{w.s.table.Now().UTC()})
		case <-look.C:
			var err error
			if come, err = w.others.look(ctx); err != nil {
				return err
			}
		case one := <-l.come:
			if n := w.s.tail.gone(l); n > 0 {
				gone = w.send.Data(missed{n})
			}
			if w.s.isOf(ctx, one.Device, w.fleet, w.mine) && (w.others == nil || w.others.took(&one)) {
				come = []tailed{one}
			}
		}
		for i := 0; i < len(come) && gone == nil; i++ {
			gone = w.send.Data(come[i])
		}
	}
	return nil
}

// isOf reports whether a device belongs to a fleet, and caches the result for the stream.
func (s *Service) isOf(ctx context.Context, device, fleet string, known map[string]bool) bool {
	is, asked := known[device]
	if asked {
		return is
	}
	d, err := telemetry.GetDevice(ctx, s.table, device)
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		s.mw.Logger.WarnContext(ctx, "a reading is missing in a live stream", "device", device, "error", err)
		return false
	}
	known[device] = err == nil && d.FleetID == fleet
	return known[device]
}
