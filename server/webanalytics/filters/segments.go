package filters

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics/segments"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
)

// SegmentSettings are the fields of a segment that people edit.
type SegmentSettings struct {
	Name        string   `json:"name" minLength:"1" maxLength:"60" doc:"Unique within the site, ignoring case. One line, without | and \\."`
	Description string   `json:"description,omitempty" maxLength:"300" doc:"One line."`
	Filters     []string `json:"filters" minItems:"1" maxItems:"20" doc:"As in the filter parameter of statistics: dimension:op:value|value. A visit is in the segment if it matches all of them."`
}

type segmentBody struct {
	ID string `json:"id" doc:"Made of the first name. It stays when the segment is renamed."`
	SegmentSettings
	Owner   string    `json:"owner,omitempty" doc:"Creator, as in the audit log."`
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	Shares  []string  `json:"shares" doc:"Names of the shared links that show only this segment. While there are any, its filters cannot be changed, nor can it be deleted."`
}

type segmentAnswer struct{ Body segmentBody }

type segmentsAnswer struct {
	Body struct {
		Segments []segmentBody `json:"segments" doc:"By name."`
	}
}

type newSegmentRequest struct {
	middleware.SitePath
	Body SegmentSettings
}

// SegmentPath names a segment of a site.
type SegmentPath struct {
	middleware.SitePath
	ID string `path:"id" maxLength:"80" doc:"ID of the segment."`
}

func (p *SegmentPath) key() segments.Key { return segments.Key{SiteID: p.Site, SegmentID: p.ID} }

type updateSegmentRequest struct {
	SegmentPath
	Body SegmentSettings
}

// Register adds the routes of segments.
func (s *Filters) Register(api huma.API) {
	const list, one = "/api/v1/sites/{site}/segments", "/api/v1/sites/{site}/segments/{id}"
	huma.Register(api, middleware.Guard(middleware.ForRead, huma.Operation{
		OperationID: "segments", Method: http.MethodGet, Path: list, Summary: "List the segments of a site: saved sets of filters", Tags: []string{"statistics"},
	}), s.segments)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "add-segment", Method: http.MethodPost, Path: list, DefaultStatus: http.StatusCreated, MaxBodyBytes: middleware.MaxSmallBody,
		Summary:     "Create a segment",
		Description: "Statistics accept it as a filter by its name or ID: segment:is:NAME. A repeated request changes nothing and gets the first answer. A site has at most 100 segments.",
		Tags:        []string{"statistics"}, Errors: []int{http.StatusConflict},
	}), s.addSegment)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "update-segment", Method: http.MethodPut, Path: one, MaxBodyBytes: middleware.MaxSmallBody,
		Summary: "Update a segment", Description: "The filters cannot be changed while a shared link shows only this segment.",
		Tags: []string{"statistics"}, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}), s.updateSegment)
	huma.Register(api, middleware.Guard(middleware.ForWrite, huma.Operation{
		OperationID: "delete-segment", Method: http.MethodDelete, Path: one, DefaultStatus: http.StatusNoContent,
		Summary: "Delete a segment", Description: "It cannot be deleted while a shared link shows only this segment.",
		Tags: []string{"statistics"}, Errors: []int{http.StatusNotFound, http.StatusConflict},
	}), s.deleteSegment)
}

func (s *Filters) segments(ctx context.Context, in *middleware.SitePath) (*segmentsAnswer, error) {
	all, err := segments.List(ctx, s.table, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	shares, err := s.mw.Accounts.Shares(ctx, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	answer := new(segmentsAnswer)
	answer.Body.Segments = make([]segmentBody, len(all))
	for i := range all {
		answer.Body.Segments[i] = describeSegment(&all[i], shares)
	}
	return answer, nil
}

func (s *Filters) addSegment(ctx context.Context, in *newSegmentRequest) (*segmentAnswer, error) {
	actor := middleware.CallerOf(ctx).Actor
	n := segments.Segment{Key: segments.Key{SiteID: in.Site}, Owner: actor}
	in.Body.apply(&n)
	stored, created, err := segments.Create(ctx, s.table, n)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if created {
		s.mw.RecordChange(ctx, accounts.Entry{Actor: actor, Action: "segment.create", Site: in.Site, Subject: stored.SegmentID}, nil, settingsOfSegment(&stored))
	}
	shares, err := s.mw.Accounts.Shares(ctx, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return &segmentAnswer{describeSegment(&stored, shares)}, nil
}

func (s *Filters) updateSegment(ctx context.Context, in *updateSegmentRequest) (*segmentAnswer, error) {
	shares, err := s.mw.Accounts.Shares(ctx, in.Site)
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	before, after, err := segments.Update(ctx, s.table, in.key(), func(g *segments.Segment) error {
		was := slices.Clone(g.Filters)
		in.Body.apply(g)
		if slices.Equal(was, g.Filters) {
			return nil
		}
		return inUse(g.SegmentID, shares)
	})
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	if !after.Same(&before) {
		s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "segment.update", Site: in.Site, Subject: in.ID}, settingsOfSegment(&before), settingsOfSegment(&after))
	}
	return &segmentAnswer{describeSegment(&after, shares)}, nil
}

func (s *Filters) deleteSegment(ctx context.Context, in *SegmentPath) (*struct{}, error) {
	shares, err := s.mw.Accounts.Shares(ctx, in.Site)
	if err == nil {
		err = inUse(in.ID, shares)
	}
	var was segments.Segment
	if err == nil {
		was, err = segments.Delete(ctx, s.table, in.key())
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	s.mw.RecordChange(ctx, accounts.Entry{Actor: middleware.CallerOf(ctx).Actor, Action: "segment.delete", Site: in.Site, Subject: in.ID}, settingsOfSegment(&was), nil)
	return nil, nil
}

func (b *SegmentSettings) apply(g *segments.Segment) {
	g.Name, g.Description, g.Filters = b.Name, b.Description, slices.Clone(b.Filters)
}

func settingsOfSegment(g *segments.Segment) SegmentSettings {
	return SegmentSettings{g.Name, g.Description, g.Filters}
}

func describeSegment(g *segments.Segment, shares []accounts.Share) segmentBody {
	return segmentBody{ID: g.SegmentID, SegmentSettings: settingsOfSegment(g), Owner: g.Owner, Created: g.Created, Changed: g.Changed, Shares: accounts.ShowingOnly(g.SegmentID, shares)}
}

// inUse rejects a change of a segment's filters while shares show only this segment. The shares keep the
// filters that they were created with, so the segment would silently differ from them.
func inUse(segmentID string, shares []accounts.Share) error {
	names := accounts.ShowingOnly(segmentID, shares)
	if len(names) == 0 {
		return nil
	}
	const most = 5
	more := ""
	if len(names) > most {
		names, more = names[:most], " and others"
	}
	return middleware.Problem(http.StatusConflict, "segment_in_use", "Shared links show only this segment: "+strings.Join(names, ", ")+more+". Revoke them first, or create another segment.")
}

// Problem maps errors of segments to responses. It returns nil for others.
func Problem(err error) error {
	switch {
	case errors.Is(err, segments.ErrSegment):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_segment", middleware.Detail(err))
	case errors.Is(err, segments.ErrTaken):
		return middleware.Problem(http.StatusConflict, "segment_exists", middleware.Detail(err))
	case errors.Is(err, segments.ErrUnknown):
		return middleware.Problem(http.StatusNotFound, "unknown_segment", middleware.Detail(err)+"; GET /api/v1/sites/SITE/segments lists all segments.")
	}
	return nil
}
