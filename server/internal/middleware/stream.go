package middleware

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/server/internal/download"
)

// recheckStreams is how often a stream's caller is looked up again.
const recheckStreams = 15 * time.Second

// AdmitStreams bounds how many streams of an operation are open, shares them out among callers, and lets a stream outlast the
// limits of other requests. A stream ends within recheckStreams of its caller losing the permission that opened it. name is how
// metrics call the streams.
func (d *Door) AdmitStreams(api huma.API, name string, most int) func(huma.Context, func(huma.Context)) {
	open := newStreams(most)
	d.Metrics.most.WithLabelValues(name).Set(float64(most))
	now, refused := d.Metrics.streams.WithLabelValues(name), d.Metrics.refused.WithLabelValues(name)
	return func(ctx huma.Context, next func(huma.Context)) {
		release, ok := open.take(CallerOf(ctx.Context()))
		if !ok {
			refused.Inc()
			d.Refuse(api, ctx, Problem(http.StatusServiceUnavailable, "too_many_streams",
				"Too many live streams are open. Close one, or ask for the figures without a stream."))
			return
		}
		defer release()
		now.Inc()
		defer now.Dec()
		_, w := humago.Unwrap(ctx)
		if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
			d.Logger.Warn("a stream will end early", "error", err)
		}
		ctx.SetHeader("X-Accel-Buffering", "no") // proxies must not hold events back
		permitted, cancel := context.WithCancel(ctx.Context())
		stop := d.endWithoutPermission(ctx, cancel)
		defer stop()
		next(huma.WithContext(ctx, permitted))
	}
}

// endWithoutPermission cancels a stream once its caller may not open it any more. Call stop when the stream has ended.
func (d *Door) endWithoutPermission(ctx huma.Context, cancel context.CancelFunc) (stop func()) {
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ticks, stopTicks := d.recheck()
		defer stopTicks()
		for {
			select {
			case <-done:
				return
			case <-ticks:
			}
			if !d.stillPermitted(ctx) {
				cancel()
				return
			}
		}
	}()
	return func() {
		close(done)
		cancel()
		<-stopped
	}
}

// stillPermitted looks up the caller of an open stream again. A table that does not answer takes no permission away: the stream
// shows nothing while that lasts, and ends with its time.
func (d *Door) stillPermitted(ctx huma.Context) bool {
	r, _ := humago.Unwrap(ctx)
	need, _ := ctx.Operation().Metadata[permissionKey].(Permission)
	who := &Caller{Place: placeOf(ctx)}
	err := d.identify(ctx.Context(), r, who)
	if err == nil {
		err = d.Permit(ctx.Context(), who, need, who.Place)
	}
	var refused *huma.ErrorModel
	return !errors.As(err, &refused)
}

// BrokenOff answers when a download failed: with a problem if nothing was sent, else by closing the connection.
func (d *Door) BrokenOff(ctx context.Context, w http.ResponseWriter, err error) {
	if err == nil {
		return
	}
	if errors.Is(err, download.ErrStarted) {
		if ctx.Err() == nil {
			d.Logger.WarnContext(ctx, "a download broke off", "error", err)
		}
		panic(http.ErrAbortHandler) // the way to close a connection
	}
	var p *huma.ErrorModel
	if !errors.As(d.Error(ctx, err), &p) {
		p = Problem(http.StatusServiceUnavailable, "unavailable", "The file cannot be made at the moment.")
	}
	WriteProblem(w, p)
}
