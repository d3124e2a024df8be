package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/internal/seeds"
)

// pulled is a subscription whose events are pulled, with a model of what must be delivered.
type pulled struct {
	*world
	*rand.Rand
	puller   *subscription.Puller
	versions map[eventstore.ID]int64
	settled  map[eventstore.EventKey]bool      // acknowledged or discarded
	latest   map[eventstore.EventKey]delivered // the last delivery of each event
	all      []delivered
}

type delivered struct {
	subscription.Delivered
	until    time.Time
	answered bool // acknowledged or rejected
}

func (w *world) pull(r *rand.Rand, partitions int, settings subscription.Settings) *pulled {
	w.Helper()
	_, err := subscription.Create(w.Context(), w.store, "test", partitions, 0, settings)
	w.must(err)
	p := &pulled{world: w, Rand: r, versions: map[eventstore.ID]int64{}, settled: map[eventstore.EventKey]bool{}, latest: map[eventstore.EventKey]delivered{}}
	p.puller, err = subscription.Open(w.Context(), w.store, "test")
	w.must(err)
	return p
}

// add appends events, and waits until they are in the feed.
func (p *pulled) add(id eventstore.ID, n int) {
	p.Helper()
	events := make([]eventstore.NewEvent, n)
	for i := range events {
		events[i] = eventstore.NewEvent{Type: "A", Payload: []byte(`"` + strings.Repeat("x", p.IntN(10)) + `"`)}
	}
	_, err := p.store.Append(p.Context(), id, eventstore.Any(), events)
	p.must(err)
	p.versions[id] += int64(n)
	p.pass(time.Second)
}

func (p *pulled) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// receive receives events, and checks each delivery.
func (p *pulled) receive(ask subscription.ReceiveOptions) []subscription.Delivered {
	p.Helper()
	got, err := p.puller.Receive(p.Context(), ask)
	p.must(err)
	if len(got.Events) > max(ask.Events, 10) {
		p.Errorf("%d events, asked for %d", len(got.Events), ask.Events)
	}
	together := map[eventstore.EventKey]bool{}
	for _, e := range got.Events {
		if p.settled[e.EventKey] {
			p.Errorf("%s %d is delivered after it was acknowledged or discarded", e.EventKey, e.Seq)
		}
		for seq := int64(1); seq < e.Seq; seq++ {
			if k := (eventstore.EventKey{ID: e.EventKey.ID, Seq: seq}); !p.settled[k] && !together[k] {
				p.Errorf("%s %d is delivered before %d was acknowledged", e.EventKey, e.Seq, seq)
			}
		}
		if last := p.latest[e.EventKey]; last.Token != "" && !last.answered && time.Now().Before(last.until) {
			p.Errorf("%s %d is delivered while another consumer has it", e.EventKey, e.Seq)
		}
		together[e.EventKey] = true
		p.latest[e.EventKey] = delivered{e, got.Until, false}
		p.all = append(p.all, p.latest[e.EventKey])
	}
	return got.Events
}

// acknowledge acknowledges deliveries, and checks which are refused.
func (p *pulled) acknowledge(all ...subscription.Delivered) {
	p.Helper()
	tokens := make([]string, len(all))
	for i, e := range all {
		tokens[i] = e.Token
	}
	refused, err := p.puller.Acknowledge(p.Context(), tokens)
	p.must(err)
	before := map[eventstore.EventKey]bool{}
	for _, e := range all {
		before[e.EventKey] = p.settled[e.EventKey]
	}
	for i, e := range all {
		last := p.latest[e.EventKey]
		switch current := last.Token == e.Token; {
		case refused[i] == nil && !before[e.EventKey] && !current:
			p.Errorf("a late acknowledgment of %v has an effect", e.EventKey)
		case refused[i] == nil:
			p.settled[e.EventKey] = true
		case before[e.EventKey]:
			p.Errorf("a repeated acknowledgment of %v is refused: %v", e.EventKey, refused[i])
		case !errors.Is(refused[i], subscription.ErrLost) && !errors.Is(refused[i], subscription.ErrEarlier):
			p.Errorf("acknowledge %v: %v", e.EventKey, refused[i])
		}
		if refused[i] == nil && last.Token == e.Token {
			last.answered = true
			p.latest[e.EventKey] = last
		}
	}
}

