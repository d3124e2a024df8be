package projection_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/projection"
)

// mapSink is a store whose transactions are assignments. It can be made to fail before or after
// them.
type mapSink struct {
	position     int64
	counts       map[string]int
	before, then int // number of puts until it fails
}

var errSubscriber = errors.New("the subscriber is unavailable")

func (m *mapSink) Position(context.Context) (int64, error) { return m.position, nil }

func (m *mapSink) Put(_ context.Context, events []eventstore.FeedEvent, through int64) error {
	if m.before--; m.before == 0 {
		return errSubscriber
	}
	next := maps.Clone(m.counts)
	for _, e := range events {
		next[e.EventType]++
	}
	m.position, m.counts = through, next
	if m.then--; m.then == 0 {
		return errSubscriber // the caller cannot know that the put happened
	}
	return nil
}

func (w *world) feed() {
	w.Helper()
	w.must(w.worker(eventstore.FeedFold()).Drain(w.ctx))
}

// TestSubscriberGetsEachEventOnce makes a subscriber fail before and after each of its puts.
func TestSubscriberGetsEachEventOnce(t *testing.T) {
	w := newWorld(t)
	want := map[string]int{}
	for i := range 25 {
		w.append(order(i%4), "A", "B")
		want["A"]++
		want["B"]++
	}
	w.feed()
	for fail := 1; fail <= 7; fail++ {
		subscriber := &mapSink{counts: map[string]int{}, before: fail, then: fail + 1}
		ctx, stop := context.WithCancel(w.ctx)
		var seen []projection.SubscriptionStatus
		err := projection.Subscribe(ctx, w.store, subscriber, projection.SubscribeOptions{AtOnce: 4, Sleep: w.sleep, Status: func(s projection.SubscriptionStatus) {
			if seen = append(seen, s); s.Err == nil && s.Position == s.Head {
				stop()
			}
		}})
		w.must(err)
		if !maps.Equal(subscriber.counts, want) || subscriber.position != 25 {
			t.Errorf("failing at %d: counts %v at %d, want %v", fail, subscriber.counts, subscriber.position, want)
		}
		if !errors.Is(seen[0].Err, errSubscriber) || seen[0].Failures != 1 {
			t.Errorf("failing at %d: first told %+v, want the error", fail, seen[0])
		}
	}
}

// TestLinesFileAfterCrash truncates a file at each byte. After it is opened again and has
// caught up, it is complete.
func TestLinesFileAfterCrash(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.append(order(i), "A:x", "B:y")
	}
	w.append(eventstore.ID{Type: "cart", ID: "c"}, "A")
	w.feed()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	catchUp := func() string {
		l, err := projection.OpenLines(path)
		w.must(err)
		defer l.Close()
		o := projection.SubscribeOptions{AtOnce: 2, Only: []eventstore.FeedOption{eventstore.OfAggregateType("order")}}
		if at, err := projection.CatchUp(w.ctx, w.store, l, o); err != nil || at.Position != 4 || at.Head != 4 {
			t.Fatalf("caught up to %+v: %v", at, err)
		}
		text, err := os.ReadFile(path)
		w.must(err)
		return string(text)
	}
	want := catchUp()
	if lines := strings.Count(want, "\n"); lines != 4 || !strings.HasSuffix(want, `{"position":4}`+"\n") || strings.Count(want, `"data":"x"`) != 3 {
		t.Fatalf("the file is\n%s", want)
	}
	for n := range len(want) {
		w.must(os.WriteFile(path, []byte(want[:n]), 0o600))
		// It does not matter where a page ended in the truncated file, only which lines there are.
		if have := catchUp(); have != want {
			t.Fatalf("cut off at %d the file became\n%s", n, have)
		}
	}
	for _, garbage := range []string{"garbage\n", `{"position":2}` + "\n" + `{"position":2}` + "\n", "{}\n"} {
		w.must(os.WriteFile(path, []byte(garbage), 0o600))
		if l, err := projection.OpenLines(path); err == nil {
			t.Errorf("%q was taken for a file of lines", garbage)
			w.must(l.Close())
		}
	}
}

// ExampleSubscriber counts the events of each type in a Go map, which keeps its position with the counts.
func ExampleSubscriber() {
	subscriber := &mapSink{counts: map[string]int{}}
	events := []eventstore.FeedEvent{{Event: eventstore.Event{EventType: "OrderPlaced"}, Position: 1, Last: true}}
	err := subscriber.Put(context.Background(), events, 1)
	fmt.Println(subscriber.counts, subscriber.position, err)
	// Output: map[OrderPlaced:1] 1 <nil>
}
