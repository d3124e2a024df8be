package devices

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/background"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/jobs"
	"github.com/onefold/onefold/server/mqtt"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Options configure telemetry. The zero value has good defaults.
type Options struct {
	Collector *telemetry.Collector // default: a new one for the table
	// DeviceTags are the tags that name devices in line protocol; default device, device_id and host.
	DeviceTags []string
	// Shared means that other servers ingest readings for the same table, which are then shown in
	// live streams, too.
	Shared bool
	// PrivateWebhooks allows webhooks to private and loopback addresses. Default: they are rejected
	// when saved and when called.
	PrivateWebhooks bool
	// Overloaded reports that there is no memory for more messages. Default: never.
	Overloaded func() bool
}

// Service serves telemetry with authorization. Create one with New.
type Service struct {
	o          Options
	mw         *middleware.Stack
	table      *table.Table
	folded     telemetry.Folded
	metrics    *metrics
	tail       tail
	background *background.Work

	verifications *jobs.Board[fleetVerification]
}

// New creates the service for a table whose folds w runs.
func New(mw *middleware.Stack, t *table.Table, w telemetry.Folded, o Options) (*Service, error) {
	if w == nil {
		return nil, errors.New("devices: the folds are required")
	}
	if o.Collector == nil {
		o.Collector = telemetry.NewCollector(t, telemetry.CollectorOptions{})
	}
	work := background.New()
	return &Service{
		o: o, mw: mw, table: t, folded: w, metrics: newMetrics(&mw.Metrics), background: work,
		verifications: jobs.NewBoard[fleetVerification](t, "verify-fleet", 1, work, mw.Logger), // each reads all raw readings of its days
	}, nil
}

// Register adds the operations to the API.
func (s *Service) Register(api huma.API, mux *http.ServeMux) error {
	s.ingestRoutes(api)
	s.importRoutes(api)
	s.lineRoutes(api, mux)
	s.fleetRoutes(api)
	s.profileRoutes(api)
	s.deviceRoutes(api)
	s.importDeviceRoutes(api)
	s.tokenRoutes(api)
	s.readingRoutes(api)
	s.exportRoutes(api)
	s.retractionRoutes(api)
	s.tailRoutes(api)
	s.alertRoutes(api)
	s.ruleRoutes(api)
	s.channelRoutes(api)
	s.verifyRoutes(api)
	return nil
}

// Wrap adds no middleware.
func (s *Service) Wrap(next http.Handler) http.Handler { return next }

// Run does nothing: all background work is started by requests.
func (s *Service) Run(context.Context) {}

// Close ends streams and background work, and waits for them.
func (s *Service) Close() { s.background.Close() }

// Login authenticates devices and gateways over MQTT; see Messages.
func (s *Service) Login(ctx context.Context, l mqtt.Login) (mqtt.Taker, error) {
	m := Messages{
		Collector: s.o.Collector, Gateway: s.gateway, Count: s.metrics.count, Stored: s.tail.publish,
		Device: s.o.Collector.Device, Overloaded: s.o.Overloaded,
	}
	return m.Login(ctx, l)
}

// gateway returns the fleet that a key sends for, or "" for all. The user name is ignored.
func (s *Service) gateway(ctx context.Context, _, token string) (fleetID string, err error) {
	key, err := s.mw.SenderKey(ctx, token)
	if err != nil {
		return "", err
	}
	fleet, ok := sendsFor(key)
	if !ok {
		return "", accounts.ErrDenied
	}
	return fleet, nil
}
