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

// LimitStreams limits the number of open streams of an operation, shares them among callers, and
// exempts streams from the time limits of other requests. A stream ends within recheckStreams after
// its caller loses the permission. name labels the streams in metrics.
func (s *Stack) LimitStreams(api huma.API, name string, most int) func(huma.Context, func(huma.Context)) {
	open := newStreams(most)
	s.Metrics.most.WithLabelValues(name).Set(float64(most))
	now, rejected := s.Metrics.streams.WithLabelValues(name), s.Metrics.rejected.WithLabelValues(name)
	return func(ctx huma.Context, next func(huma.Context)) {
		release, ok := open.open(CallerOf(ctx.Context()))
		if !ok {
			rejected.Inc()
			s.WriteError(api, ctx, Problem(http.StatusServiceUnavailable, "too_many_streams",
				"Too many live streams are open. Close one, or poll instead."))
			return
		}
		defer release()
		now.Inc()
		defer now.Dec()
		_, w := humago.Unwrap(ctx)
		if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
			s.Logger.Warn("a stream will end early", "error", err)
		}
		ctx.SetHeader("X-Accel-Buffering", "no") // keeps proxies from buffering events
		permitted, cancel := context.WithCancel(ctx.Context())
		stop := s.endWithoutPermission(ctx, cancel)
		defer stop()
		next(huma.WithContext(ctx, permitted))
	}
}

// endWithoutPermission cancels a stream once its caller loses the permission to open it. Call stop
// when the stream has ended.
func (s *Stack) endWithoutPermission(ctx huma.Context, cancel context.CancelFunc) (stop func()) {
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ticks, stopTicks := s.recheck()
		defer stopTicks()
		for {
			select {
			case <-done:
				return
			case <-ticks:
			}
			if !s.stillPermitted(ctx) {
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
func (s *Stack) stillPermitted(ctx huma.Context) bool {
	r, _ := humago.Unwrap(ctx)
	need, _ := ctx.Operation().Metadata[permissionKey].(Permission)
	who := &Caller{Place: placeOf(ctx)}
	err := s.identify(ctx.Context(), r, who)
	if err == nil {
		err = s.RequirePermission(ctx.Context(), who, need, who.Place)
	}
	var problem *huma.ErrorModel
	return !errors.As(err, &problem)
}

// DownloadFailed ends a failed download. It sends a problem, or closes the connection if part of the
// download was sent.
func (s *Stack) DownloadFailed(ctx context.Context, w http.ResponseWriter, err error) {
	if err == nil {
		return
	}
	if errors.Is(err, download.ErrStarted) {
		if ctx.Err() == nil {
			s.Logger.WarnContext(ctx, "download failed", "error", err)
		}
		panic(http.ErrAbortHandler) // the standard way to close a connection
	}
	var p *huma.ErrorModel
	if !errors.As(s.Error(ctx, err), &p) {
		p = Problem(http.StatusServiceUnavailable, "unavailable", "The file cannot be created at the moment.")
	}
	WriteProblem(w, p)
}
