package eventstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/fsck"
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
		for i, expected := range []eventstore.Expected{eventstore.Any(), eventstore.Exists(), eventstore.Exact(1), eventstore.Any(), eventstore.Exact(1)} {
			for after := 1; after < 12; after++ {
				o := eventstore.Options{PageBytes: i / 3} // the last ones close a page
				w := newWorld(t, o)
				w.append(order("1"), eventstore.NoStream(), "A")
				w.append(order("2"), eventstore.NoStream(), "A")
				store, err := eventstore.New(table.New(&late{API: w.db, after: after}, "onefold", table.Options{Clock: w.db.Now}), o)
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

// mortal is a store of a process that is killed after some writes.
type mortal struct {
	dynamo.API
	lives int
}

var errKilled = errors.New("killed")

func (m *mortal) write() error {
	if m.lives--; m.lives < 0 {
		return errKilled
	}
	return nil
}

func (m *mortal) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := m.write(); err != nil {
		return nil, err
	}
	return m.API.PutItem(ctx, in, o...)
}

func (m *mortal) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := m.write(); err != nil {
		return nil, err
	}
	return m.API.UpdateItem(ctx, in, o...)
}

func (m *mortal) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := m.write(); err != nil {
		return nil, err
	}
	return m.API.TransactWriteItems(ctx, in, o...)
}

// Wherever a process is killed, another one appends the same, once, with pages of another size, and
// everything is consistent.
func TestKilledBetweenWrites(t *testing.T) {
	both(t, func(w *world) {
		for _, size := range []int{10, 120 << 10} { // the latter does not fit in the head beside others
			for lives := range 8 {
				id := order(fmt.Sprint(size, "-", lives))
				for i := range 3 {
					_, err := w.store.Append(w.ctx, id, eventstore.Any(), said("A", "B"), eventstore.CommitID(fmt.Sprint("before-", i)))
					w.must(err)
				}
				o := eventstore.Options{PutMode: w.oneByOne, PageBytes: w.pageBytes}
				ctx, cancel := context.WithCancel(w.ctx)
				process := &mortal{API: w.db, lives: lives}
				killed, err := eventstore.New(table.New(process, "onefold", table.Options{Clock: w.db.Now}), o)
				w.must(err)
				time.AfterFunc(20*time.Millisecond, cancel) // it does not wait for the store's retries
				events := said("C", "D", "E")
				for i := range events {
					events[i].Payload = bytes.Repeat([]byte("x"), size)
				}
				for n := range 3 {
					_, _ = killed.Append(ctx, id, eventstore.Any(), events, eventstore.CommitID(fmt.Sprint("c", n))) // whether it happens depends on when it is killed
				}
				o.PageBytes = []int{1, 300, 0}[lives%3]
				other, err := eventstore.New(w.table, o)
				w.must(err)
				for n := range 3 {
					c, err := other.Append(w.ctx, id, eventstore.Any(), events, eventstore.CommitID(fmt.Sprint("c", n)))
					if want := int64(6 + 3*n + 1); err != nil || c.First != want || c.Version != want+2 {
						w.Errorf("%d bytes, killed after %d writes, append %d: %+v, %v", size, lives, n, c, err)
					}
				}
				cancel()
				if have, want := w.story(id), "1 A 2 B 3 A 4 B 5 A 6 B 7 C 8 D 9 E 10 C 11 D 12 E 13 C 14 D 15 E"; have != want {
					w.Errorf("%d bytes, killed after %d writes: %s", size, lives, have)
				}
			}
		}
		w.db.Advance(time.Hour)
		for f, err := range fsck.Check(w.ctx, w.store, fsck.Options{}) {
			w.must(err)
			w.Errorf("%+v", f)
		}
	})
}
