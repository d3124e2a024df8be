package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/internal/webhook"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/delivery"
)

type noteKey struct {
	ID string `dynamodbav:"id"`
}

type note struct {
	noteKey
	Shard int `dynamodbav:"shard"`
	delivery.Status
}

type dueIn struct {
	Shard int       `dynamodbav:"shard"`
	To    time.Time `dynamodbav:"to"`
}

var (
	notes = table.Define[note, noteKey]("test.note", table.Def[note]{
		PK: "NOTE#{id}", SK: "NOTE",
		Indexes: []table.Index[note]{{
			Name: "gsi1", PK: "NOTES#{shard}", SK: "DUE#{due:ms}#{id}",
			When: func(n *note) bool { return n.State == delivery.Waiting }, WhenReads: []string{"state"},
		}},
		Doc:     "A note.",
		Example: func(n *note) { n.State = delivery.Waiting },
	})
	dueNotes = table.NewQuery(notes, table.QueryDef[dueIn]{
		ID: "N1", Question: "what is due", Index: "gsi1", From: "DUE#", To: "DUE#{to:ms}", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 100},
	})
	schema = table.MustSchema("test", notes, dueNotes)
)

// world is a table of notes, and a clock.
type world struct {
	*testing.T
	table *table.Table
	mu    sync.Mutex
	now   time.Time
	sent  map[string]int
	fail  func(n *note) error
}

func newWorld(t *testing.T) *world {
	db, err := engine.OpenMemory(engine.Options{TTLInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := schema.Ensure(t.Context(), db, "onefold"); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, now: start, sent: map[string]int{}}
	w.table = table.New(db, "onefold", table.Options{Clock: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now }})
	return w
}

