// Package events serves the event store: appending, reading, live streams, and the list of
// aggregates.
package events

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/singleflight"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/eventschema"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/background"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/jobs"
	"github.com/onefold/onefold/table"
)

// Options configure the event store. The zero value has good defaults.
type Options struct {
	Store *eventstore.Store // default: a store in the table, with transactions and the Secrets of Keys
	// Keys encrypt personal fields of events. Default: none, and appends with personal fields are
	// refused. If Store has Secrets, set Keys as well. Without Keys, the server cannot hide personal data
	// from readers, and cannot erase people.
	Keys        *shred.KeyStore
	Projections []Projection // projections of the program, with distinct names
	// CaughtUp waits until everything in the change stream is folded. Default: with the server's
	// worker.
	CaughtUp func(context.Context) error
	// Lag returns how far the folds are behind in seconds, or nil and why that is unknown. Default:
	// that of the server's worker.
	Lag func() (seconds *float64, unknown string)
}

// Service serves the event store with authorization. Create one with New.
type Service struct {
	o          Options
	mw         *middleware.Stack
	table      *table.Table
	store      *eventstore.Store // for callers who may see personal data; see storeFor
	hiding     *eventstore.Store // for others; the same without Options.Keys
	background *background.Work
	appended   notifier
	settled    notifier // notified when events of a subscription are acknowledged or rejected
	passed     passedTimes
	schemas    *eventschema.Checker
	rebuilds   *jobs.Board[rebuildBody]
	erasures   singleflight.Group // by person
	erasing    chan struct{}      // has an element for each running erasure
}

// New creates the service for a table.
func New(mw *middleware.Stack, t *table.Table, o Options) (*Service, error) {
	if o.Store == nil {
		var err error
		if o.Store, err = eventstore.New(t, secretsOf(o.Keys)); err != nil {
			return nil, err
		}
	}
	hiding, err := hidingStore(&o)
	if err != nil {
		return nil, err
	}
	mw.Metrics.MustRegister(&subscriptionCollector{o.Store})
	work := background.New()
	return &Service{
		o: o, mw: mw, table: t, store: o.Store, hiding: hiding, background: work, schemas: eventschema.NewChecker(t),
		erasing: make(chan struct{}, maxErasures), rebuilds: jobs.NewBoard[rebuildBody](t, "rebuild", maxRebuilds, work, mw.Logger),
	}, nil
}

// maxRebuilds is the maximum number of concurrent rebuilds on a server.
const maxRebuilds = 8

const (
	root          = "/api/v1/events"
	aggregatePath = root + "/aggregates/{type}/{id}"
)

// AggregatePath names an aggregate.
type AggregatePath struct {
	Type string `path:"type" maxLength:"64" doc:"Type of the aggregate."`
	ID   string `path:"id" maxLength:"256" doc:"Percent-encoded if it contains characters with a meaning in paths."`
}

func (p *AggregatePath) id() eventstore.ID { return eventstore.ID{Type: p.Type, ID: p.ID} }

// Register adds the operations to the API.
func (s *Service) Register(api huma.API, _ *http.ServeMux) error {
	s.aggregateRoutes(api)
	s.appendRoutes(api)
	s.appendsRoutes(api)
	s.readingRoutes(api)
	s.stateRoutes(api)
	s.tailRoutes(api)
	s.feedRoutes(api)
	s.activityRoutes(api)
	s.correlationRoutes(api)
	s.endingRoutes(api)
	s.projectionRoutes(api)
	s.subscriptionRoutes(api)
	s.pullRoutes(api)
	s.settlingRoutes(api)
	s.schemaRoutes(api)
	s.subjectRoutes(api)
	return nil
}

// operation returns the declaration of an operation of the event store.
func operation(need middleware.Permission, id, method, path, summary string) huma.Operation {
	op := middleware.GuardOf(accounts.EventStore, need, huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"event store"}, MaxBodyBytes: middleware.MaxSmallBody,
	})
	if strings.HasPrefix(path, aggregatePath) {
		return middleware.OnAggregate(op)
	}
	return op
}

// Wrap adds no middleware.
func (s *Service) Wrap(next http.Handler) http.Handler { return next }

// Run does nothing: all background work is started by requests.
func (s *Service) Run(context.Context) {}

// Close ends streams and rebuilds, and waits for them.
func (s *Service) Close() { s.background.Close() }

// record records who changed an aggregate. Appends need no record, because events are one.
func (s *Service) record(ctx context.Context, action string, id eventstore.ID) {
	s.mw.Record(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: action, Site: accounts.EventStore, Subject: id.String()})
}
