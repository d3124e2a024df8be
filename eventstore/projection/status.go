package projection

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/eventstore"
)

// Status is the status of a projection.
type Status struct {
	Name    string
	Version int           // version of the definition
	Active  ActiveVersion // zero: none
	Parked  []Parked
	// Head is the end of the feed. Behind is how many of the last hundred appends to aggregates of
	// the projection are not in their read models yet, including parked aggregates. For the lag as
	// a time see fold.Worker's status.
	Head     int64
	Behind   int
	Rebuilds []Checkpoint // parts of a rebuild in progress
}

// Status returns the status of the definition's version.
func (p *Projection[R]) Status(ctx context.Context) (s Status, err error) {
	s = Status{Name: p.def.Name, Version: p.def.Version}
	if s.Active, err = p.ActiveVersion(ctx); err != nil && !errors.Is(err, ErrNotActive) {
		return s, err
	}
	if s.Parked, err = p.Parked(ctx); err != nil {
		return s, err
	}
	if s.Rebuilds, err = CheckpointsOf.Collect(ctx, p.t, CheckpointsIn{p.def.Name, p.def.Version}); err != nil {
		return s, fmt.Errorf("projection: status of %s: %w", p.def.Name, err)
	}
	h, err := p.s.FeedHead(ctx)
	if err != nil {
		return s, err
	}
	s.Head = h.Position
	var ids []eventstore.ID
	var last []int64
	for c, err := range p.s.FeedCommits(ctx, h.Position-100) {
		if err != nil {
			return s, err
		}
		for _, part := range c.Parts {
			if slices.Contains(p.def.Of, part.Type) {
				ids, last = append(ids, part.ID), append(last, part.Last())
			}
		}
	}
	models, err := p.read(ctx, p.def.Version, ids)
	for i, m := range models {
		if m.Applied < last[i] {
			s.Behind++
		}
	}
	return s, err
}
