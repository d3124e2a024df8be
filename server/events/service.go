// Package events is the routes of the event store: appending, reading, watching, and what aggregates there are. Only server
// uses it.
package events

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/server/internal/background"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/jobs"
	"github.com/onefold/onefold/table"
)

// Options configure the event store. The zero value is good.
type Options struct {
	Store       *eventstore.Store // default: one of the table, with transactions
	Projections []Projection      // those of the program, one of each name
	// CaughtUp returns when everything that is in the change stream is folded: the default is that of the server's worker.
	CaughtUp func(context.Context) error
}

// Service is an event store behind a door. Make one with New.
type Service struct {
	o          Options
	door       *middleware.Door
	table      *table.Table
	store      *eventstore.Store
	background *background.Work
	appended   bell
	rebuilds   *jobs.Board[rebuildBody]
}

// New makes the service of a table.
func New(d *middleware.Door, t *table.Table, o Options) (*Service, error) {
	if o.Store == nil {
		var err error
		if o.Store, err = eventstore.New(t, eventstore.Options{}); err != nil {
			return nil, err
		}
	}
	work := background.New()
	return &Service{
		o: o, door: d, table: t, store: o.Store, background: work,
		rebuilds: jobs.NewBoard[rebuildBody](t, "rebuild", maxRebuilds, work, d.Logger),
	}, nil
}

// maxRebuilds is how many projections a server rebuilds at a time.
const maxRebuilds = 8

const (
	root          = "/api/v1/events"
	aggregatePath = root + "/aggregates/{type}/{id}"
)

// AggregatePath names an aggregate.
type AggregatePath struct {
	Type string `path:"type" maxLength:"64"`
	ID   string `path:"id" maxLength:"256" doc:"Percent-encoded where it has characters that paths give a meaning."`
}

func (p *AggregatePath) id() eventstore.ID { return eventstore.ID{Type: p.Type, ID: p.ID} }

// Register adds the operations to the API.
func (s *Service) Register(api huma.API, _ *http.ServeMux) error {
	s.aggregateRoutes(api)
	s.appendRoutes(api)
	s.readingRoutes(api)
	s.stateRoutes(api)
	s.tailRoutes(api)
	s.feedRoutes(api)
	s.endingRoutes(api)
	s.projectionRoutes(api)
	return nil
}

// operation declares an operation of the event store.
func operation(need middleware.Permission, id, method, path, summary string) huma.Operation {
	return middleware.GuardOf(accounts.EventStore, need, huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"event store"}, MaxBodyBytes: middleware.MaxSmallBody,
	})
}

// Wrap handles nothing that is not an operation.
func (s *Service) Wrap(next http.Handler) http.Handler { return next }

// Run has nothing to do but what requests begin.
func (s *Service) Run(context.Context) {}

// Close ends streams and rebuilds, and waits for them.
func (s *Service) Close() { s.background.Close() }

// record writes down who changed what of an aggregate. Appends are a record of their own.
func (s *Service) record(ctx context.Context, action string, id eventstore.ID) {
	s.door.Record(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: action, Site: accounts.EventStore, Subject: id.String()})
}
