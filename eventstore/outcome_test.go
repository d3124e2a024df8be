package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// to returns a part of a multi-stream append.
func to(id eventstore.ID, expected eventstore.Expected, types ...string) eventstore.AppendTo {
	return eventstore.AppendTo{ID: id, Expected: expected, Events: said(types...)}
}

// Whatever fails before or after the commit, an append that is repeated with its ID happens once.
func TestOutcomeUnknown(t *testing.T) {
	for _, effect := range []enginetest.Effect{enginetest.Fail, enginetest.LoseAnswer, enginetest.Throttle, enginetest.Conflict} {
		both(t, func(w *world) {
			w.db.Inject(enginetest.Fault{Effect: effect, Writes: true, Every: 3})
			for i := range 12 {
				id := fmt.Sprintf("c%d", i)
				var c eventstore.Commit
				err := errors.New("not tried")
				for try := 0; err != nil && try < 20; try++ {
					c, err = w.store.Append(w.ctx, order("1"), eventstore.Any(), said("E"+id), eventstore.CommitID(id))
				}
				if err != nil || c.First != int64(i)+1 || c.Version != c.First {
					w.Fatalf("effect %v, append %d: %+v, %v", effect, i, c, err)
				}
			}
			w.db.Heal()
			if n := len(strings.Fields(w.story(order("1")))); n != 24 {
				w.Errorf("effect %v: %s", effect, w.story(order("1")))
			}
		})
	}
}

// Whatever fails, a multi-stream append that is repeated happens once, to all of its aggregates.
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

// late is a store that executes its first transaction some requests after reporting it as failed.
type late struct {
	dynamo.API
	mu    sync.Mutex
	after int // number of requests
	held  *dynamodb.TransactWriteItemsInput
}

func (l *late) request() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.after--; l.after == 0 && l.held != nil {
		_, _ = l.API.TransactWriteItems(context.Background(), l.held) // it may fail because it is too late, which this test is about
	}
}

func (l *late) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if l.request(); l.held == nil {
		l.held, l.after = in, l.after+1
		return nil, context.DeadlineExceeded
	}
	return l.API.TransactWriteItems(ctx, in, o...)
}

func (l *late) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	l.request()
	return l.API.GetItem(ctx, in, o...)
}

func (l *late) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	l.request()
	return l.API.Query(ctx, in, o...)
}

var _ dynamo.API = (*late)(nil)

// An append whose first attempt is executed after all, at any moment during the second attempt,
// happens once.
func TestDelayedFirstAttempt(t *testing.T) {
	for _, named := range []bool{false, true} {
		for _, expected := range []eventstore.Expected{eventstore.Any(), eventstore.Exists(), eventstore.Exact(1)} {
			for after := 1; after < 12; after++ {
				w := newWorld(t, eventstore.Options{})
				w.append(order("1"), eventstore.NoStream(), "A")
				w.append(order("2"), eventstore.NoStream(), "A")
				store, err := eventstore.New(table.New(&late{API: w.db, after: after}, "onefold", table.Options{Clock: w.db.Now}), eventstore.Options{})
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