func (p *pulled) reject(e subscription.Delivered, park bool) {
	p.Helper()
	refused, err := p.puller.Reject(p.Context(), e.Token, "broken", park)
	p.must(err)
	if refused != nil {
		return
	}
	for k, last := range p.latest { // the later ones of the aggregate are withdrawn
		if k.ID == e.EventKey.ID && k.Seq >= e.Seq {
			last.answered = true
			p.latest[k] = last
		}
	}
}

// extend extends a delivery, and notes until when nobody else may get the events of its partition.
func (p *pulled) extend(e subscription.Delivered, by time.Duration) {
	p.Helper()
	refused, until, err := p.puller.Extend(p.Context(), []string{e.Token}, by)
	p.must(err)
	last := p.latest[e.EventKey]
	switch current := last.Token == e.Token && !last.answered; {
	case refused[0] != nil && !errors.Is(refused[0], subscription.ErrLost):
		p.Errorf("extend %v: %v", e.EventKey, refused[0])
	case refused[0] != nil && current && time.Now().Before(last.until):
		p.Errorf("%v cannot be extended within its visibility time", e.EventKey)
	case refused[0] == nil && last.Token != e.Token && !p.settled[e.EventKey]:
		p.Errorf("a late extension of %v has an effect", e.EventKey)
	case refused[0] == nil && current && !p.settled[e.EventKey]:
		for k, other := range p.latest {
			if other.Partition == e.Partition && other.until.Equal(last.until) && until.After(other.until) && !other.answered { // of the same lease
				other.until = until
				p.latest[k] = other
			}
		}
	}
}

// discard discards the parked events of an aggregate.
func (p *pulled) discard(id eventstore.ID) {
	p.Helper()
	for parked, err := range subscription.ParkedOf.All(p.Context(), p.table, subscription.Key{Name: "test"}) {
		p.must(err)
		if parked.EventKey.ID == id {
			p.settled[parked.EventKey] = true
		}
	}
	_, err := subscription.Discard(p.Context(), p.store, "test", id)
	p.must(err)
}

// any returns a delivery, most likely a recent one.
func (p *pulled) any() (e subscription.Delivered, ok bool) {
	if len(p.all) == 0 {
		return e, false
	}
	back := p.IntN(min(len(p.all), []int{4, 12, 1000}[p.IntN(3)]))
	return p.all[len(p.all)-1-back].Delivered, true
}

func (p *pulled) act() {
	p.Helper()
	switch p.IntN(13) {
	case 0, 1:
		p.add(order(p.IntN(5)), 1+p.IntN(3))
	case 2, 3, 4:
		got := p.receive(subscription.ReceiveOptions{Events: 1 + p.IntN(8), Bytes: []int{10, 30, 0}[p.IntN(3)], Visible: time.Duration(1+p.IntN(20)) * time.Second, Consumer: fmt.Sprint(p.IntN(3))})
		p.acknowledge(got[:p.IntN(len(got)+1)]...)
	case 5, 6, 7:
		if e, ok := p.any(); ok {
			p.acknowledge(e)
		}
	case 8:
		if e, ok := p.any(); ok {
			p.reject(e, p.IntN(3) == 0)
		}
	case 9:
		if e, ok := p.any(); ok {
			p.extend(e, time.Duration(1+p.IntN(20))*time.Second)
		}
	case 10, 11:
		p.pass(time.Duration(p.IntN(8000)) * time.Millisecond)
	default:
		if p.IntN(3) > 0 {
			_, err := subscription.Retry(p.Context(), p.store, "test")
			p.must(err)
		} else {
			p.discard(order(p.IntN(5)))
		}
	}
}

// Consumers receive, end, repeat acknowledgments and come late, in random order. Each event is
// delivered after the earlier ones of its aggregate, until it is acknowledged or discarded.
func TestPullAgainstAModel(t *testing.T) {
	seeds.Run(t, 60, func(t *testing.T, seed uint64) {
		inWorld(t, func(w *world) {
			r := rand.New(rand.NewPCG(seed, 2))
			p := w.pull(r, 1+r.IntN(3), subscription.Settings{Attempts: 1 + r.IntN(4), FirstDelay: time.Second, MaxDelay: 4 * time.Second})
			for range 150 {
				if p.act(); t.Failed() {
					return
				}
			}
			p.drain()
		})
	})
}

