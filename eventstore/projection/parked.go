package projection

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Parked is an aggregate with an event that cannot be applied. Its read model stays as it was
// before that event; other aggregates are not affected.
type Parked struct {
	ID      eventstore.ID
	Applied int64 // last event in its read model
	Version int64 // version of the aggregate
	Reason  string
	Since   time.Time

	letters []fold.DeadKey
}

// Parked returns the parked aggregates of the definition's version, by time of parking.
func (p *Projection[R]) Parked(ctx context.Context) ([]Parked, error) {
	all, err := p.suspects(ctx)
	if err != nil {
		return nil, err
	}
	parked := all[:0]
	for _, a := range all {
		if a.Applied < a.Version {
			parked = append(parked, a)
		}
	}
	return parked, nil
}

// suspects returns all aggregates with dead letters, including those repaired since.
func (p *Projection[R]) suspects(ctx context.Context) ([]Parked, error) {
	var all []Parked
	at := map[eventstore.ID]int{}
	for d, err := range fold.DeadLettersOf.All(ctx, p.t, fold.FoldIn{Fold: foldName(p.def.Name, p.def.Version)}) {
		if err != nil {
			return nil, fmt.Errorf("projection: parked of %s: %w", p.def.Name, err)
		}
		id, ok := p.aggregateOf(&d)
		if !ok {
			continue
		}
		i, known := at[id]
		if !known {
			i = len(all)
			at[id] = i
			all = append(all, Parked{ID: id, Reason: d.Reason, Since: d.Found})
		}
		if d.Found.After(all[i].Since) {
			all[i].Reason = d.Reason
		}
		all[i].letters = append(all[i].letters, d.DeadKey)
	}
	return all, p.compareVersions(ctx, all)
}

// compareVersions sets the current versions of the aggregates and their read models.
func (p *Projection[R]) compareVersions(ctx context.Context, all []Parked) error {
	ids := make([]eventstore.ID, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	models, err := p.read(ctx, p.def.Version, ids)
	if err != nil {
		return err
	}
	heads, err := p.s.HeadsOf(ctx, ids)
	if err != nil {
		return fmt.Errorf("projection: %s: %w", p.def.Name, err)
	}
	versions := map[eventstore.ID]int64{}
	for _, h := range heads {
		versions[h.ID] = h.Version
	}
	for i := range all {
		all[i].Applied, all[i].Version = models[i].Applied, versions[all[i].ID]
	}
	return nil
}

// aggregateOf returns the aggregate of a dead letter, which names a read model or a head.
func (p *Projection[R]) aggregateOf(d *fold.Dead) (eventstore.ID, bool) {
	it := table.Item{table.AttrPK: &types.AttributeValueMemberS{Value: d.ItemPK}, table.AttrSK: &types.AttributeValueMemberS{Value: d.ItemSK}}
	it[table.AttrEntity] = &types.AttributeValueMemberS{Value: p.models.Name()}
	if m, err := p.models.Decode(it); err == nil {
		return m.ID, true
	}
	it[table.AttrEntity] = &types.AttributeValueMemberS{Value: eventstore.Heads.Name()}
	h, err := eventstore.Heads.Decode(it)
	return h.ID, err == nil
}

// Retry applies events that could not be applied before, after the fault was fixed. It returns the
// aggregates that are still parked.
func (p *Projection[R]) Retry(ctx context.Context) (still []Parked, err error) {
	all, err := p.suspects(ctx)
	if err != nil {
		return nil, err
	}
	for len(all) > 0 {
		some := all[:min(len(all), batch)]
		all = all[len(some):]
		ids := make([]eventstore.ID, len(some))
		for i, a := range some {
			ids[i] = a.ID
		}
		caught, err := p.catchUp(ctx, ids)
		if err != nil {
			return nil, err
		}
		for i, c := range caught {
			if some[i].Applied = c.Applied; c.Poison != nil {
				some[i].Reason = c.Poison.Error()
				still = append(still, some[i])
				continue
			}
			if err := fold.DeadLetters.DeleteMany(ctx, p.t, some[i].letters); err != nil {
				return nil, fmt.Errorf("projection: retry %s: %w", p.def.Name, err)
			}
		}
	}
	return still, nil
}

const batch = 100 // aggregates processed together
