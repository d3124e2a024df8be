package projection

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// Grouping defines what read models contribute to groups. G is a struct.
type Grouping[R, G any] struct {
	Name string // unique in the projection; 1 to 64 bytes, without '#'
	// Add adds a read model's contribution, times sign, to its groups. at returns a group by its
	// key, any text without '#'. When a read model changes, the old one is added with sign -1 and
	// the new one with 1. Add must depend only on the model.
	Add func(m *Model[R], sign int, at func(group string) *G)
	// Merge adds one G to another, in any order. The zero G must be neutral.
	Merge func(into, add *G)
	// Empty reports that a group can be deleted; nil: groups are never deleted.
	Empty func(*G) bool
}

// GroupKey names a group.
type GroupKey struct {
	Group string `dynamodbav:"group"`
}

// Group is the total of the read models of a group.
type Group[G any] struct {
	GroupKey
	State G `dynamodbav:"state"`
}

// grouping is the part of Groups that does not depend on G.
type grouping[R any] struct {
	fold   *fold.Fold
	remove func(ctx context.Context, t *table.Table, version int) error
}

// Groups are totals over the read models of a projection, by group.
type Groups[R, G any] struct {
	p   *Projection[R]
	def Grouping[R, G]
	of  table.Part
	all *table.Query[struct{}, Group[G], GroupKey]
}

// GroupBy maintains exact totals over the read models of a projection. Each version has its own.
// Call it before Folds. Errors: ErrDefinition.
func GroupBy[R, G any](p *Projection[R], d Grouping[R, G]) (*Groups[R, G], error) {
	if d.Name == "" || len(d.Name) > 64 || strings.ContainsAny(d.Name, "#{}[]") || d.Add == nil || d.Merge == nil {
		return nil, fmt.Errorf("%w: groups %q of %s: use a name without # and brackets, and set Add and Merge", ErrDefinition, d.Name, p.def.Name)
	}
	entity, all := groupsOf[G](p.def.Name, d.Name, p.def.Version)
	if _, err := entity.Key(GroupKey{"g"}); err != nil {
		return nil, fmt.Errorf("%w: groups %s of %s: %w", ErrDefinition, d.Name, p.def.Name, err)
	}
	g := &Groups[R, G]{p: p, def: d, of: entity, all: all}
	f := fold.New(entity.Name(), entity, func(into, add *Group[G]) { d.Merge(&into.State, &add.State) },
		fold.On(p.models, func(c fold.Typed[Model[R]], at func(GroupKey) *Group[G]) error {
			state := func(group string) *G { return &at(GroupKey{group}).State }
			if c.Old != nil {
				d.Add(c.Old, -1, state)
			}
			if c.New != nil {
				d.Add(c.New, 1, state)
			}
			return nil
		}))
	if d.Empty != nil {
		f = f.With(fold.Removable(func(g *Group[G]) bool { return d.Empty(&g.State) }))
	}
	p.groups = append(p.groups, grouping[R]{fold: f, remove: func(ctx context.Context, t *table.Table, version int) error {
		return removeGroups[G](ctx, t, p.def.Name, d.Name, version)
	}})
	return g, nil
}

func groupsOf[G any](projection, name string, version int) (*table.Entity[Group[G], GroupKey], *table.Query[struct{}, Group[G], GroupKey]) {
	e := table.Define[Group[G], GroupKey](foldName(projection, version)+"."+name, table.Def[Group[G]]{
		PK: fmt.Sprintf("PROJECTION#%s#%d", projection, version), SK: "GROUP#" + name + "#{group}",
		Doc: "The totals of a group of read models.",
	})
	return e, table.NewQuery(e, table.QueryDef[struct{}]{
		ID: "P1", Question: "the groups of a projection", PK: fmt.Sprintf("PROJECTION#%s#%d", projection, version), Prefix: "GROUP#" + name + "#",
		Load: table.Load{PerSecond: 1, Items: 50, ItemBytes: 200},
	})
}

func removeGroups[G any](ctx context.Context, t *table.Table, projection, name string, version int) error {
	e, all := groupsOf[G](projection, name, version)
	groups, err := all.Collect(ctx, t, struct{}{})
	if err != nil {
		return err
	}
	keys := make([]GroupKey, len(groups))
	for i, g := range groups {
		keys[i] = g.GroupKey
	}
	return e.DeleteMany(ctx, t, keys)
}

// All returns the groups of the active version, by key. Errors: ErrNotActive, those of the store.
func (g *Groups[R, G]) All(ctx context.Context) ([]Group[G], error) {
	s, err := g.p.ActiveVersion(ctx)
	if err != nil {
		return nil, err
	}
	return g.at(ctx, s.Version)
}

func (g *Groups[R, G]) at(ctx context.Context, version int) ([]Group[G], error) {
	all := g.all
	if version != g.p.def.Version {
		_, all = groupsOf[G](g.p.def.Name, g.def.Name, version)
	}
	groups, err := all.Collect(ctx, g.p.t, struct{}{})
	if err != nil {
		return nil, fmt.Errorf("projection: groups of %s: %w", g.p.def.Name, err)
	}
	return groups, nil
}

// Get returns one group of the active version, zero if it does not exist. Errors: ErrNotActive,
// those of the store.
func (g *Groups[R, G]) Get(ctx context.Context, group string) (Group[G], error) {
	s, err := g.p.ActiveVersion(ctx)
	if err != nil {
		return Group[G]{}, err
	}
	e, _ := groupsOf[G](g.p.def.Name, g.def.Name, s.Version)
	v, err := e.Get(ctx, g.p.t, GroupKey{group})
	if errors.Is(err, table.ErrNotFound) {
		return Group[G]{GroupKey: GroupKey{group}}, nil
	}
	if err != nil {
		return v, fmt.Errorf("projection: group of %s: %w", g.p.def.Name, err)
	}
	return v, nil
}
