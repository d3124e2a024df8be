// Package filters determines which visits a request counts: it expands the segments in its filters and
// adds the restriction of the caller. It also serves the routes of segments.
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

// Filters applies segments and restrictions to the filters of requests.
type Filters struct {
	mw    *middleware.Stack
	table *table.Table
}

// New returns the filters of a table.
func New(mw *middleware.Stack, t *table.Table) *Filters { return &Filters{mw, t} }

// Applied returns the filters with segments expanded, preceded by the restriction of the caller. Every
// handler that counts visits takes its filters from here.
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

// looksOutside reports whether a filter depends on visits other than the one that it is applied to, such
// as all visits of a user.
func looksOutside(f explore.Filter) bool {
	b, _, behaves, err := f.Behavior()
	return err != nil || behaves && b.Scope != explore.OfVisit
}

// Everything returns the restriction of the caller: no filters, or the segment of a shared link that
// shows only that.
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
