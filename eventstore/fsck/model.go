package fsck

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/eventstore"
)

// Model is a read model derived from events, such as a projection.Projection.
type Model interface {
	Name() string
	// Verify returns how the read model of an aggregate differs from its events, or "".
	Verify(ctx context.Context, id eventstore.ID) (differs string, err error)
	// Remake recomputes it.
	Remake(ctx context.Context, id eventstore.ID) error
}

// models checks the read models of the aggregate against its events.
func (a *aggregate) models(ctx context.Context) error {
	for _, m := range a.o.Models {
		if a.broken {
			a.p.Unchecked++
			continue
		}
		differs, err := m.Verify(ctx, a.id)
		switch {
		case errors.Is(err, eventstore.ErrTruncated):
			a.p.Unchecked++
			continue
		case err != nil:
			return err
		}
		if a.p.Models++; differs == "" {
			continue
		}
		f := Finding{
			Kind: ModelWrong, ID: a.id, Item: fmt.Sprintf("read model %s of %s", m.Name(), a.id), Detail: fmt.Sprintf("the read model %s of %s: %s", m.Name(), a.id, clip([]byte(differs))),
			Plan: "rebuild the read model from the events", fix: func(ctx context.Context) error { return m.Remake(ctx, a.id) },
		}
		if err := a.report(f); err != nil {
			return err
		}
	}
	return nil
}