// A repeated acknowledgment is harmless; one that comes after the partition was leased again is not
// accepted, and neither is that of an event before an earlier one of its aggregate.
func TestAcknowledge(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.pull(rand.New(rand.NewPCG(1, 1)), 1, subscription.Settings{})
		p.add(order(1), 2)
		p.add(order(2), 1)
		refusals := func(what string, want []error, of ...subscription.Delivered) {
			t.Helper()
			for i, e := range of {
				refused, err := p.puller.Acknowledge(w.Context(), []string{e.Token})
				if w.must(err); !errors.Is(refused[0], want[i]) || want[i] == nil && refused[0] != nil {
					t.Errorf("%s: %d: %v, want %v", what, i, refused[0], want[i])
				}
				p.settled[e.EventKey] = p.settled[e.EventKey] || refused[0] == nil
			}
		}
		first := p.receive(subscription.ReceiveOptions{Visible: 10 * time.Second})
		if len(first) != 3 || len(p.receive(subscription.ReceiveOptions{})) != 0 {
			t.Fatalf("%+v; want all three, once", first)
		}
		refusals("out of order", []error{subscription.ErrEarlier, nil, nil}, first[1], first[2], first[2])
		p.pass(time.Minute)
		refusals("late, but nobody else has it", []error{nil}, first[0])
		again := p.receive(subscription.ReceiveOptions{})
		if len(again) != 1 || again[0].Seq != 2 || again[0].Attempt != 2 {
			t.Errorf("after the lease: %+v", again)
		}
		refusals("somebody else has it", []error{subscription.ErrLost, nil, nil}, first[1], first[0], first[2])
		refusals("in time", []error{nil, nil}, again[0], again[0])
		if st := p.status(); st.Lag() != 0 || st.Handled() != 3 {
			t.Errorf("%+v", st)
		}
		for _, text := range []string{"", "x", first[0].Token + "x", first[0].Token[:20]} {
			refused, err := p.puller.Acknowledge(w.Context(), []string{text})
			if w.must(err); !errors.Is(refused[0], subscription.ErrToken) {
				t.Errorf("token %q: %v", text, refused[0])
			}
		}
	})
}

// A consumer that extends keeps its events. One that comes too late is told so.
func TestExtend(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.pull(rand.New(rand.NewPCG(1, 1)), 1, subscription.Settings{Attempts: 1})
		p.add(order(1), 3)
		got := p.receive(subscription.ReceiveOptions{Visible: 10 * time.Second})
		for range 5 {
			p.extend(got[1], 10*time.Second)
			p.pass(9 * time.Second)
			if more := p.receive(subscription.ReceiveOptions{}); len(more) > 0 {
				t.Fatalf("delivered in the extended time: %v", more)
			}
		}
		p.extend(got[0], time.Second) // is not shorter
		p.acknowledge(got[0])
		p.extend(got[0], time.Hour) // without effect
		p.pass(2 * time.Second)
		p.extend(got[2], time.Minute) // late, but nobody else has it
		p.pass(30 * time.Second)
		if more := p.receive(subscription.ReceiveOptions{}); len(more) > 0 {
			t.Errorf("delivered in the extended time: %v", more)
		}
		p.pass(time.Minute)
		p.receive(subscription.ReceiveOptions{}) // parks the first one that was not acknowledged, and the one behind it
		for i, want := range []error{nil, subscription.ErrLost, subscription.ErrLost, subscription.ErrToken} {
			token := "x"
			if i < len(got) {
				token = got[i].Token
			}
			refused, _, err := p.puller.Extend(w.Context(), []string{token}, time.Minute)
			if w.must(err); !errors.Is(refused[0], want) || want == nil && refused[0] != nil {
				t.Errorf("%d: %v, want %v", i, refused[0], want)
			}
		}
		for _, by := range []time.Duration{0, -time.Second, 13 * time.Hour} {
			if _, _, err := p.puller.Extend(w.Context(), []string{got[0].Token}, by); !errors.Is(err, subscription.ErrDefinition) {
				t.Errorf("%s: %v", by, err)
			}
		}
		_, err := subscription.Retry(w.Context(), w.store, "test")
		w.must(err)
		again := p.receive(subscription.ReceiveOptions{Visible: 10 * time.Second})
		if len(again) != 1 || !again[0].Parked {
			t.Fatalf("%+v", again)
		}
		p.extend(again[0], time.Minute)
		p.pass(50 * time.Second)
		if more := p.receive(subscription.ReceiveOptions{}); len(more) > 0 {
			t.Errorf("a parked event is delivered in the extended time: %v", more)
		}
		p.acknowledge(again[0])
	})
}

