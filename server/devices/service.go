package devices

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/server/internal/background"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/jobs"
	"github.com/onefold/onefold/server/mqtt"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Options configure telemetry. The zero value is good.
type Options struct {
	Collector *telemetry.Collector // default: one of the table
	// DeviceTags are the tags that name devices in line protocol; default device, device_id and host.
	DeviceTags []string
	// Shared says that other servers take readings in for the same table: who watches a device is shown theirs, too.
	Shared bool
	// PrivateWebhooks allows webhooks at private and loopback addresses. Default: refused when they are saved, as they are when called.
	PrivateWebhooks bool
	// Overloaded reports that there is no memory for more messages. Default: never.
	Overloaded func() bool
}

// Service is telemetry behind a door. Make one with New.
type Service struct {
	o          Options
	door       *middleware.Door
	table      *table.Table
	folded     telemetry.Folded
	metrics    *metrics
	tail       tail
	background *background.Work

	verifications *jobs.Board[fleetVerification]
}

// New makes the service of a table whose folds are w's.
func New(d *middleware.Door, t *table.Table, w telemetry.Folded, o Options) (*Service, error) {
	if w == nil {
		return nil, errors.New("devices: the folds are required")
	}
	if o.Collector == nil {
		o.Collector = telemetry.NewCollector(t, telemetry.CollectorOptions{})
	}
	work := background.New()
	return &Service{
		o: o, door: d, table: t, folded: w, metrics: newMetrics(&d.Metrics), background: work,
		verifications: jobs.NewBoard[fleetVerification](t, "verify-fleet", 1, work, d.Logger), // each reads all raw readings of its days
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

// Wrap handles nothing that is not an operation.
func (s *Service) Wrap(next http.Handler) http.Handler { return next }

// Run has nothing to do but what requests begin.
func (s *Service) Run(context.Context) {}

// Close ends streams and what goes on in the background, and waits for it.
func (s *Service) Close() { s.background.Close() }

// Login lets devices and gateways in over MQTT; see Messages.
func (s *Service) Login(ctx context.Context, l mqtt.Login) (mqtt.Taker, error) {
	m := Messages{
		Collector: s.o.Collector, Gateway: s.gateway, Count: s.metrics.count, Stored: s.tail.tell,
		Device: s.o.Collector.Device, Overloaded: s.o.Overloaded,
	}
	return m.Login(ctx, l)
}

// gateway is the fleet that a key sends for, or "" for any, whatever its holder is called.
func (s *Service) gateway(ctx context.Context, _, token string) (fleetID string, err error) {
	key, err := s.door.SenderKey(ctx, token)
	if err != nil {
		return "", err
	}
	fleet, ok := sendsFor(key)
	if !ok {
		return "", accounts.ErrDenied
	}
	return fleet, nil
}
