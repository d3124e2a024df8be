package webanalytics

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/sse"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/sketch"
	"github.com/onefold/onefold/server/internal/middleware"
)

const (
	realtimeMinutes = 30
	presentMinutes  = 5 // a visitor with an event in these minutes is present

	realtimeEvery   = 5 * time.Second  // interval of stream messages
	realtimeFresh   = 2 * time.Second  // a response is cached this long, for all callers
	streamFor       = 10 * time.Minute // after this time a stream ends; browsers reconnect and are authorized again
	maxStreams      = 200              // concurrent streams
	realtimeVisits  = 1000             // the latest visits that are read
	realtimeReach   = 2 * time.Hour    // how long ago a visit that still continues may have begun
	realtimeLongest = 10               // rows per list
)

// realtimeBody is the current traffic of a site.
type realtimeBody struct {
	Now    int64 `json:"now" doc:"Visitors of the last five minutes."`
	Last30 struct {
		Visitors  int64            `json:"visitors"`
		PageViews int64            `json:"pageViews"`
		Minutes   []realtimeMinute `json:"minutes" doc:"The last thirty minutes, the current one last."`
	} `json:"last30"`
	Pages     []realtimeRow `json:"pages" doc:"The current pages of the visits of the last five minutes."`
	Sources   []realtimeRow `json:"sources" doc:"The sources of these visits."`
	Countries []realtimeRow `json:"countries"`
}

type realtimeMinute struct {
	Minute    string `json:"minute" doc:"2026-05-12T14:05Z"`
	Visitors  int64  `json:"visitors"`
	PageViews int64  `json:"pageViews"`
}

type realtimeRow struct {
	Value    string `json:"value"`
	Visitors int64  `json:"visitors"`
}

type realtimeAnswer struct{ Body realtimeBody }

func (s *Service) realtimeRoutes(api huma.API) {
	const path = "/api/v1/sites/{site}/realtime"
	huma.Register(api, middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "realtime", Method: http.MethodGet, Path: path,
		Summary: "Get the current traffic", Tags: []string{"statistics"},
	}), func(ctx context.Context, in *middleware.SitePath) (*realtimeAnswer, error) {
		body, err := s.realtime(ctx, in.Site)
		if err != nil {
			return nil, s.mw.Error(ctx, err)
		}
		return &realtimeAnswer{body}, nil
	})
	stream := middleware.Guard(middleware.ForStatistics, huma.Operation{
		OperationID: "realtime-stream", Method: http.MethodGet, Path: path + "/stream",
		Summary: "Stream the current traffic as server-sent events", Tags: []string{"statistics"},
	})
	stream.Middlewares = huma.Middlewares{s.mw.LimitStreams(api, "realtime", maxStreams)}
	sse.Register(api, stream, map[string]any{"realtime": realtimeBody{}}, s.streamRealtime)
}

func (s *Service) streamRealtime(ctx context.Context, in *middleware.SitePath, send sse.Sender) {
	ctx, cancel := context.WithTimeout(ctx, streamFor)
	defer cancel()
	defer context.AfterFunc(s.background.Context(), cancel)()
	ticker := time.NewTicker(realtimeEvery)
	defer ticker.Stop()
	for {
		body, err := s.realtime(ctx, in.Site)
		if err != nil {
			if ctx.Err() == nil {
				s.mw.Logger.WarnContext(ctx, "stream ended with an error", "site", in.Site, "error", err)
			}
			return
		}
		if send.Data(body) != nil { // the client is gone
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *Service) realtime(ctx context.Context, siteID string) (realtimeBody, error) {
	now := s.mw.Clock()
	return s.realtimes.get(siteID, now, realtimeFresh, func() (body realtimeBody, err error) {
		site, err := analytics.GetSite(ctx, s.table, siteID)
		if err != nil {
			return body, err
		}
		if err := s.lastMinutes(ctx, &site, now, &body); err != nil {
			return body, err
		}
		err = s.presentVisits(ctx, siteID, now, &body)
		return body, err
	})
}

// lastMinutes fills in the counts of the last minutes.
func (s *Service) lastMinutes(ctx context.Context, site *analytics.Site, now time.Time, body *realtimeBody) error {
	var all, present sketch.Set
	counted := map[string]*analytics.Realtime{}
	for m, err := range analytics.Minutes.All(ctx, s.table, site.LastMinutes(now, realtimeMinutes)) {
		if err != nil {
			return err
		}
		if have := counted[m.Minute]; have != nil { // add up the parts of a minute
			have.Visitors.Merge(m.Visitors)
			have.PageViews += m.PageViews
			continue
		}
		counted[m.Minute] = &m
	}
	this := now.UTC().Truncate(time.Minute)
	for ago := realtimeMinutes - 1; ago >= 0; ago-- {
		minute := this.Add(-time.Duration(ago) * time.Minute).Format("2006-01-02T15:04")
		line := realtimeMinute{Minute: minute + "Z"}
		if m := counted[minute]; m != nil {
			line.Visitors, line.PageViews = m.Visitors.Count(), m.PageViews
			all.Merge(m.Visitors)
			if ago < presentMinutes {
				present.Merge(m.Visitors)
			}
		}
		body.Last30.Minutes = append(body.Last30.Minutes, line)
		body.Last30.PageViews += line.PageViews
	}
	body.Now, body.Last30.Visitors = present.Count(), all.Count()
	return nil
}

// presentVisits fills in the lists from the visits with an event in the last minutes.
func (s *Service) presentVisits(ctx context.Context, siteID string, now time.Time, body *realtimeBody) error {
	pages, sources, countries := map[string]int64{}, map[string]int64{}, map[string]int64{}
	since, oldest := now.Add(-presentMinutes*time.Minute).UnixMilli(), now.Add(-realtimeReach).UnixMilli()
	read := 0
	for v, err := range analytics.RecentSessions(ctx, s.table, siteID) {
		if err != nil {
			return err
		}
		if read++; v.Start < oldest || read > realtimeVisits {
			break
		}
		if v.End < since {
			continue
		}
		pages[v.ExitPath]++
		sources[v.Source.Name]++
		countries[v.Country]++
	}
	body.Pages, body.Sources, body.Countries = longest(pages), longest(sources), longest(countries)
	return nil
}

// longest returns the values with the most visitors.
func longest(counts map[string]int64) []realtimeRow {
	if n := counts[""]; n > 0 {
		delete(counts, "")
		counts[analytics.None] += n // added up, because a client may send that name, too: each value has one row
	}
	rows := make([]realtimeRow, 0, len(counts))
	for value, n := range counts {
		rows = append(rows, realtimeRow{value, n})
	}
	slices.SortFunc(rows, func(a, b realtimeRow) int {
		return cmp.Or(cmp.Compare(b.Visitors, a.Visitors), cmp.Compare(a.Value, b.Value))
	})
	return rows[:min(len(rows), realtimeLongest)]
}
