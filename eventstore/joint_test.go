package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// to is a part of a joint append.
func to(id eventstore.ID, expected eventstore.Expected, types ...string) eventstore.AppendTo {
	return eventstore.AppendTo{ID: id, Expected: expected, Events: said(types...)}
}

// A joint append happens to all aggregates or to none, and says which of them is in the way.
func TestAppendAll(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.append(order("1"), eventstore.NoStream(), "A")
	commits, err := w.store.AppendAll(w.ctx, []eventstore.AppendTo{
		to(order("1"), eventstore.Exact(1), "B", "C"), to(order("2"), eventstore.NoStream(), "D"), to(order("3"), eventstore.Any(), "E")})
	w.must(err)
	if len(commits) != 3 || commits[0].First != 2 || commits[0].Version != 3 || commits[1].Version != 1 || commits[1].CommitID != commits[0].CommitID {
		t.Errorf("%+v", commits)
	}
	for i, parts := range [][]eventstore.AppendTo{
		{to(order("2"), eventstore.Exact(1), "X"), to(order("1"), eventstore.Exact(2), "X")},
		{to(order("4"), eventstore.NoStream(), "X"), to(order("1"), eventstore.NoStream(), "X")},
		{to(order("1"), eventstore.Exists(), "X"), to(order("4"), eventstore.Exists(), "X")},
	} {
		_, err := w.store.AppendAll(w.ctx, parts)
		conflict := (*eventstore.Conflict)(nil)
		if !errors.As(err, &conflict) || conflict.ID != parts[1].ID {
			t.Errorf("append %d: %v", i, err)
		}
	}
	w.must(w.store.Close(w.ctx, order("3")))
	if _, err := w.store.AppendAll(w.ctx, []eventstore.AppendTo{to(order("1"), eventstore.Any(), "X"), to(order("3"), eventstore.Any(), "X")}); !errors.Is(err, eventstore.ErrClosed) || !strings.Contains(err.Error(), "order/3") {
		t.Errorf("one is closed: %v", err)
	}
	for id, want := range map[string]string{"1": "1 A 2 B 3 C", "2": "1 D", "3": "1 E", "4": ""} {
		w.isStory(order(id), want)
	}
}

