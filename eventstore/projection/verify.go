package projection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// Verify makes the read model of an aggregate anew of its events, up to the last one that is in it, and says how the one that
// is there differs: "" when it does not, or when aggregates of this type have none. It is of the definition's version,
// whichever is served. Errors: eventstore.ErrHole, eventstore.ErrTruncated, that of Apply; those of the store.
func (p *Projection[R]) Verify(ctx context.Context, id eventstore.ID) (differs string, err error) {
	if !slices.Contains(p.def.Of, id.Type) {
		return "", nil
	}
	found, err := p.read(ctx, p.def.Version, []eventstore.ID{id})
	if err != nil || found[0].Applied == 0 {
		return "", err
	}
	have, want := found[0], Model[R]{ModelKey: ModelKey{id}}
	for e, err := range p.s.Read(ctx, id, eventstore.To(have.Applied)) {
		if err == nil {
			want.Applied = e.Seq
			err = p.def.Apply(&want.State, &e)
		}
		if err != nil {
			return "", fmt.Errorf("projection: verify %s of %s: %w", p.def.Name, id, err)
		}
	}
	if want.Applied < have.Applied {
		return fmt.Sprintf("it has event %d, and the last one is %d", have.Applied, want.Applied), nil
	}
	stored, err := p.stored(want)
	if err != nil || reflect.DeepEqual(stored.State, have.State) {
		return "", err
	}
	a, err := json.Marshal(have.State)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(stored.State)
	return fmt.Sprintf("it is %s, and its events make %s", a, b), err
}

// stored is a read model as it comes back from the table.
func (p *Projection[R]) stored(m Model[R]) (Model[R], error) {
	it, err := p.models.Encode(&m)
	if err != nil {
		return m, err
	}
	return p.models.Decode(it)
}

// Remake deletes the read model of an aggregate and makes it anew of its events; totals over it follow.
func (p *Projection[R]) Remake(ctx context.Context, id eventstore.ID) error {
	if err := p.models.Delete(ctx, p.t, ModelKey{id}); err != nil && !errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("projection: remake %s of %s: %w", p.def.Name, id, err)
	}
	_, err := p.catchUp(ctx, []eventstore.ID{id})
	return err
}
