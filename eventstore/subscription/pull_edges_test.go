package subscription_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/onefold/onefold/eventstore/subscription"
)

// keys returns which events were delivered.
func keys(all []subscription.Delivered) (of []string) {
	for _, e := range all {
		of = append(of, fmt.Sprintf("%s/%d", e.EventKey.ID.ID, e.Seq))
	}
	return of
}

// park rejects the first event of an order, so that it is parked.
func (p *pulled) park(n int) {
	p.Helper()
	p.add(order(n), 1)
	got := p.receive(subscription.ReceiveOptions{})
	if len(got) != 1 {
		p.Fatalf("%v", keys(got))
	}
	p.reject(got[0], true)
}

// After a reset, the events are delivered again, also if a parked event is retried first.
func TestResetBeforeRetry(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.pull(rand.New(rand.NewPCG(1, 1)), 1, subscription.Settings{})
		p.add(order(1), 3)
		p.acknowledge(p.receive(subscription.ReceiveOptions{})...)
		p.park(2)
		w.must(subscription.Reset(w.Context(), w.store, "test", 0))
		_, err := subscription.Retry(w.Context(), w.store, "test")
		w.must(err)
		clear(p.settled)
		got := p.receive(subscription.ReceiveOptions{})
		if len(got) != 1 || !got[0].Parked {
			t.Fatalf("retried: %v", keys(got))
		}
		p.acknowledge(got...)
		clear(p.settled)
		if got = p.receive(subscription.ReceiveOptions{}); len(got) != 4 { // those of order 1, and the one that is not parked any more
			t.Errorf("after the reset: %v", keys(got))
		}
	})
}

// A consumer ends with events of a partition. Another one retries a parked event and acknowledges it. It
// then gets the events of the first one at once, although the time for which it got the parked
// event has not ended.
func TestRetryAfterALapse(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.pull(rand.New(rand.NewPCG(1, 1)), 1, subscription.Settings{})
		p.park(1)
		p.add(order(2), 2)
		p.receive(subscription.ReceiveOptions{Visible: time.Second})
		p.pass(time.Minute)
		_, err := subscription.Retry(w.Context(), w.store, "test")
		w.must(err)
		got := p.receive(subscription.ReceiveOptions{Visible: 12 * time.Hour})
		if len(got) != 1 || !got[0].Parked {
			t.Fatalf("retried: %v", keys(got))
		}
		p.acknowledge(got...)
		if got = p.receive(subscription.ReceiveOptions{}); len(got) != 2 || got[0].Attempt != 2 || got[1].Attempt != 1 {
			t.Errorf("after the retry: %+v", got)
		}
	})
}

// A deletion that was interrupted leaves partitions and parked events. Deleting again removes them, and
// so does a new subscription with the name.
func TestInterruptedDelete(t *testing.T) {
	for _, deleteAgain := range []bool{true, false} {
		inWorld(t, func(w *world) {
			p := w.pull(rand.New(rand.NewPCG(1, 1)), 2, subscription.Settings{})
			p.add(order(1), 3)
			p.acknowledge(p.receive(subscription.ReceiveOptions{})...)
			p.park(2)
			w.must(subscription.Records.Delete(w.Context(), w.table, subscription.Key{Name: "test"}))
			if deleteAgain {
				if err := subscription.Delete(w.Context(), w.store, "test"); err != nil {
					t.Errorf("delete again: %v", err)
				}
				if err := subscription.Delete(w.Context(), w.store, "test"); !errors.Is(err, subscription.ErrNotFound) {
					t.Errorf("deleted: %v", err)
				}
			}
			p = w.pull(rand.New(rand.NewPCG(1, 1)), 2, subscription.Settings{})
			got := p.receive(subscription.ReceiveOptions{})
			if len(got) != 4 {
				t.Errorf("deleted again %v: %v", deleteAgain, keys(got))
			}
			p.acknowledge(got...)
			if st := p.status(); st.Parked() != 0 {
				t.Errorf("%d events are parked", st.Parked())
			}
		})
	}
}