// Repeated with its id, a joint append is the first one, in whatever order, whatever came after it; it cannot be extended.
func TestAppendAllAgain(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	w.append(order("2"), eventstore.NoStream(), "Z")
	parts := []eventstore.AppendTo{to(order("1"), eventstore.NoStream(), "A"), to(order("2"), eventstore.Exact(1), "B", "C")}
	first, err := w.store.AppendAll(w.ctx, parts, eventstore.CommitID("move"))
	w.must(err)
	w.append(order("1"), eventstore.Any(), "Y")
	w.must(w.store.Close(w.ctx, order("2")))
	slices.Reverse(parts)
	again, err := w.store.AppendAll(w.ctx, parts, eventstore.CommitID("move"))
	if err != nil || !again[0].Again || again[0].First != first[1].First || again[1].Version != first[0].Version {
		t.Errorf("%+v, then %+v, %v", first, again, err)
	}
	for name, parts := range map[string][]eventstore.AppendTo{
		"with another": {parts[0], parts[1], to(order("3"), eventstore.Any(), "D")}, "of more events": {to(order("1"), eventstore.Any(), "A", "A"), parts[0]},
		"with another first": {to(order("0"), eventstore.NoStream(), "D"), parts[1]},
	} {
		if _, err := w.store.AppendAll(w.ctx, parts, eventstore.CommitID("move")); !errors.Is(err, eventstore.ErrCommitReused) && !errors.Is(err, eventstore.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for id, want := range map[string]string{"0": "", "1": "1 A 2 Y", "2": "1 Z 2 B 3 C", "3": ""} {
		w.isStory(order(id), want)
	}
}

// An append that happened is found when it is repeated after its stream was closed.
func TestAgainAfterClose(t *testing.T) {
	for _, expected := range []eventstore.Expected{eventstore.Any(), eventstore.NoStream(), eventstore.Exists()} {
		w := newWorld(t, eventstore.Options{})
		_, err := w.store.Append(w.ctx, order("1"), eventstore.NoStream(), said("A"), eventstore.CommitID("a"))
		w.must(err)
		w.must(w.store.Close(w.ctx, order("1")))
		if c, err := w.store.Append(w.ctx, order("1"), expected, said("A"), eventstore.CommitID("a")); err != nil || !c.Again || c.Version != 1 {
			t.Errorf("expecting %s: %+v, %v", expected, c, err)
		}
	}
}

func TestAppendAllRefuses(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	many := make([]eventstore.AppendTo, 51)
	for i := range many {
		many[i] = to(order(fmt.Sprint("m", i)), eventstore.Any(), "A")
	}
	one, two := to(order("1"), eventstore.Any(), "A"), to(order("2"), eventstore.Any(), "A")
	named := two
	named.Options = []eventstore.AppendOption{eventstore.CommitID("other")}
	for name, c := range map[string]struct {
		parts   []eventstore.AppendTo
		options []eventstore.AppendOption
		want    error
	}{
		"nothing": {nil, nil, eventstore.ErrInvalid}, "twice": {[]eventstore.AppendTo{one, one}, nil, eventstore.ErrInvalid},
		"no events": {[]eventstore.AppendTo{one, {ID: order("2")}}, nil, eventstore.ErrInvalid}, "an id": {[]eventstore.AppendTo{one, to(order("a#b"), eventstore.Any(), "A")}, nil, eventstore.ErrInvalid},
		"51 aggregates": {many, nil, eventstore.ErrInvalid}, "50 with a commit id": {many[:50], []eventstore.AppendOption{eventstore.CommitID("c")}, eventstore.ErrTooLarge},
		"two commit ids": {[]eventstore.AppendTo{one, named}, nil, eventstore.ErrInvalid},
		"whose value":    {[]eventstore.AppendTo{one, two}, []eventstore.AppendOption{eventstore.Reserve("email", "a")}, eventstore.ErrInvalid},
	} {
		if _, err := w.store.AppendAll(w.ctx, c.parts, c.options...); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.isStory(order("1"), "")
	if _, err := w.store.AppendAll(w.ctx, many[:50]); err != nil {
		t.Errorf("50 aggregates: %v", err)
	}
	single := newWorld(t, eventstore.Options{OneByOne: true})
	if _, err := single.store.AppendAll(w.ctx, []eventstore.AppendTo{one, two}); !errors.Is(err, eventstore.ErrInvalid) {
		t.Errorf("two aggregates without transactions: %v", err)
	}
}

func TestAppendAllReserves(t *testing.T) {
	w := newWorld(t, eventstore.Options{})
	taking := func(n, value string) eventstore.AppendTo {
		part := to(order(n), eventstore.NoStream(), "A")
		part.Options = []eventstore.AppendOption{eventstore.Reserve("email", value)}
		return part
	}
	_, err := w.store.AppendAll(w.ctx, []eventstore.AppendTo{taking("1", "a"), taking("2", "b")})
	w.must(err)
	if _, err := w.store.AppendAll(w.ctx, []eventstore.AppendTo{taking("3", "c"), taking("4", "b")}); !errors.Is(err, eventstore.ErrReserved) {
		t.Errorf("a value that another has: %v", err)
	}
	for value, want := range map[string]string{"a": "order/1", "b": "order/2"} {
		if owner, err := w.store.OwnerOf(w.ctx, "email", value); err != nil || owner != want {
			t.Errorf("%s belongs to %q, %v", value, owner, err)
		}
	}
	if _, err := w.store.OwnerOf(w.ctx, "email", "c"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("reserved by an append that did not happen: %v", err)
	}
}

// Whatever goes wrong, a joint append that is repeated happens once, to all of its aggregates.
func TestAppendAllOutcomeUnknown(t *testing.T) {
	for _, effect := range []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer, enginetest.Throttle, enginetest.Conflict} {
		w := newWorld(t, eventstore.Options{})
		w.db.Inject(enginetest.Fault{Effect: effect, Writes: true, Every: 3})
		for i := range 12 {
			id := fmt.Sprintf("c%d", i)
			err := errors.New("not tried")
			for try := 0; err != nil && try < 20; try++ {
				_, err = w.store.AppendAll(w.ctx, []eventstore.AppendTo{to(order("1"), eventstore.Any(), id), to(order("2"), eventstore.Any(), id, id)}, eventstore.CommitID(id))
			}
			w.must(err)
		}
		w.db.Heal()
		if one, two := strings.Count(w.story(order("1")), "c"), strings.Count(w.story(order("2")), "c"); one != 12 || two != 24 {
			t.Errorf("effect %v: %d and %d events", effect, one, two)
		}
	}
}

// late is a store whose first transaction is carried out some requests after it was reported as failed.
type late struct {
	*enginetest.DB
	mu    sync.Mutex
	after int // requests
	held  *dynamodb.TransactWriteItemsInput
}

func (l *late) request() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.after--; l.after == 0 && l.held != nil {
		_, _ = l.DB.TransactWriteItems(context.Background(), l.held) // it may be too late, which is what it is about
	}
}

func (l *late) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if l.request(); l.held == nil {
		l.held, l.after = in, l.after+1
		return nil, context.DeadlineExceeded
	}
	return l.DB.TransactWriteItems(ctx, in, o...)
}