// An event that is rejected, or not acknowledged in time, is tried again, and parked after the last
// attempt. Those of other aggregates go on.
func TestRejectAndLapse(t *testing.T) {
	inWorld(t, func(w *world) {
		p := w.pull(rand.New(rand.NewPCG(1, 1)), 1, subscription.Settings{Attempts: 3, FirstDelay: time.Second, MaxDelay: time.Second})
		p.add(order(1), 2)
		p.add(order(2), 1)
		got := p.receive(subscription.ReceiveOptions{})
		p.reject(got[0], false)
		p.reject(got[0], false) // again, without effect
		p.acknowledge(got[2])
		if refused, err := p.puller.Acknowledge(w.Context(), []string{got[1].Token}); err != nil || !errors.Is(refused[0], subscription.ErrLost) {
			t.Errorf("an event behind a rejected one: %v, %v", refused, err)
		}
		p.pass(2 * time.Second)
		if got = p.receive(subscription.ReceiveOptions{Visible: time.Second}); len(got) != 2 || got[0].Attempt != 2 || got[1].Attempt != 1 {
			t.Errorf("rejected: %+v", got)
		}
		p.pass(time.Minute)
		if got = p.receive(subscription.ReceiveOptions{}); len(got) != 2 || got[0].Attempt != 3 {
			t.Errorf("not acknowledged: %+v", got)
		}
		p.reject(got[0], false)
		p.receive(subscription.ReceiveOptions{})
		parked, err := subscription.ParkedOf.Collect(w.Context(), w.table, subscription.Key{Name: "test"})
		if w.must(err); len(parked) != 2 || parked[0].Reason != "broken" || parked[0].Attempts != 3 || parked[1].Attempts != 0 {
			t.Errorf("parked: %+v", parked)
		}
		_, err = subscription.Retry(w.Context(), w.store, "test")
		w.must(err)
		if got = p.receive(subscription.ReceiveOptions{}); len(got) != 1 || !got[0].Parked || got[0].Attempt != 4 {
			t.Errorf("to be tried again: %+v", got)
		}
		p.drain()
	})
}

// Consumers that pull from many goroutines at a time handle everything, in order.
func TestPullConcurrently(t *testing.T) {
	seeds.Run(t, 10, func(t *testing.T, seed uint64) {
		inWorld(t, func(w *world) {
			r := rand.New(rand.NewPCG(seed, 3))
			p := w.pull(r, 4, subscription.Settings{Attempts: -1, FirstDelay: 100 * time.Millisecond, MaxDelay: time.Second})
			m := &model{TB: t, r: r, last: map[eventstore.ID]int64{}}
			ctx, stop := context.WithCancel(w.Context())
			var consumers sync.WaitGroup
			for range 6 {
				consumers.Go(func() { m.consume(ctx, w, p.puller) })
			}
			for range 100 {
				id := order(m.random(8))
				w.append(id, "A", "B")
				p.versions[id] += 2
				time.Sleep(time.Duration(m.random(300)) * time.Millisecond)
			}
			for range 60 {
				if st := w.status(); st.Lag() == 0 {
					break
				}
			}
			stop()
			consumers.Wait()
			for id, version := range p.versions {
				if m.last[id] != version {
					t.Errorf("%s: %d of %d events are handled", id, m.last[id], version)
				}
			}
		})
	})
}

// consume pulls events, and handles them as in the model. Sometimes it is slow, or forgets what it
// has received.
func (m *model) consume(ctx context.Context, w *world, shared *subscription.Puller) {
	for ctx.Err() == nil {
		puller, err := shared, error(nil)
		if m.random(2) == 0 {
			puller, err = subscription.Open(ctx, w.store, "test")
		}
		got := subscription.Received{}
		if err == nil {
			got, err = puller.Receive(ctx, subscription.ReceiveOptions{Events: 1 + m.random(10), Visible: 2 * time.Second})
		}
		if err != nil && ctx.Err() == nil {
			m.Error(err)
			return
		}
		time.Sleep(time.Duration(m.random(50)*m.random(60)) * time.Millisecond)
		for i := range got.Events {
			e := &got.Events[i]
			done, failed := m.handle(ctx, []eventstore.FeedEvent{e.FeedEvent})
			refused := failed
			if done == 1 {
				var all []error
				if all, err = puller.Acknowledge(ctx, []string{e.Token}); err == nil {
					refused = all[0]
				}
			} else {
				_, err = puller.Reject(ctx, e.Token, failed.Error(), false)
			}
			if err != nil && ctx.Err() == nil {
				m.Error(err)
				return
			}
			if refused != nil { // the later ones are delivered again
				break
			}
		}
	}
}

