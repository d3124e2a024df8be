// Package filters decides which visits a question of a caller counts: those that match the filters of
// the request, with segments filled in, within what the caller may see. It also serves the segments.
package filters

import (
	"context"
	"net/http"
	"slices"

	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/segments"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

// Filters are the filters of questions on a table's sites.
type Filters struct {
	mw    *middleware.Stack
	table *table.Table
}

// New returns the filters of a table.
func New(mw *middleware.Stack, t *table.Table) *Filters { return &Filters{mw, t} }

// Applied returns the filters that a question of the caller applies to: those that the caller gave,
// with segments filled in, and what the caller is restricted to. Every handler that counts visits takes
// its filters from here.
func (s *Filters) Applied(ctx context.Context, siteID string, filters []explore.Filter) ([]explore.Filter, error) {
	if slices.ContainsFunc(filters, func(f explore.Filter) bool { return f.Dimension == explore.BySegment }) && !middleware.CallerOf(ctx).May(middleware.ForRead, siteID) {
		return nil, middleware.Problem(http.StatusForbidden, "forbidden", "Segments are only for people and keys that may read the site.")
	}
	if err := s.CheckProperties(ctx, siteID, "", filters); err != nil {
		return nil, err
	}
	within, err := Everything(ctx)
	if err != nil {
		return nil, err
	}
	if len(within) > 0 && slices.ContainsFunc(filters, looksOutside) {
		return nil, middleware.Problem(http.StatusForbidden, middleware.SegmentOnly, "This link shows only one segment. It can be filtered by what happened in a visit, but not by what visitors or users did in others.")
	}
	filters, err = segments.Expand(ctx, s.table, siteID, filters)
	if err != nil {
		return nil, err
	}
	return append(within, filters...), nil
}

// looksOutside reports whether a filter depends on other visits than those that it selects, such as all
// visits of a user.
func looksOutside(f explore.Filter) bool {
	b, _, behaves, err := f.Behavior()
	return err != nil || behaves && b.Scope != explore.OfVisit
}

// Everything returns the filters of all visits that the caller may see: none, or a segment that the
// caller cannot leave.
func Everything(ctx context.Context) ([]explore.Filter, error) {
	only := middleware.CallerOf(ctx).Restriction()
	if only == nil {
		return nil, nil
	}
	segment, err := explore.ParseFilters(only.Filters)
	if err != nil {
		return nil, err
	}
	return []explore.Filter{{Dimension: explore.BySegment, Op: explore.Is, Values: []string{only.Name}, Any: [][]explore.Filter{segment}}}, nil
}