func (l *late) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	l.request()
	return l.DB.GetItem(ctx, in, o...)
}

func (l *late) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	l.request()
	return l.DB.Query(ctx, in, o...)
}

var _ dynamo.API = (*late)(nil)

// An append whose first attempt happens after all, at any moment while the second is made, happens once.
func TestAttemptThatHappensLate(t *testing.T) {
	for _, named := range []bool{false, true} {
		for _, expected := range []eventstore.Expected{eventstore.Any(), eventstore.Exists(), eventstore.Exact(1)} {
			for after := 1; after < 12; after++ {
				w := newWorld(t, eventstore.Options{})
				w.append(order("1"), eventstore.NoStream(), "A")
				w.append(order("2"), eventstore.NoStream(), "A")
				store, err := eventstore.New(table.New(&late{DB: w.db, after: after}, "onefold", table.Options{Clock: w.db.Now}), eventstore.Options{})
				w.must(err)
				var options []eventstore.AppendOption
				if named {
					options = append(options, eventstore.CommitID("c"))
				}
				if _, err := store.AppendAll(w.ctx, []eventstore.AppendTo{to(order("1"), expected, "B"), to(order("2"), expected, "B", "C")}, options...); err != nil {
					t.Errorf("expecting %s, %d requests later: %v", expected, after, err)
				}
				w.isStory(order("1"), "1 A 2 B")
				w.isStory(order("2"), "1 A 2 B 3 C")
			}
		}
	}
}

// Money moves between accounts while others move some: none is made, none is lost, and each transfer is on both or none.
func TestConcurrentJointAppends(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newWorld(t, eventstore.Options{})
	var writers sync.WaitGroup
	for n := range 6 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			for i := range 15 {
				from := r.IntN(4)
				name := fmt.Sprintf("T%d-%d", n, i)
				parts := []eventstore.AppendTo{to(order(fmt.Sprint(from)), eventstore.Any(), name), to(order(fmt.Sprint((from+1+r.IntN(3))%4)), eventstore.Any(), name)}
				for range 1 + r.IntN(2) {
					if _, err := w.store.AppendAll(w.ctx, parts, eventstore.CommitID(name)); err != nil && !errors.Is(err, eventstore.ErrBusy) && !errors.Is(err, table.ErrConflict) {
						w.Error(err)
					}
				}
			}
		})
	}
	writers.Wait()
	seen := map[string]int{}
	for n := range 4 {
		for e, err := range w.store.Read(w.ctx, order(fmt.Sprint(n))) {
			w.must(err)
			seen[e.EventType]++
		}
	}
	for name, n := range seen {
		if n != 2 {
			t.Errorf("%s happened to %d aggregates", name, n)
		}
	}
	if len(seen) == 0 {
		t.Error("nothing happened")
	}
}
