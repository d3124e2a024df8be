// Package capacity is what the table's partitions take, over HTTP: which keys are hot, why, and what to do. Only server uses it.
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

// Options say what is known of what the table takes. The zero value is for a table that is not metered here.
type Options struct {
	// Uses are what keys took since a time, at most Longest ago, the oldest first; nil: nothing here meters the table.
	Uses   func(since time.Time) []heat.Use
	Schema *table.Schema // of the table, which says what its keys are; required with Uses
}

// Longest is how long uses are asked back.
const Longest = 24 * time.Hour

// Service tells of capacity behind a door. Make one with New.
type Service struct {
	o     Options
	door  *middleware.Door
	table *table.Table
	keys  *redact.Keys // as callers may see them: to see what takes most is not to see who is measured
}

// New makes the service of a table.
func New(d *middleware.Door, t *table.Table, o Options) (*Service, error) {
	if o.Uses != nil && o.Schema == nil {
		return nil, errors.New("server: Capacity.Schema is required with Capacity.Uses")
	}
	return &Service{o, d, t, redact.New(redact.Products())}, nil
}

// Register adds the operations to the API.
func (s *Service) Register(api huma.API, _ *http.ServeMux) error {
	huma.Register(api, middleware.Guard(middleware.ForAllSites, huma.Operation{
		OperationID: "heat", Method: http.MethodGet, Path: "/api/v1/heat", Tags: []string{"server"},
		Summary:     "Which partition keys take most, why, and what to do",
		Description: "A partition key gives 3,000 read and 1,000 write units a second, whatever the table may take. The embedded table is metered once a minute; of a table on DynamoDB, CloudWatch Contributor Insights know it.",
	}), s.heat)
	return nil
}

// Wrap handles nothing that is not an operation.
func (s *Service) Wrap(next http.Handler) http.Handler { return next }

// Run has nothing to do.
func (s *Service) Run(context.Context) {}

// Close has nothing to end.
func (s *Service) Close() {}
