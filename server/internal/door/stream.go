package door

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/onefold/onefold/server/internal/download"
)

// AdmitStreams bounds how many streams of an operation there are, and lets one last longer than other requests.
func (d *Door) AdmitStreams(api huma.API, most int) func(huma.Context, func(huma.Context)) {
	slots := make(chan struct{}, most)
	return func(ctx huma.Context, next func(huma.Context)) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			d.Refuse(api, ctx, Problem(http.StatusServiceUnavailable, "too_many_streams", "Too many streams are open. Ask without a stream."))
			return
		}
		_, w := humago.Unwrap(ctx)
		if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
			d.Logger.Warn("a stream will end early", "error", err)
		}
		ctx.SetHeader("X-Accel-Buffering", "no") // proxies must not hold events back
		next(ctx)
	}
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
