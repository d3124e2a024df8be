package webanalytics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

// IsPublic reports whether a site's statistics are public. It returns false for a site that does
// not exist.
func IsPublic(ctx context.Context, t *table.Table, siteID string) (bool, error) {
	site, err := analytics.GetSite(ctx, t, siteID)
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrKeyValue) {
		return false, nil
	}
	return site.Public, err
}

// badgeFresh is how long a badge is served from memory. Browsers and caches keep it for an hour.
const badgeFresh = time.Minute

// errNotPublic is returned for the badge of a site that is not public or does not exist.
var errNotPublic = errors.New("webanalytics: the site is not public")

// serveBadge draws a badge with the visitors of a public site's last thirty days. The response does
// not reveal whether other sites exist.
func (s *Service) serveBadge(w http.ResponseWriter, r *http.Request) {
	if wait, ok := s.mw.AllowAnonymous(middleware.Network(r.RemoteAddr)); !ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		http.Error(w, "Too many requests for badges from this network.", http.StatusTooManyRequests)
		return
	}
	siteID, ok := strings.CutSuffix(r.PathValue("file"), ".svg")
	visitors, err := s.recentVisitors(r.Context(), siteID)
	if !ok || errors.Is(err, errNotPublic) {
		http.Error(w, "There is no public site with this ID.", http.StatusNotFound)
		return
	}
	if err != nil {
		s.mw.Logger.WarnContext(r.Context(), "drawing a badge failed", "error", err)
		http.Error(w, "The table did not answer.", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	drawBadge(w, short(visitors))
}

// recentVisitors returns the visitors of a public site's last thirty days, counted at most once per
// badgeFresh. Errors: errNotPublic, and those of the store.
func (s *Service) recentVisitors(ctx context.Context, siteID string) (int64, error) {
	return s.badges.get(siteID, s.mw.Clock(), badgeFresh, func() (int64, error) {
		public, err := IsPublic(ctx, s.table, siteID)
		if err != nil {
			return 0, err
		}
		if !public {
			return 0, errNotPublic
		}
		from, to, err := analytics.RecentDays(ctx, s.table, siteID, "", "", reportDays)
		if err != nil {
			return 0, err
		}
		out, err := report.Statistics(ctx, s.table, report.Request{Site: siteID, From: from, To: to, Period: analytics.Day})
		return out.Totals.Visitors, err
	})
}

// short formats a count in at most four characters.
func short(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n/100_000)/10)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n/100)/10)
	}
	return fmt.Sprint(n)
}

// drawBadge writes an SVG image, 20 pixels high. value consists of digits and at most a letter.
func drawBadge(w http.ResponseWriter, value string) {
	const label, letter = 102, 8 // pixels
	width := letter*len(value) + 14
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="visitors a month: %s">`+
		`<title>visitors a month: %s</title><rect width="%d" height="20" rx="4" fill="#444"/><path d="M%d 0h%da4 4 0 0 1 4 4v12a4 4 0 0 1-4 4h-%dz" fill="#2f6f5e"/>`+
		`<g fill="#fff" font-family="system-ui,sans-serif" font-size="11"><text x="8" y="14">visitors a month</text><text x="%d" y="14" text-anchor="middle" font-weight="600">%s</text></g></svg>`,
		label+width, value, value, label+width, label, width-4, width-4, label+width/2, value)
}