// drain handles everything.
func (p *pulled) drain() {
	p.Helper()
	for rounds := 0; ; rounds++ {
		p.pass(time.Minute)
		got := p.receive(subscription.ReceiveOptions{Events: 100})
		p.acknowledge(got...)
		if len(got) > 0 {
			continue
		}
		n, err := subscription.Retry(p.Context(), p.store, "test")
		p.must(err)
		if n == 0 {
			break
		}
		if rounds > 1000 {
			p.Fatal("parked events stay parked")
		}
	}
	for id, version := range p.versions {
		for seq := int64(1); seq <= version; seq++ {
			if k := (eventstore.EventKey{ID: id, Seq: seq}); !p.settled[k] {
				p.Errorf("%s %d is lost", id, seq)
			}
		}
	}
	p.pass(time.Minute)
	p.receive(subscription.ReceiveOptions{})
	if st := p.status(); st.Lag() != 0 || st.Parked() != 0 {
		p.Errorf("at the end: lag %d, %d parked: %+v", st.Lag(), st.Parked(), st.Partitions)
	}
}

// Settings are checked and kept, and belong to one kind of subscription.
func TestPulledSubscriptions(t *testing.T) {
	inWorld(t, func(w *world) {
		w.append(order(1), "A", "B")
		time.Sleep(time.Minute)
		for what, settings := range map[string]subscription.Settings{
			"an empty type": {EventTypes: []string{""}}, "many tags": {Tags: make([]string, 17)}, "delays": {FirstDelay: time.Hour, MaxDelay: time.Minute},
			"a long delay": {MaxDelay: 1000 * time.Hour}, "attempts": {Attempts: 1001},
		} {
			if _, err := subscription.Create(w.Context(), w.store, "test", 1, 0, settings); !errors.Is(err, subscription.ErrDefinition) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, after := range []int64{-1, 2} {
			if _, err := subscription.Create(w.Context(), w.store, "test", 1, after, subscription.Settings{}); !errors.Is(err, subscription.ErrDefinition) {
				t.Errorf("after %d: %v", after, err)
			}
		}
		only := subscription.Settings{EventTypes: []string{"B"}}
		for i, want := range []struct {
			settings subscription.Settings
			created  bool
			err      error
		}{{only, true, nil}, {only, false, nil}, {subscription.Settings{}, false, subscription.ErrExists}} {
			created, err := subscription.Create(w.Context(), w.store, "test", 1, subscription.FromEnd, want.settings)
			if created != want.created || !errors.Is(err, want.err) {
				t.Errorf("%d: %v, %v", i, created, err)
			}
		}
		p := w.pull(rand.New(rand.NewPCG(1, 1)), 1, only)
		w.append(order(2), "A", "B")
		p.pass(time.Second)
		r, err := p.puller.Receive(w.Context(), subscription.ReceiveOptions{})
		if w.must(err); len(r.Events) != 1 || r.Events[0].EventKey.ID != order(2) || r.Events[0].EventType != "B" {
			t.Errorf("%+v", r)
		}
		w.must(subscription.Reset(w.Context(), w.store, "test", 0))
		if r, err = p.puller.Receive(w.Context(), subscription.ReceiveOptions{}); err != nil || len(r.Events) != 2 {
			t.Errorf("reset: %+v, %v", r, err)
		}
		stop := w.run(subscription.Definition{Handle: subscription.Each(new(journal).handle)}, subscription.Options{})
		time.Sleep(time.Minute)
		if err := stop(); !errors.Is(err, subscription.ErrDefinition) {
			t.Errorf("a program runs it: %v", err)
		}
		w.must(subscription.Delete(w.Context(), w.store, "test"))
		if _, err := p.puller.Receive(w.Context(), subscription.ReceiveOptions{}); !errors.Is(err, subscription.ErrNotFound) {
			t.Errorf("deleted: %v", err)
		}
		stop = w.run(subscription.Definition{Handle: subscription.Each(new(journal).handle)}, subscription.Options{})
		time.Sleep(time.Minute)
		if _, err := subscription.Open(w.Context(), w.store, "test"); !errors.Is(err, subscription.ErrNotPulled) {
			t.Errorf("that of a program: %v", err)
		}
		w.must(stop())
	})
}
