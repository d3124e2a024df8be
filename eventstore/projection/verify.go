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

// Verify recomputes the read model of an aggregate from its events, up to the last event in it, and
// describes the difference: "" if there is none, or if aggregates of this type have no read models.
// It checks the definition's version, active or not. Errors: eventstore.ErrHole,
// eventstore.ErrTruncated, those of Apply and the store.
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
		return fmt.Sprintf("it has event %d, but the last event is %d", have.Applied, want.Applied), nil
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
	return fmt.Sprintf("it is %s, but its events give %s", a, b), err
}

// stored returns a read model as it would be read from the table.
func (p *Projection[R]) stored(m Model[R]) (Model[R], error) {
	it, err := p.models.Encode(&m)
	if err != nil {
		return m, err
	}
	return p.models.Decode(it)
}

// Remake deletes the read model of an aggregate and recomputes it from its events; totals follow.
func (p *Projection[R]) Remake(ctx context.Context, id eventstore.ID) error {
	if err := p.models.Delete(ctx, p.t, ModelKey{id}); err != nil && !errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("projection: remake %s of %s: %w", p.def.Name, id, err)
	}
	_, err := p.catchUp(ctx, []eventstore.ID{id})
	return err
}
