package function

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/cmd/internal/ingestflags"
	"github.com/onefold/onefold/cmd/internal/outbox"
	"github.com/onefold/onefold/cmd/onefold-lambda/internal/emf"
	"github.com/onefold/onefold/cmd/onefold-lambda/internal/gateway"
	"github.com/onefold/onefold/server"
	"github.com/onefold/onefold/server/webanalytics"
)

// intakeSettings configure the ingest of facts and the sending of notifications.
type intakeSettings struct {
	ingestflags.Flags
	Telling outbox.Flags `embed:""`
	LineTag []string     `name:"device-tag" env:"ONEFOLD_DEVICE_TAG"`
}

// newIngest returns a function that accepts facts. It responds when they are stored.
func newIngest(b *base, s *settings) (lambda.Handler, error) {
	w, err := b.worker(nil) // never runs: the server needs a worker to report lag, which none of these routes does
	if err != nil {
		return nil, err
	}
	o := server.Options{
		Table: b.table, Worker: w, Accounts: b.accounts, Version: b.version, Logger: b.logger,
		Analytics: webanalytics.Options{Collector: analytics.NewCollector(b.table, analytics.CollectorOptions{}), Uploads: os.TempDir()},
	}
	o.Devices.DeviceTags = s.LineTag
	files, err := s.Flags.Apply(&o)
	for _, f := range files {
		err = errors.Join(err, f.Look()) // never closed: they live as long as the process
	}
	if err != nil {
		return nil, err
	}
	web, err := server.New(o)
	if err != nil {
		return nil, err
	}
	handler, settle := web.Intake()
	return handlerFunc(func(ctx context.Context, payload []byte) (any, error) {
		start := time.Now()
		answer, err := gateway.Answer(ctx, handler, payload)
		if err != nil {
			return nil, err
		}
		if err := settle(ctx); err != nil {
			b.logger.Warn("cannot write rejection counts yet", "error", err)
		}
		failed := int64(0)
		if answer.StatusCode >= 500 {
			failed = 1
		}
		err = b.metrics.Write(map[string]emf.Figure{
			"requests": {Unit: emf.Count, Value: 1}, "failed": {Unit: emf.Count, Value: failed},
			"took": {Unit: emf.Milliseconds, Value: time.Since(start).Milliseconds()},
		})
		if err != nil {
			b.logger.Warn("cannot write metrics", "error", err)
		}
		return answer, nil
	}), nil
}
