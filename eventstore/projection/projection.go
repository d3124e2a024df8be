package projection

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/internal/backoff"
	"github.com/onefold/onefold/table"
)

// ErrDefinition is returned for an invalid definition of a projection.
var ErrDefinition = errors.New("projection: faulty definition")

// Definition defines a read model. R is a struct.
type Definition[R any] struct {
	Name string // 1 to 64 bytes, without '#'
	// Version is the version of Apply and of the form of R, from 1. Increase it when either
	// changes: the previous version stays active until Rebuild has built the new one.
	Version int
	Of      []string // types of aggregates with a read model
	// Apply applies an event to the read model of its aggregate, the zero R before the first event.
	// It must depend on nothing else. An error parks the aggregate: see Projection.Parked.
	Apply func(model *R, e *eventstore.Event) error
}

// Options configures a Projection. The zero value has good defaults.
type Options struct {
	Within time.Duration // maximum wait of WaitFor; default 5 s
	Poll   time.Duration // polling interval of WaitFor; default 10 ms

	Sleep  func(context.Context, time.Duration) error // waits, or returns the context's error; default: a timer
	Logger *slog.Logger                               // default slog.Default()
}

// Projection maintains a read model of each aggregate. It is safe for concurrent use. mu protects
// others.
type Projection[R any] struct {
	def    Definition[R]
	o      Options
	s      *eventstore.Store
	t      *table.Table
	models *table.Entity[Model[R], ModelKey]
	groups []grouping[R]

	mu     sync.Mutex
	others map[int]*table.Entity[Model[R], ModelKey] // entities of other versions
}

// ModelKey names the read model of an aggregate.
type ModelKey struct{ eventstore.ID }

// Model is the read model of an aggregate, after the event Applied.
type Model[R any] struct {
	ModelKey
	Applied int64 `dynamodbav:"fa,omitempty"` // fold.AttrApplied
	State   R     `dynamodbav:"state"`
}

// Define defines a projection of a store's events on a table. Errors: ErrDefinition.
func Define[R any](t *table.Table, s *eventstore.Store, d Definition[R], o Options) (*Projection[R], error) {
	switch {
	case d.Name == "" || len(d.Name) > 64 || strings.ContainsAny(d.Name, "#{}[]"):
		return nil, fmt.Errorf("%w: name %q: use 1 to 64 bytes without # and brackets", ErrDefinition, d.Name)
	case d.Version < 1 || len(d.Of) == 0 || d.Apply == nil:
		return nil, fmt.Errorf("%w: %s: set Version (from 1), Of and Apply", ErrDefinition, d.Name)
	}
	d.Of = slices.Clone(d.Of)
	for v, to := range map[*time.Duration]time.Duration{&o.Within: 5 * time.Second, &o.Poll: 10 * time.Millisecond} {
		if *v <= 0 {
			*v = to
		}
	}
	if o.Sleep == nil {
		o.Sleep = backoff.For
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	p := &Projection[R]{def: d, o: o, s: s, t: t, models: modelsOf[R](d.Name, d.Version), others: map[int]*table.Entity[Model[R], ModelKey]{}}
	if _, err := p.models.Key(ModelKey{eventstore.ID{Type: "t", ID: "i"}}); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDefinition, d.Name, err)
	}
	return p, nil
}

func modelsOf[R any](name string, version int) *table.Entity[Model[R], ModelKey] {
	return table.Define[Model[R], ModelKey](foldName(name, version), table.Def[Model[R]]{
		PK: fmt.Sprintf("PROJECTION#%s#%d#{type}#{id}", name, version), SK: "MODEL",
		Doc: "The read model " + name + " of an aggregate.",
	})
}

// foldName returns the name of a version's fold and entity. Versions have different names, so that
// two of them may run at once.
func foldName(name string, version int) string {
	return fmt.Sprintf("projection.%s.v%d", name, version)
}

// Name returns the name of the definition.
func (p *Projection[R]) Name() string { return p.def.Name }

// Version returns the version of the definition.
func (p *Projection[R]) Version() int { return p.def.Version }

// Models returns the entity of the definition's read models, for further folds over their changes.
func (p *Projection[R]) Models() *table.Entity[Model[R], ModelKey] { return p.models }

// Folds returns the folds that maintain the read models and groups, for a fold.Worker. Folds of
// several versions may run at once.
func (p *Projection[R]) Folds() []*fold.Fold {
	folds := []*fold.Fold{fold.ProjectEach(foldName(p.def.Name, p.def.Version), eventstore.Appends, p.models, p.projection())}
	for _, g := range p.groups {
		folds = append(folds, g.fold)
	}
	return folds
}

// Part returns what the projection stores, for a schema.
func (p *Projection[R]) Part() table.Part { return p.models }

func (p *Projection[R]) projection() fold.Projection[eventstore.Appended, Model[R], ModelKey] {
	return fold.Projection[eventstore.Appended, Model[R], ModelKey]{
		Key:     func(e *eventstore.Appended) ModelKey { return ModelKey{e.ID} },
		Seq:     func(e *eventstore.Appended) int64 { return e.Seq },
		Wants:   func(e *eventstore.Appended) bool { return slices.Contains(p.def.Of, e.Type) },
		Open:    func(ctx context.Context, e *eventstore.Appended) error { return p.s.Open(ctx, &e.Event) },
		Missing: p.missing,
		Apply: func(m *Model[R], e *eventstore.Appended) error {
			m.Applied = e.Seq
			return p.def.Apply(&m.State, &e.Event)
		},
	}
}

// missing reads the events of an aggregate after a number, such as those of an append that was too
// large for the head. Errors in the stream itself are permanent, and park the aggregate.
func (p *Projection[R]) missing(ctx context.Context, _ *table.Table, e *eventstore.Appended, after int64) iter.Seq2[eventstore.Appended, error] {
	return func(yield func(eventstore.Appended, error) bool) {
		for e, err := range p.s.Read(ctx, e.ID, eventstore.From(after+1), eventstore.AsStored()) {
			if errors.Is(err, eventstore.ErrHole) || errors.Is(err, eventstore.ErrTruncated) || errors.Is(err, eventstore.ErrPage) {
				err = fold.Poison(err)
			}
			if !yield(eventstore.Appended{Event: e}, err) {
				return
			}
		}
	}
}

// catchUp updates the read models of aggregates from the table.
func (p *Projection[R]) catchUp(ctx context.Context, ids []eventstore.ID) ([]fold.CatchUpResult, error) {
	aggregates := make([]eventstore.Appended, len(ids))
	for i, id := range ids {
		aggregates[i].ID = id
	}
	return fold.CatchUp(ctx, p.t, foldName(p.def.Name, p.def.Version), p.models, p.projection(), aggregates,
		fold.Options{Readers: 8, Sleep: p.o.Sleep, Logger: p.o.Logger})
}
