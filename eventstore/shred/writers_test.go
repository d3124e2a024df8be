package shred_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/shred"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// program is a writer with its own options, which does not know the options of the others.
type program struct {
	name  string
	store *eventstore.Store
	keys  bool
	busy  bool // whether it is in the middle of an append
}

// office is a table that several programs write to. While one of them waits or retries, others
// append.
type office struct {
	*world
	r        *rand.Rand
	programs []*program
	names    int
	depth    int
	sealed   bool // a program has appended something sealed: from now on, no personal data is stored unsealed
}

func newOffice(t *testing.T, seed uint64) *office {
	o := &office{world: &world{T: t, ctx: t.Context(), db: enginetest.New(t)}, r: rand.New(rand.NewPCG(seed, 0))}
	o.must(shred.Schema.Ensure(o.ctx, o.db, "onefold"))
	o.table = o.on(o.db)
	all := personal(t)
	o.open("all", all, eventstore.Options{})
	o.open("all, too", all, eventstore.Options{TypeShards: 4})
	o.open("some", all[1:2], eventstore.Options{})
	o.open("none", []shred.Personal{}, eventstore.Options{})
	o.open("chain", all, eventstore.Options{Chain: true})
	o.open("no keys", nil, eventstore.Options{})
	o.open("no keys, sharded", nil, eventstore.Options{TypeShards: 4})
	return o
}

func (o *office) on(api dynamo.API) *table.Table {
	return table.New(api, "onefold", table.Options{Clock: o.db.Now})
}

// open opens a program, with keys if personal is not nil. About half of the programs have a table
// that is sometimes throttled.
func (o *office) open(name string, personal []shred.Personal, options eventstore.Options) {
	t := o.table
	if o.r.IntN(2) == 0 {
		t = o.on(&hurried{API: o.db, office: o})
	}
	if personal != nil {
		k, err := shred.New(t, shred.Options{Masters: []shred.Master{master("2026")}, Personal: personal, Sleep: o.sleep})
		o.must(err)
		options.Secrets = k.Secrets()
	}
	s, err := eventstore.New(t, options)
	o.must(err)
	o.programs = append(o.programs, &program{name: name, store: s, keys: personal != nil})
}

// hurried is a table that sometimes throttles an append.
type hurried struct {
	dynamo.API
	office *office
}

func (h *hurried) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if h.office.r.IntN(4) == 0 {
		h.office.pass(time.Duration(h.office.r.IntN(5)) * time.Second)
		return nil, errors.New("too busy")
	}
	return h.API.TransactWriteItems(ctx, in, options...)
}

// sleep waits, or is interrupted before or after the wait.
func (o *office) sleep(_ context.Context, d time.Duration) error {
	early, late := o.r.IntN(4) == 0, o.r.IntN(8) == 0
	if early {
		d = time.Duration(o.r.Int64N(int64(d)))
	}
	o.pass(d)
	if early || late {
		return context.DeadlineExceeded
	}
	return nil
}

// pass lets others append, and time pass before, between and after that.
func (o *office) pass(d time.Duration) {
	if o.depth++; o.depth <= 3 {
		for range o.r.IntN(3) {
			o.append()
			part := time.Duration(o.r.Int64N(int64(d) + 1))
			o.db.Advance(part)
			d -= part
		}
	}
	o.depth--
	o.db.Advance(d)
}

