package projection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/table"
)

// world is an in-memory event store.
type world struct {
	testing.TB
	ctx   context.Context
	db    *enginetest.DB
	table *table.Table
	store *eventstore.Store
	other *eventstore.Store // of a program that does not know the options of the first one
	turns int
	slept atomic.Int64
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, ctx: t.Context(), db: enginetest.New(t)}
	w.must(eventstore.Schema.Ensure(w.ctx, w.db, "onefold"))
	w.table = table.New(w.db, "onefold", table.Options{Clock: w.now})
	var err error
	w.store, err = eventstore.New(w.table, eventstore.Options{})
	w.must(err)
	w.other, err = eventstore.New(w.table, eventstore.Options{TypeShards: 4, Chain: true})
	w.must(err)
	return w
}

// now is ahead of the database by the time that was slept.
func (w *world) now() time.Time { return w.db.Now().Add(time.Duration(w.slept.Load())) }

func (w *world) sleep(ctx context.Context, d time.Duration) error {
	w.slept.Add(int64(d))
	return ctx.Err()
}

func (w *world) must(err error) {
	if err != nil {
		w.Helper()
		w.Fatal(err)
	}
}

// worker runs folds on the world's stream, continuing where the last one was.
func (w *world) worker(folds ...*fold.Fold) *fold.Worker {
	w.Helper()
	name := w.table.Name()
	described, err := w.db.DescribeTable(w.ctx, &dynamodb.DescribeTableInput{TableName: &name})
	w.must(err)
	worker, err := fold.NewWorker(w.table, streamsource.New(w.db, *described.Table.LatestStreamArn), folds, fold.Options{
		Logger: slog.New(slog.DiscardHandler), Clock: w.now, Sleep: w.sleep,
	})
	w.must(err)
	return worker
}

func (w *world) append(id eventstore.ID, types ...string) eventstore.Commit {
	w.Helper()
	events := make([]eventstore.NewEvent, len(types))
	for i, name := range types {
		name, of, _ := strings.Cut(name, ":")
		payload, err := json.Marshal(of)
		w.must(err)
		events[i] = eventstore.NewEvent{Type: name, Payload: payload}
	}
	w.turns++
	c, err := []*eventstore.Store{w.store, w.other}[w.turns%2].Append(w.ctx, id, eventstore.Any(), events)
	w.must(err)
	return c
}

func order(n any) eventstore.ID { return eventstore.ID{Type: "order", ID: fmt.Sprint(n)} }

// orderState is a read model that depends on the order of events.
type orderState struct {
	Story string `dynamodbav:"story"`
	City  string `dynamodbav:"city,omitempty"`
	Sent  bool   `dynamodbav:"sent,omitempty"`
}

var errBad = errors.New("a bad event")

// tells is an Apply that refuses events of type Bad, after changing the model.
func tells(m *orderState, e *eventstore.Event) error {
	m.Story += fmt.Sprintf("%d%s ", e.Seq, e.EventType)
	switch e.EventType {
	case "Moved":
		return json.Unmarshal(e.Payload, &m.City)
	case "Sent":
		m.Sent = true
	case "Bad":
		return errBad
	case "Panic":
		panic("a panic")
	}
	return nil
}

func (w *world) define(version int, apply func(*orderState, *eventstore.Event) error) *projection.Projection[orderState] {
	w.Helper()
	p, err := projection.Define(w.table, w.store, projection.Definition[orderState]{Name: "orders", Version: version, Of: []string{"order"}, Apply: apply},
		projection.Options{Sleep: w.sleep, Logger: slog.New(slog.DiscardHandler)})
	w.must(err)
	return p
}

// cityTotal counts orders that were not sent.
type cityTotal struct {
	Open int `dynamodbav:"open"`
}

func (w *world) byCity(p *projection.Projection[orderState]) *projection.Groups[orderState, cityTotal] {
	w.Helper()
	g, err := projection.GroupBy(p, projection.Grouping[orderState, cityTotal]{
		Name: "city",
		Add: func(m *projection.Model[orderState], sign int, at func(string) *cityTotal) {
			if !m.State.Sent && m.State.City != "" {
				at(m.State.City).Open += sign
			}
		},
		Merge: func(into, add *cityTotal) { into.Open += add.Open },
		Empty: func(c *cityTotal) bool { return c.Open == 0 },
	})
	w.must(err)
	return g
}

func (w *world) cities(g *projection.Groups[orderState, cityTotal]) string {
	w.Helper()
	all, err := g.All(w.ctx)
	w.must(err)
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "%s %d ", c.Group, c.State.Open)
	}
	return strings.TrimSpace(b.String())
}

func (w *world) model(p *projection.Projection[orderState], id eventstore.ID) string {
	w.Helper()
	m, err := p.Get(w.ctx, id)
	w.must(err)
	return strings.TrimSpace(m.State.Story)
}

func (w *world) is(what, have, want string) {
	w.Helper()
	if have != want {
		w.Errorf("%s: %q, want %q", what, have, want)
	}
}

// items yields the entities of all items of the table.
func (w *world) items() iter.Seq[string] {
	return func(yield func(string) bool) {
		name := w.table.Name()
		out, err := w.db.Scan(w.ctx, &dynamodb.ScanInput{TableName: &name})
		w.must(err)
		for _, it := range out.Items {
			if s, ok := it[table.AttrEntity].(*types.AttributeValueMemberS); ok && !yield(s.Value) {
				return
			}
		}
	}
}
