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

// recheckStreams is how often the caller of a stream is looked up again.
const recheckStreams = 15 * time.Second

// AdmitStreams limits the number of open streams of an operation, shares them among callers, and
// exempts streams from the time limits of other requests. A stream ends within recheckStreams after
// its caller loses the permission. name labels the streams in metrics.
func (d *Door) AdmitStreams(api huma.API, name string, most int) func(huma.Context, func(huma.Context)) {
	open := newStreams(most)
	d.Metrics.most.WithLabelValues(name).Set(float64(most))
	now, refused := d.Metrics.streams.WithLabelValues(name), d.Metrics.refused.WithLabelValues(name)
	return func(ctx huma.Context, next func(huma.Context)) {
		release, ok := open.take(CallerOf(ctx.Context()))
		if !ok {
			refused.Inc()
			d.Refuse(api, ctx, Problem(http.StatusServiceUnavailable, "too_many_streams",
				"Too many live streams are open. Close one, or poll instead."))
			return
		}
		defer release()
		now.Inc()
		defer now.Dec()
		_, w := humago.Unwrap(ctx)
		if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
			d.Logger.Warn("a stream will end early", "error", err)
		}
		ctx.SetHeader("X-Accel-Buffering", "no") // keeps proxies from buffering events
		permitted, cancel := context.WithCancel(ctx.Context())
		stop := d.endWithoutPermission(ctx, cancel)
		defer stop()
		next(huma.WithContext(ctx, permitted))
	}
}

// endWithoutPermission cancels a stream once its caller loses the permission to open it. Call stop
// when the stream has ended.
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

// stillPermitted looks up the caller of an open stream again. An unreachable table revokes no
// permission: the stream is silent meanwhile and ends at its time limit.
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

// BrokenOff handles a failed download: it sends a problem if nothing was sent yet, and otherwise
// closes the connection.
func (d *Door) BrokenOff(ctx context.Context, w http.ResponseWriter, err error) {
	if err == nil {
		return
	}
	if errors.Is(err, download.ErrStarted) {
		if ctx.Err() == nil {
			d.Logger.WarnContext(ctx, "download failed", "error", err)
		}
		panic(http.ErrAbortHandler) // the standard way to close a connection
	}
	var p *huma.ErrorModel
	if !errors.As(d.Error(ctx, err), &p) {
		p = Problem(http.StatusServiceUnavailable, "unavailable", "The file cannot be created at the moment.")
	}
	WriteProblem(w, p)
}
