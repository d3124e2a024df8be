package shred

import (
	"context"
	"fmt"
	"sync"

	"github.com/onefold/onefold/eventstore"
)

// rules are what is personal by the table, to which the keeper has added what was declared to it. So a program that declares less seals as much as the others.
type rules struct {
	held eventstore.HeldRules

	mu       sync.Mutex
	declared bool
	of       int               // rules that were compiled: there are only ever more
	fields   int               // in them
	compiled map[string][]rule // by event type
}

// personal is what is personal in the events of each type. The first time it declares what the keeper was given, and waits until every store on the table goes by it.
func (k *Keeper) personal(ctx context.Context) (map[string][]rule, error) {
	k.rules.mu.Lock()
	defer k.rules.mu.Unlock()
	if !k.rules.declared {
		add := make([]eventstore.PersonalRule, len(k.o.Personal))
		for i, p := range k.o.Personal {
			add[i] = eventstore.PersonalRule(p)
		}
		if err := eventstore.DeclarePersonal(ctx, k.t, add, k.o.Sleep); err != nil {
			return nil, fmt.Errorf("shred: declare what is personal: %w", err)
		}
		k.rules.declared = true
		k.rules.held.Drop()
	}
	held, err := k.rules.held.Get(ctx, k.t)
	if err != nil {
		return nil, fmt.Errorf("shred: %w", err)
	}
	fields := 0
	for _, p := range held.Personal {
		fields += len(p.Fields) + len(p.Metadata)
	}
	if k.rules.compiled != nil && k.rules.of == len(held.Personal) && k.rules.fields == fields {
		return k.rules.compiled, nil
	}
	compiled := map[string][]rule{}
	for _, p := range held.Personal {
		own := Personal(p)
		r, err := own.compile()
		if err != nil {
			return nil, err
		}
		compiled[p.Event] = append(compiled[p.Event], r)
	}
	k.rules.of, k.rules.fields, k.rules.compiled = len(held.Personal), fields, compiled
	return compiled, nil
}