// append lets a program that is not already appending append something, personal or not.
func (o *office) append() {
	free := slices.DeleteFunc(slices.Clone(o.programs), func(p *program) bool { return p.busy })
	p := free[o.r.IntN(len(free))]
	p.busy = true
	defer func() { p.busy = false }()
	o.names++
	name, said := fmt.Sprint(o.names), fmt.Sprintf("secret-%d-", o.names)
	before := o.sealed
	_, err := p.store.Append(o.ctx, customer(name), eventstore.NoStream(), []eventstore.NewEvent{
		{Type: "Registered", Payload: fmt.Appendf(nil, `{"customerId":"c%d","name":%q}`, o.r.IntN(3), said)}})
	stored := strings.Contains(o.everything(), said)
	switch {
	case stored && o.sealed:
		o.Errorf("append %s, by %q: stored as it is", name, p.name)
	case p.keys && err != nil && !errors.Is(err, context.DeadlineExceeded):
		o.Errorf("append %s, by %q: %v", name, p.name, err)
	case before && !p.keys && !errors.Is(err, eventstore.ErrUnsealed):
		o.Errorf("append %s, by %q: %v, want ErrUnsealed", name, p.name, err)
	}
	o.sealed = o.sealed || p.keys && err == nil && !stored
	_, err = p.store.Append(o.ctx, customer("plain-"+name), eventstore.Any(), []eventstore.NewEvent{{Type: "Visited"}})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		o.Errorf("append %s, by %q, of nothing personal: %v", name, p.name, err)
	}
}

// A store that seals waits first, even if another key store changed the rules, or if the wait was
// interrupted before. So a store without keys, which follows the old rules for a while, stores no
// personal data after the first sealed append.
func TestKeyStoresWaitBeforeSealing(t *testing.T) {
	for name, first := range map[string]func(o *office, d time.Duration, other *eventstore.Store) error{
		"two start together": func(o *office, _ time.Duration, other *eventstore.Store) error {
			_, err := other.Append(o.ctx, customer("b"), eventstore.NoStream(), []eventstore.NewEvent{{Type: "Registered", Payload: []byte(ada)}})
			o.must(err)
			return nil
		},
		"the first is broken off": func(*office, time.Duration, *eventstore.Store) error { return context.DeadlineExceeded },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, 0)
			o.programs = nil
			plain, err := eventstore.New(o.table, eventstore.Options{})
			o.must(err)
			_, err = plain.Append(o.ctx, customer("0"), eventstore.NoStream(), []eventstore.NewEvent{{Type: "Visited"}})
			o.must(err) // with the current rules
			keyStore := func(sleep func(context.Context, time.Duration) error) *eventstore.Store {
				k, err := shred.New(o.table, shred.Options{Masters: []shred.Master{master("2026")}, Personal: personal(t), Sleep: sleep})
				o.must(err)
				s, err := eventstore.New(o.table, eventstore.Options{Secrets: k.Secrets()})
				o.must(err)
				return s
			}
			patient := func(_ context.Context, d time.Duration) error { o.db.Advance(d); return nil }
			slept := 0
			store := keyStore(func(ctx context.Context, d time.Duration) error {
				if slept++; slept == 1 {
					return first(o, d, keyStore(patient))
				}
				return patient(ctx, d)
			})
			said := []eventstore.NewEvent{{Type: "Registered", Payload: []byte(ada)}}
			if _, err := store.Append(o.ctx, customer("a"), eventstore.NoStream(), said); errors.Is(err, context.DeadlineExceeded) {
				_, err = store.Append(o.ctx, customer("a"), eventstore.NoStream(), said)
				o.must(err)
			} else {
				o.must(err)
			}
			if _, err := plain.Append(o.ctx, customer("p"), eventstore.NoStream(), said); !errors.Is(err, eventstore.ErrUnsealed) {
				t.Errorf("without keys: %v", err)
			}
			o.saysNothing(adaSays)
		})
	}
}

// TestSecondWriter lets programs with different options append in any order, even while one of them
// waits, and even if they began before the first personal field was sealed. From that moment on, no
// personal data is stored unsealed: programs that cannot seal it are refused, and may append what
// is not personal.
func TestSecondWriter(t *testing.T) {
	t.Parallel()
	seeds.Run(t, 25, func(t *testing.T, seed uint64) {
		o := newOffice(t, seed)
		for range 20 {
			o.append()
			o.db.Advance(time.Duration(o.r.IntN(3)) * time.Second)
		}
		if !o.sealed {
			t.Log("nothing was sealed")
		}
	})
}
