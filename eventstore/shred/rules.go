package shred

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/onefold/onefold/eventstore"
)

// rules are the table's personal fields, including those declared by this key store. So a program that
// declares fewer seals as much as the others. mu protects the fields below it.
type rules struct {
	held eventstore.HeldRules

	mu       sync.Mutex
	declared bool
	waited   int64             // latest ReliedFrom that was waited for
	of       int               // number of compiled rules: rules are never removed
	fields   int               // number of fields in them
	compiled map[string][]rule // by event type
}

// Ready waits until every store on the table uses its rules about personal fields, at most 9 seconds
// after they have changed. Errors: those of the store.
func (k *KeyStore) Ready(ctx context.Context) error {
	k.rules.held.Drop()
	_, err := k.personal(ctx, func(string) bool { return true })
	return err
}

// personal returns the personal fields of each event type. The first call declares the key store's
// own. It returns only rules that every store on the table uses for the given event types: while some
// may use older ones, it waits, whoever changed the rules. It holds no lock meanwhile.
func (k *KeyStore) personal(ctx context.Context, of func(eventType string) bool) (map[string][]rule, error) {
	if err := k.declare(ctx); err != nil {
		return nil, fmt.Errorf("shred: declare what is personal: %w", err)
	}
	for {
		held, err := k.rules.held.Get(ctx, k.t)
		if err != nil {
			return nil, fmt.Errorf("shred: %w", err)
		}
		wait := held.Wait(k.t.Now())
		concerned := func(r eventstore.PersonalRule) bool { return of(r.Event) }
		if wait <= 0 || k.rules.wasWaitedFor(held.ReliedFrom) || !slices.ContainsFunc(held.Personal, concerned) {
			return k.rules.compile(held.Personal)
		}
		if err := k.o.Sleep(ctx, wait); err != nil {
			return nil, fmt.Errorf("shred: wait until every store encrypts personal fields: %w", err)
		}
		k.rules.waitedFor(held.ReliedFrom)
	}
}

func (k *KeyStore) declare(ctx context.Context) error {
	k.rules.mu.Lock()
	defer k.rules.mu.Unlock()
	if k.rules.declared {
		return nil
	}
	if err := k.Verify(ctx); err != nil {
		return err
	}
	add := make([]eventstore.PersonalRule, len(k.o.Personal))
	for i, p := range k.o.Personal {
		add[i] = eventstore.PersonalRule(p)
	}
	if err := eventstore.DeclarePersonal(ctx, k.t, add); err != nil {
		return err
	}
	k.rules.declared = true
	k.rules.held.Drop()
	return nil
}

func (r *rules) wasWaitedFor(from int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return from <= r.waited
}

func (r *rules) waitedFor(from int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waited = max(r.waited, from)
}

// compile compiles the rules of the table, and caches the result.
func (r *rules) compile(personal []eventstore.PersonalRule) (map[string][]rule, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fields := 0
	for _, p := range personal {
		fields += len(p.Fields) + len(p.Metadata)
	}
	if r.compiled != nil && r.of == len(personal) && r.fields == fields {
		return r.compiled, nil
	}
	compiled := map[string][]rule{}
	for _, p := range personal {
		own := Personal(p)
		one, err := own.compile()
		if err != nil {
			return nil, err
		}
		compiled[p.Event] = append(compiled[p.Event], one)
	}
	r.of, r.fields, r.compiled = len(personal), fields, compiled
	return compiled, nil
}
