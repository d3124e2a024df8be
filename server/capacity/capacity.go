// Package capacity serves the load on the table's partition keys: which keys are hot, why, and what
// to do about it.
package capacity

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/blueprint/heat"
	"github.com/onefold/onefold/internal/redact"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

// Options describe the metering of the table. The zero value means that this process does not meter
// it.
type Options struct {
	// Uses returns the use of keys since a time at most Longest ago, oldest first. nil: this
	// process does not meter the table.
	Uses   func(since time.Time) []heat.Use
	Schema *table.Schema // schema of the table, to interpret keys; required with Uses
}

// Longest is how far back uses are requested.
const Longest = 24 * time.Hour

// Service serves capacity with authorization. Create one with New.
type Service struct {
	o     Options
	mw    *middleware.Stack
	table *table.Table
	keys  *redact.Keys // anonymizes keys for callers: access to the load is not access to the identity of people and devices
}

// New creates the service for a table. It fails if Uses is set without Schema.
func New(mw *middleware.Stack, t *table.Table, o Options) (*Service, error) {
	if o.Uses != nil && o.Schema == nil {
		return nil, errors.New("server: Capacity.Schema is required with Capacity.Uses")
	}
	return &Service{o, mw, t, redact.New(redact.Products())}, nil
}

// Register adds the operations to the API.
func (s *Service) Register(api huma.API, _ *http.ServeMux) error {
	huma.Register(api, middleware.Guard(middleware.ForAllSites, huma.Operation{
		OperationID: "heat", Method: http.MethodGet, Path: "/api/v1/heat", Tags: []string{"server"},
		Summary:     "List the partition keys with the highest load",
		Description: "A partition key supports 3,000 read units and 1,000 write units per second, whatever the capacity of the table. An embedded table is metered once a minute. For a table on DynamoDB, use CloudWatch Contributor Insights.",
	}), s.heat)
	return nil
}

// Wrap adds no middleware.
func (s *Service) Wrap(next http.Handler) http.Handler { return next }

// Run does nothing.
func (s *Service) Run(context.Context) {}

// Close does nothing.
func (s *Service) Close() {}
