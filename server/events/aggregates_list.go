package events

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/table"
)

const (
	maxScanned = 2000 // aggregates read for a page in the order of IDs, if most of them have another state
	maxSorted  = 5000 // aggregates read for a page in another order
	endOfTexts = "\U0010ffff"
)

type aggregatesRequest struct {
	Type   string `query:"type" required:"true" minLength:"1" maxLength:"64" doc:"Type of the aggregates."`
	Prefix string `query:"prefix" maxLength:"256" doc:"Only IDs that begin with this. Case-sensitive."`
	State  string `query:"state" enum:"open,closed,deleted" doc:"Default: all."`
	Sort   string `query:"sort" enum:"id,-id,updated,-updated,events,-events" default:"id" doc:"Order: by ID, time of the last append or number of events; with - in descending order. By ID, every aggregate is reached. Otherwise only the first 5,000 by ID that match prefix are sorted; partial says if there are more."`
	PageParams
}

type headsAnswer struct {
	Body struct {
		Aggregates []headBody `json:"aggregates" doc:"In the requested order. A page may have fewer aggregates than limit, or none, and a cursor."`
		Cursor     string     `json:"cursor,omitempty" doc:"Cursor of the next page, if there may be one."`
		Scanned    int        `json:"scanned" doc:"Number of aggregates that were read for this page, in any state."`
		Partial    bool       `json:"partial,omitempty" doc:"There are more aggregates than are sorted. Narrow the list with prefix, or sort by ID."`
	}
}

func (in *aggregatesRequest) keeps(h *eventstore.Head) bool {
	switch in.State {
	case "":
		return true
	case "open":
		return h.State == eventstore.Open
	}
	return string(h.State) == in.State
}

func (s *Service) aggregates(ctx context.Context, in *aggregatesRequest) (*headsAnswer, error) {
	var err error
	if in.Prefix, err = limitPrefix(ctx, in.Type, in.Prefix); err != nil {
		return nil, err
	}
	list := s.byID
	if column := in.Sort; column != "id" && column != "-id" {
		list = s.sorted
	}
	answer, err := list(ctx, in)
	if errors.Is(err, table.ErrKeyValue) {
		err = middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", "A type or ID must not contain '#'.")
	}
	if err != nil {
		return nil, s.mw.Error(ctx, err)
	}
	return answer, nil
}

// readHeads reads a page of the aggregates with the prefix, in any state. Listed aggregates without
// events are omitted.
func (s *Service) readHeads(ctx context.Context, in *aggregatesRequest, cursor string, limit int) (heads []eventstore.Head, next string, listed int, err error) {
	q, between := eventstore.AggregatesByID, eventstore.AggregatesBetween{Type: in.Type, From: in.Prefix}
	if in.Prefix != "" {
		between.To = in.Prefix + endOfTexts
	}
	if in.Sort == "-id" {
		q = eventstore.AggregatesByIDBackwards
	}
	page, err := q.Page(ctx, s.table, between, cursor, limit)
	if err != nil {
		return nil, "", 0, err
	}
	ids := make([]eventstore.ID, len(page.Items))
	for i, l := range page.Items {
		ids[i] = l.ID
	}
	heads, err = s.store.HeadsOf(ctx, ids)
	return heads, page.Next, len(ids), err
}

// byID lists aggregates by ID. It reads until the page is full, but not without limit.
func (s *Service) byID(ctx context.Context, in *aggregatesRequest) (*headsAnswer, error) {
	answer := new(headsAnswer)
	body := &answer.Body
	body.Aggregates = []headBody{}
	for cursor := in.Cursor; ; cursor = body.Cursor {
		heads, next, listed, err := s.readHeads(ctx, in, cursor, in.Limit-len(body.Aggregates))
		if err != nil {
			return nil, err
		}
		for i := range heads {
			if in.keeps(&heads[i]) {
				body.Aggregates = append(body.Aggregates, describeHead(&heads[i]))
			}
		}
		body.Scanned += listed
		if body.Cursor = next; body.Cursor == "" || len(body.Aggregates) == in.Limit || body.Scanned >= maxScanned {
			return answer, nil
		}
	}
}

// sorted lists aggregates in another order than by ID. The index has no other order, so that it
// reads all of them, up to maxSorted.
func (s *Service) sorted(ctx context.Context, in *aggregatesRequest) (*headsAnswer, error) {
	scope := "aggregates " + in.Type + "#" + in.Prefix + "#" + in.State + in.Sort
	from, err := s.offset(scope, in.Cursor)
	if err != nil {
		return nil, err
	}
	answer := new(headsAnswer)
	var all []eventstore.Head
	for cursor := ""; ; {
		heads, next, listed, err := s.readHeads(ctx, in, cursor, min(1000, maxSorted-answer.Body.Scanned))
		if err != nil {
			return nil, err
		}
		answer.Body.Scanned += listed
		for i := range heads {
			heads[i].Records = nil // events are not needed
			if in.keeps(&heads[i]) {
				all = append(all, heads[i])
			}
		}
		if cursor = next; cursor == "" || answer.Body.Scanned >= maxSorted {
			answer.Body.Partial = cursor != ""
			break
		}
	}
	slices.SortStableFunc(all, in.compare)
	to := min(from+in.Limit, len(all))
	answer.Body.Aggregates = []headBody{}
	for i := min(from, to); i < to; i++ {
		answer.Body.Aggregates = append(answer.Body.Aggregates, describeHead(&all[i]))
	}
	if to < len(all) {
		answer.Body.Cursor = s.table.SealCursor(scope, strconv.Itoa(to))
	}
	return answer, nil
}

// offset returns the number of aggregates before a page of a sorted list.
func (s *Service) offset(scope, cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	at, err := s.table.OpenCursor(scope, cursor)
	if err != nil || len(at) != 1 {
		return 0, cmp.Or(err, table.ErrCursor)
	}
	return strconv.Atoi(at[0])
}

func (in *aggregatesRequest) compare(a, b eventstore.Head) int {
	switch in.Sort {
	case "updated":
		return a.UpdatedAt.Compare(b.UpdatedAt)
	case "-updated":
		return b.UpdatedAt.Compare(a.UpdatedAt)
	case "events":
		return cmp.Compare(a.Version, b.Version)
	}
	return cmp.Compare(b.Version, a.Version)
}

func (s *Service) aggregateListRoutes(api huma.API) {
	list := middleware.AppliesLimits(operation(middleware.ForRead, "aggregates", http.MethodGet, root+"/aggregates", "List the aggregates of a type"))
	list.Description = "Reads at most 2,000 aggregates for a page by ID, and 5,000 for one in another order."
	huma.Register(api, list, s.aggregates)
}