func (w *world) add(id string) {
	w.Helper()
	if err := notes.Create(w.Context(), w.table, &note{noteKey{id}, table.Shard(id, delivery.Shards), delivery.NewStatus(w.table.Now())}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) get(id string) note {
	w.Helper()
	n, err := notes.Get(w.Context(), w.table, noteKey{id})
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func (w *world) advance(d time.Duration) { w.mu.Lock(); defer w.mu.Unlock(); w.now = w.now.Add(d) }

func (w *world) outbox() *delivery.Outbox[note, noteKey] {
	return &delivery.Outbox[note, noteKey]{
		Name: "test", Items: notes, Key: func(n *note) noteKey { return n.noteKey }, Status: func(n *note) *delivery.Status { return &n.Status },
		Receiver: func(n *note) string { to, _, _ := strings.Cut(n.ID, "/"); return to },
		Due: func(ctx context.Context, t *table.Table, shard int, before time.Time) ([]note, error) {
			due, err := dueNotes.Page(ctx, t, dueIn{shard, before}, "", 100)
			return due.Items, err
		},
		Send: func(_ context.Context, _ *table.Table, n *note) (bool, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.sent[n.ID]++
			if w.fail != nil {
				return false, w.fail(n)
			}
			return false, nil
		},
		Random: func() float64 { return 0 },
	}
}

func (w *world) deliver(want int) {
	w.Helper()
	if n, err := w.outbox().Deliver(w.Context(), w.table); err != nil || n != want {
		w.Errorf("sent %d, want %d: %v", n, want, err)
	}
}

// Two servers deliver at once: each message is sent once.
func TestServersShareAnOutbox(t *testing.T) {
	w := newWorld(t)
	const n = 200
	for i := range n {
		w.add(fmt.Sprint("n", i))
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for range 3 {
				if _, err := w.outbox().Deliver(t.Context(), w.table); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	if len(w.sent) != n {
		t.Errorf("%d messages were sent, want %d", len(w.sent), n)
	}
	for id, times := range w.sent {
		if times != 1 || w.get(id).State != delivery.Sent {
			t.Errorf("%s was sent %d times and is %s", id, times, w.get(id).State)
		}
	}
}

// A process dies after a message was sent and before that is recorded. Another one sends it again,
// but not before the claim has ended, and not for ever.
func TestDeathBetweenSendAndRecord(t *testing.T) {
	w := newWorld(t)
	w.add("n")
	die := func() {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		w.fail = func(*note) error { cancel(); return nil }
		if _, err := w.outbox().Deliver(ctx, w.table); !errors.Is(err, context.Canceled) {
			t.Errorf("the process lives: %v", err)
		}
		w.fail = nil
	}
	die()
	if w.deliver(0); w.sent["n"] != 1 {
		t.Errorf("sent %d times during the claim", w.sent["n"])
	}
	w.advance(2*time.Minute + time.Millisecond)
	if w.deliver(1); w.sent["n"] != 2 || w.get("n").State != delivery.Sent || w.get("n").Attempts != 2 {
		t.Errorf("sent %d times: %+v", w.sent["n"], w.get("n"))
	}
	w.add("poison")
	for range 12 {
		die()
		w.advance(time.Hour)
	}
	w.deliver(0)
	if n := w.get("poison"); n.State != delivery.Dead || w.sent["poison"] != 12 || n.LastError == "" {
		t.Errorf("sent %d times: %+v", w.sent["poison"], n)
	}
}

// Pauses double up to an hour, or last as long as the receiver asks for, and attempts end.
func TestPauses(t *testing.T) {
	w := newWorld(t)
	w.add("n")
	var failed error = errors.New("no route to host")
	w.fail = func(*note) error { return failed }
	attempt := func(want time.Duration) {
		t.Helper()
		w.deliver(0)
		due := w.get("n").Due.Sub(w.table.Now())
		if due != want {
			t.Errorf("attempt %d: due in %s, want %s", w.get("n").Attempts, due, want)
		}
		w.advance(max(due, 0))
	}
	for _, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		attempt(want)
	}
	failed = &webhook.StatusError{Code: 429, Status: "429 Too Many Requests", RetryAfter: "90"}
	attempt(90 * time.Second)
	failed = &webhook.StatusError{Code: 429, RetryAfter: "999999999999999999999"}
	attempt(80 * time.Second)
	failed = &webhook.StatusError{Code: 429, RetryAfter: "86400"}
	attempt(time.Hour)
	for range 5 {
		w.deliver(0)
		w.advance(time.Hour)
	}
	if n := w.get("n"); n.State != delivery.Waiting || n.Attempts != 11 {
		t.Errorf("%+v", n)
	}
	if w.deliver(0); w.get("n").State != delivery.Dead || w.get("n").ExpiresAt.IsZero() {
		t.Errorf("after twelve attempts: %+v", w.get("n"))
	}
	w.advance(time.Hour)
	if w.deliver(0); w.sent["n"] != 12 {
		t.Errorf("%d attempts", w.sent["n"])
	}
}

// Receivers that do not answer, each with many messages, delay neither others nor each other: all
// attempts that they let wait are under way at the same time.
func TestDeadReceiversDelayNobody(t *testing.T) {
	w := newWorld(t)
	const dead, each = 8, 20
	for i := range dead {
		for j := range each {
			w.add(fmt.Sprintf("dead%d/%02d", i, j))
		}
	}
	for j := range each {
		w.add(fmt.Sprintf("alive/%02d", j))
	}
	var waiting, tried, sent atomic.Int64
	everyone := make(chan struct{})
	arrive := func() {
		if waiting.Add(1) == dead+1 {
			close(everyone)
		}
	}
	counts := &delivery.Counts{}
	o := w.outbox()
	o.Counts = counts
	o.Send = func(ctx context.Context, _ *table.Table, n *note) (bool, error) {
		if strings.HasPrefix(n.ID, "alive") {
			if sent.Add(1) == each {
				arrive()
			}
			return false, nil
		}
		tried.Add(1)
		arrive()
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		select {
		case <-everyone:
			return false, &net.DNSError{Err: "no such host", Name: "dead.example"}
		case <-ctx.Done():
			t.Errorf("%s waits for others", n.ID)
			return false, ctx.Err()
		}
	}
	if n, err := o.Deliver(t.Context(), w.table); n != each || err != nil || tried.Load() != dead {
		t.Errorf("sent %d, want %d; called dead receivers %d times, want %d: %v", n, each, tried.Load(), dead, err)
	}
	if n := w.get("dead3/19"); n.Attempts != 1 || n.LastError == "" || !n.Due.After(w.table.Now()) {
		t.Errorf("a message to a dead receiver was not postponed: %+v", n)
	}
	if s, f := counts.Sent.Load(), counts.Failed.Load(); s != each || f != dead*each {
		t.Errorf("counted %d sent and %d failed, want %d and %d", s, f, each, dead*each)
	}
}

// A message that its receiver rejects does not keep the others of that receiver from being sent, and
// they are sent in order.
func TestARejectedMessageStopsNoOther(t *testing.T) {
	w := newWorld(t)
	for j := range 10 {
		w.add(fmt.Sprintf("a/%d", j))
		w.advance(time.Millisecond)
	}
	var order []string
	o, counts := w.outbox(), &delivery.Counts{}
	o.Counts = counts
	o.Due = func(ctx context.Context, t *table.Table, shard int, before time.Time) (all []note, err error) {
		if shard > 0 {
			return nil, nil
		}
		for i := range delivery.Shards {
			due, err := dueNotes.Page(ctx, t, dueIn{i, before}, "", 100)
			if all = append(all, due.Items...); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(all, func(a, b note) int { return a.Due.Compare(b.Due) })
		return all, nil
	}
	o.Send = func(_ context.Context, _ *table.Table, n *note) (bool, error) {
		order = append(order, n.ID)
		switch n.ID {
		case "a/3":
			return false, &webhook.StatusError{Code: 400, Status: "400 Bad Request"}
		case "a/4":
			return true, nil
		}
		return false, nil
	}
	if n, err := o.Deliver(t.Context(), w.table); n != 8 || err != nil || len(order) != 10 || !slices.IsSorted(order) {
		t.Errorf("sent %d, tried %v: %v", n, order, err)
	}
	if counts.Sent.Load() != 8 || counts.Failed.Load() != 1 || counts.Skipped.Load() != 1 || counts.Dead.Load() != 0 {
		t.Errorf("counted %d sent, %d failed, %d skipped, %d dead", counts.Sent.Load(), counts.Failed.Load(), counts.Skipped.Load(), counts.Dead.Load())
	}
}
