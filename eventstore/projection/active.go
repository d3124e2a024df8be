package projection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// Errors of reads.
var (
	// ErrNotActive is returned when no version of a projection is active. Call Start or Rebuild.
	ErrNotActive = errors.New("projection: no version is active")
	// ErrBehind is returned by WaitFor when a read model did not reach a version in time.
	ErrBehind = errors.New("projection: the read model is behind")
	// ErrParked is returned by WaitFor when a read model will not reach the version until a fault
	// is fixed: see Projection.Parked.
	ErrParked = errors.New("projection: an event cannot be applied")
)

// ActiveVersionKey names a projection.
type ActiveVersionKey struct {
	Name string `dynamodbav:"name"`
}

// ActiveVersion is the active version of a projection.
type ActiveVersion struct {
	ActiveVersionKey
	Version  int       `dynamodbav:"version"`
	Previous int       `dynamodbav:"previous,omitempty"` // previous version, 0: none
	Since    time.Time `dynamodbav:"since"`
}

// Pointers holds the active versions of projections.
var Pointers = table.Define[ActiveVersion, ActiveVersionKey]("eventstore.projection", table.Def[ActiveVersion]{
	PK: "PROJECTION#{name}", SK: "#SERVED",
	Doc: "The active version of a projection.",
})

var activeVersion = table.FieldOf(Pointers, func(s *ActiveVersion) *int { return &s.Version })

// ActiveVersion returns the active version. Errors: ErrNotActive.
func (p *Projection[R]) ActiveVersion(ctx context.Context) (ActiveVersion, error) {
	s, err := Pointers.Get(ctx, p.t, ActiveVersionKey{p.def.Name})
	switch {
	case errors.Is(err, table.ErrNotFound):
		return s, fmt.Errorf("%w: %s", ErrNotActive, p.def.Name)
	case err != nil:
		return s, fmt.Errorf("projection: %s: %w", p.def.Name, err)
	}
	return s, nil
}

// Start activates the definition's version if no version is active and there are no aggregates,
// whose earlier events would be missing. With aggregates it returns ErrNotActive: call Rebuild. If
// any version is active, it does nothing. Call it at program start, with the folds running.
func (p *Projection[R]) Start(ctx context.Context) error {
	if err := p.s.CheckMode(ctx); err != nil {
		return fmt.Errorf("projection: start %s: %w", p.def.Name, err)
	}
	if _, err := p.ActiveVersion(ctx); !errors.Is(err, ErrNotActive) {
		return err
	}
	for _, of := range p.def.Of {
		_, err := eventstore.AggregatesOfType.First(ctx, p.t, eventstore.AggregatesIn{Type: of})
		if err == nil {
			return fmt.Errorf("%w: %s: aggregates of type %s already exist; call Rebuild", ErrNotActive, p.def.Name, of)
		}
		if !errors.Is(err, table.ErrNotFound) {
			return fmt.Errorf("projection: start %s: %w", p.def.Name, err)
		}
	}
	return p.setActive(ctx, ActiveVersion{})
}

// setActive activates the definition's version, on condition that the active one is still was.
func (p *Projection[R]) setActive(ctx context.Context, was ActiveVersion) error {
	unchanged := table.Absent()
	if was.Version > 0 {
		unchanged = activeVersion.Eq(was.Version)
	}
	next := ActiveVersion{ActiveVersionKey: ActiveVersionKey{p.def.Name}, Version: p.def.Version, Previous: was.Version, Since: p.t.Now().UTC()}
	err := Pointers.Put(ctx, p.t, &next, unchanged)
	if errors.Is(err, table.ErrCondition) { // somebody else switched: to this version?
		if now, err := p.ActiveVersion(ctx); err != nil || now.Version == p.def.Version {
			return err
		}
	}
	if err != nil {
		return fmt.Errorf("projection: serve %s version %d: %w", p.def.Name, p.def.Version, err)
	}
	return nil
}

// modelsAt returns the entity of a version's read models.
func (p *Projection[R]) modelsAt(version int) *table.Entity[Model[R], ModelKey] {
	if version == p.def.Version {
		return p.models
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.others[version] == nil {
		p.others[version] = modelsOf[R](p.def.Name, version)
	}
	return p.others[version]
}

// Get returns the read model of an aggregate in the active version. A model of another version is
// decoded into R as far as possible. An aggregate without events has a zero model. Errors:
// ErrNotActive, those of the store.
func (p *Projection[R]) Get(ctx context.Context, id eventstore.ID) (Model[R], error) {
	all, err := p.GetMany(ctx, []eventstore.ID{id})
	if err != nil {
		return Model[R]{}, err
	}
	return all[0], nil
}

// GetMany is Get for many aggregates, in their order.
func (p *Projection[R]) GetMany(ctx context.Context, ids []eventstore.ID) ([]Model[R], error) {
	s, err := p.ActiveVersion(ctx)
	if err != nil {
		return nil, err
	}
	return p.read(ctx, s.Version, ids)
}

func (p *Projection[R]) read(ctx context.Context, version int, ids []eventstore.ID) ([]Model[R], error) {
	keys, at := make([]ModelKey, len(ids)), make(map[ModelKey]int, len(ids))
	for i, id := range ids {
		keys[i] = ModelKey{id}
	}
	found, err := p.modelsAt(version).GetMany(ctx, p.t, keys)
	if err != nil {
		return nil, fmt.Errorf("projection: read %s: %w", p.def.Name, err)
	}
	for i := range found {
		at[found[i].ModelKey] = i + 1
	}
	models := make([]Model[R], len(ids))
	for i, k := range keys {
		if models[i].ModelKey = k; at[k] > 0 {
			models[i] = found[at[k]-1]
		}
	}
	return models, nil
}

// WaitFor returns the active read model of an aggregate once it includes an event, so that a writer
// can read its own writes. Errors: ErrParked if the event cannot be applied, ErrBehind after
// Options.Within, ErrNotActive.
func (p *Projection[R]) WaitFor(ctx context.Context, id eventstore.ID, version int64) (Model[R], error) {
	until := p.t.Now().Add(p.o.Within)
	for {
		m, err := p.Get(ctx, id)
		if err != nil || m.Applied >= version {
			return m, err
		}
		if !p.t.Now().Before(until) {
			return m, p.whyBehind(ctx, m, version)
		}
		if err := p.o.Sleep(ctx, p.o.Poll); err != nil {
			return m, err
		}
	}
}

func (p *Projection[R]) whyBehind(ctx context.Context, m Model[R], version int64) error {
	parked, err := p.Parked(ctx)
	if err != nil {
		return err
	}
	for _, a := range parked {
		if a.ID == m.ID {
			return fmt.Errorf("%w: %s of %s is at event %d: %s", ErrParked, p.def.Name, m.ID, m.Applied, a.Reason)
		}
	}
	return fmt.Errorf("%w: %s of %s is at event %d after %s, not %d; check that a worker is running", ErrBehind, p.def.Name, m.ID, m.Applied, p.o.Within, version)
}
