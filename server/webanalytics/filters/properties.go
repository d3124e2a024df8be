package filters

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/server/internal/middleware"
)

// CheckProperties rejects, for callers who may only see statistics, properties of events that the
// site does not list, both as a dimension and in filters. Raw events contain everything that was
// sent, which may identify people.
func (s *Filters) CheckProperties(ctx context.Context, siteID string, by analytics.Dimension, filters []explore.Filter) error {
	if middleware.CallerOf(ctx).May(middleware.ForRead, siteID) {
		return nil
	}
	asked := []analytics.Dimension{by}
	for i := range filters {
		_, subject, _, err := filters[i].Behavior()
		if err != nil {
			return err
		}
		asked = append(asked, subject)
	}
	asked = slices.DeleteFunc(asked, func(d analytics.Dimension) bool { return !strings.HasPrefix(string(d), explore.Property) })
	if len(asked) == 0 {
		return nil
	}
	site, err := analytics.GetSite(ctx, s.table, siteID)
	if err != nil {
		return err
	}
	shown := site.Dimensions()
	if slices.ContainsFunc(asked, func(d analytics.Dimension) bool { return !slices.Contains(shown, d) }) {
		return middleware.Problem(http.StatusForbidden, "forbidden", "This view only has the properties that are listed in the site's settings.")
	}
	return nil
}
