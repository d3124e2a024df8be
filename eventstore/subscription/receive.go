package subscription

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
)

// ReceiveOptions bounds a delivery.
type ReceiveOptions struct {
	Events   int           // at most this many events, 1 to 100; default 10
	Bytes    int           // at most this many bytes of payloads, up to 4 MB, which is the default; the first event may exceed it
	Visible  time.Duration // lease: how long until unacknowledged events are delivered again, 1 s to 12 h; default 30 s
	Consumer string        // shown as Partition.Owner, at most 128 bytes
}

// Limits of a delivery.
const (
	MaxPulled   = 100 // events
	maxBytes    = 4 << 20
	MaxVisible  = 12 * time.Hour
	maxConsumer = 128
	maxWindow   = 300  // events in the window of a partition
	maxParked   = 1000 // parked events of a partition
	parkAtOnce  = 40   // events parked in a transaction
	scanAtOnce  = 25   // appends read at once at first, because each may have 4 MB
	scanMost    = 100
	scanPages   = 20 // pages read before the progress is recorded
)

func (a ReceiveOptions) withDefaults() (ReceiveOptions, error) {
	if a.Events == 0 {
		a.Events = 10
	}
	if a.Bytes == 0 {
		a.Bytes = maxBytes
	}
	if a.Visible == 0 {
		a.Visible = 30 * time.Second
	}
	if a.Events < 1 || a.Events > MaxPulled || a.Bytes < 1 || a.Bytes > maxBytes || a.Visible < time.Second || a.Visible > MaxVisible || len(a.Consumer) > maxConsumer {
		return a, fmt.Errorf("%w: ask for 1 to %d events, 1 to %d bytes and a visibility time of 1 s to 12 h, with a consumer's name of at most %d bytes", ErrDefinition, MaxPulled, maxBytes, maxConsumer)
	}
	return a, nil
}

// Delivered is an event for a consumer.
type Delivered struct {
	eventstore.FeedEvent
	Token     string // for Acknowledge and Reject
	Partition int
	Attempt   int  // number of this attempt, from 1
	Parked    bool // it was parked, and is retried on request
}

// Received are events for a consumer. Those of an aggregate are in order.
type Received struct {
	Events []Delivered
	Until  time.Time // when those that were not acknowledged may be delivered again
}

// scanned is how far a partition was read without finding events.
type scanned struct {
	turn, rev, requests, through int64
}

// noteScanned remembers that a partition has no events up to a position.
func (q *Puller) noteScanned(p *Partition, through int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.scanned[p.Partition] = scanned{p.Turn, p.Rev, p.Requests, through}
}

// scannedThrough returns the position up to which a partition has no events, 0 if that is not known.
func (q *Puller) scannedThrough(p *Partition) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s := q.scanned[p.Partition]; s.turn == p.Turn && s.rev == p.Rev && s.requests == p.Requests {
		return s.through
	}
	return 0
}

// Receive delivers events of partitions that no other consumer has. An event is delivered after each
// earlier event of its aggregate was acknowledged or parked, or together with it. Receive does not
// wait for events. Errors: ErrDefinition, ErrNotFound, those of the store.
func (q *Puller) Receive(ctx context.Context, ask ReceiveOptions) (r Received, err error) {
	ask, err = ask.withDefaults()
	if err != nil {
		return r, err
	}
	partitions, err := q.partitions(ctx)
	if err != nil {
		return r, err
	}
	r.Until = q.t.Now().Add(ask.Visible).UTC()
	begin := rand.IntN(len(partitions)) // so that consumers begin with different ones
	for i := range partitions {
		for again := true; again && ask.Events > 0 && ask.Bytes > 0; {
			g := gathering{q: q, ask: &ask, until: r.Until, given: len(r.Events) > 0, change: change{was: partitions[(begin+i)%len(partitions)]}}
			again, err = g.take(ctx)
			if err != nil && len(r.Events) > 0 { // those are leased
				return r, nil
			}
			if err != nil {
				return r, fmt.Errorf("subscription %s: receive: %w", q.record.Name, err)
			}
			partitions[(begin+i)%len(partitions)] = g.next
			r.Events = append(r.Events, g.out...)
		}
	}
	return r, nil
}

// partitions returns all partitions; Turn is 0 for those that were never begun.
func (q *Puller) partitions(ctx context.Context) ([]Partition, error) {
	now, err := Records.Get(ctx, q.t, q.record.Key)
	if err == nil && !now.CreatedAt.Equal(q.record.CreatedAt) {
		err = table.ErrNotFound
	}
	if err != nil {
		return nil, notFound(q.record.Name, err)
	}
	all := make([]Partition, q.record.Partitions)
	for i := range all {
		all[i] = Partition{PartitionKey: PartitionKey{q.record.Name, i}, Position: q.record.Start}
	}
	for p, err := range PartitionsOf.All(ctx, q.t, q.record.Key) {
		if err != nil {
			return nil, fmt.Errorf("subscription %s: %w", q.record.Name, err)
		}
		if p.Partition < len(all) {
			all[p.Partition] = p
		}
	}
	return all, nil
}

// gathering collects the events of a partition for a consumer.
type gathering struct {
	change
	q       *Puller
	ask     *ReceiveOptions // what may still be delivered
	until   time.Time
	given   bool // the consumer gets events already
	out     []Delivered
	parked  parkedSet
	old     map[string]Slot // slots by event
	first   map[eventstore.ID]int
	through int64
	left    int // old slots that were not seen yet
	lapsed  bool
	full    bool // nothing more may be delivered
	partial bool // there is more to read now
}

// take leases the partition if it has events that may be delivered. again is true if it is to be
// called once more, because it has made progress without a delivery.
func (g *gathering) take(ctx context.Context) (again bool, err error) {
	if g.next = g.was; g.was.leased(g.q.t.Now()) {
		return false, nil
	}
	g.next.Window, g.next.Retrying = nil, nil
	var parked []Parked
	if g.was.Parked > 0 || g.was.Requests != g.was.Seen {
		if parked, err = parkedIn.Collect(ctx, g.q.t, g.was.PartitionKey); err != nil {
			return false, err
		}
	}
	for i := range parked {
		g.parked.add(parked[i].EventKey)
	}
	g.next.Parked, g.next.Seen = g.parked.n, g.was.Requests
	if err := g.lapse(ctx, parked); err != nil {
		return false, err
	}
	if err := g.retry(ctx, parked); err != nil {
		return false, err
	}
	if len(g.out) > 0 {
		g.next.Window, g.through = g.withdrawn(), g.was.Through
		return false, g.lease(ctx)
	}
	if err := g.scan(ctx); err != nil {
		return false, err
	}
	return g.partial && len(g.out) == 0, g.lease(ctx)
}

// errLapsed is the reason of events that a consumer did not acknowledge in time.
var errLapsed = errors.New("the consumer did not acknowledge the event within its visibility time")

// lapse counts a failed attempt of the first event that was not acknowledged in time: the consumer
// may have ended at it. A parked event that was to be tried again stays parked.
func (g *gathering) lapse(ctx context.Context, parked []Parked) error {
	g.old = make(map[string]Slot, len(g.was.Window))
	for _, s := range g.was.Window {
		if s.State == SlotOut && !g.lapsed {
			g.lapsed = true
			s.Failures++
			g.next.Failures, g.next.Error = s.Failures, Reason(errLapsed)
		}
		g.old[s.EventID] = s
		if s.Position > g.was.Position {
			g.left++
		}
	}
	for _, s := range g.was.Retrying {
		if s.State != SlotOut {
			continue
		}
		g.lapsed = true
		for i := range parked {
			if p := &parked[i]; p.EventID == s.EventID {
				if err := g.q.failParked(ctx, p, errLapsed); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// withdrawn returns the window without the lapsed lease, for a lease of parked events: the events are
// delivered again as soon as those are settled.
func (g *gathering) withdrawn() []Slot {
	window := slices.Clone(g.was.Window)
	for i, s := range window {
		if window[i] = g.old[s.EventID]; s.State == SlotOut {
			window[i].State = SlotRejected
		}
	}
	return window
}

// failParked records that a parked event could not be handled.
func (q *Puller) failParked(ctx context.Context, p *Parked, reason error) error {
	p.Reason, p.Attempts, p.Retry = Reason(reason), p.Attempts+1, false
	err := ParkedEvents.Put(ctx, q.t, p, table.Present())
	if errors.Is(err, table.ErrCondition) { // discarded in the meantime
		return nil
	}
	return err
}

// retry delivers the first parked event of each aggregate that is to be retried.
func (g *gathering) retry(ctx context.Context, parked []Parked) error {
	seen := map[eventstore.ID]bool{}
	for i := range parked {
		p := &parked[i]
		if first := !seen[p.EventKey.ID]; !first || !p.Retry {
			seen[p.EventKey.ID] = true
			continue
		}
		seen[p.EventKey.ID] = true
		e, err := readParked(ctx, g.q.s, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if err := g.q.failParked(ctx, p, err); err != nil {
				return err
			}
			continue
		}
		if !g.room(&e) {
			break
		}
		g.next.Retrying = append(g.next.Retrying, Slot{EventID: e.EventID, Position: e.Position, First: len(g.next.Retrying)})
		g.deliver(&e, p.Attempts+1, true)
	}
	return nil
}

// scan reads the feed after the position.
func (g *gathering) scan(ctx context.Context) error {
	g.first = map[eventstore.ID]int{}
	after := g.was.Position
	if len(g.was.Window) == 0 {
		after = max(after, g.q.scannedThrough(&g.was))
	}
	only := g.q.record.Pulled.only(g.was.Partition, g.q.record.Partitions)
	atOnce := min(g.ask.Events, scanAtOnce)
	for pages := 0; pages < scanPages || g.left > 0; pages++ {
		page, err := g.q.s.FeedPage(ctx, after, atOnce, only...)
		if err != nil {
			return err
		}
		for i := range page.Events {
			if !g.add(&page.Events[i]) {
				g.through = page.Events[i].Position - 1
				return nil
			}
		}
		after = page.Through
		if g.through = after; page.Tip || g.left <= 0 && (g.full || g.ask.Events == 0 || g.ask.Bytes <= 0) {
			return nil
		}
		atOnce = min(2*atOnce, scanMost)
	}
	g.partial = true
	return nil
}

// add adds an event to the window, and delivers or parks it if it is not done. It returns false if
// the window ends before it.
func (g *gathering) add(e *eventstore.FeedEvent) bool {
	s, known := g.old[e.EventID]
	if len(g.next.Window) >= maxWindow {
		return false
	}
	if known {
		g.left--
	}
	s.EventID, s.Position = e.EventID, e.Position
	if s.State = g.place(e, &s); s.State == SlotRejected {
		if g.full = true; !known {
			return false
		}
	}
	if _, known := g.first[e.EventKey.ID]; !known {
		g.first[e.EventKey.ID] = len(g.next.Window)
	}
	s.First = g.first[e.EventKey.ID]
	g.next.Window = append(g.next.Window, s)
	return true
}

// place delivers or parks an event if it is not done, and returns its new state: SlotRejected if it
// must wait, and the later ones with it.
func (g *gathering) place(e *eventstore.FeedEvent, s *Slot) SlotState {
	poison := s.Failures > 0 && !g.q.record.Pulled.mayFail(s.Failures)
	switch {
	case s.State == SlotDone || g.parked.has(e.EventKey):
		return SlotDone
	case g.parked.waits(e):
		if g.parkEvent(e, "", 0) {
			return SlotDone
		}
		return SlotRejected
	case poison && g.parkEvent(e, g.next.Error, s.Failures):
		return SlotDone
	case g.full || !g.room(e):
		return SlotRejected
	}
	g.deliver(e, s.Failures+1, false)
	return SlotOut
}

// room reports whether an event may be delivered. The first one always may.
func (g *gathering) room(e *eventstore.FeedEvent) bool {
	return g.ask.Events > 0 && (len(e.Payload) <= g.ask.Bytes || !g.given && len(g.out) == 0)
}

func (g *gathering) deliver(e *eventstore.FeedEvent, attempt int, parked bool) {
	g.ask.Events, g.ask.Bytes = g.ask.Events-1, g.ask.Bytes-len(e.Payload)
	g.out = append(g.out, Delivered{FeedEvent: *e, Partition: g.was.Partition, Attempt: attempt, Parked: parked})
}

// parkEvent parks an event. It returns false if there is no room.
func (g *gathering) parkEvent(e *eventstore.FeedEvent, reason string, attempts int) bool {
	if len(g.park) >= parkAtOnce {
		g.partial = true
		return false
	}
	if g.parked.n >= maxParked {
		g.next.Error = Reason(ErrFull)
		return false
	}
	key := ParkedKey{Name: g.q.record.Name, Partition: g.was.Partition, Position: e.Position, EventKey: e.EventKey}
	g.park = append(g.park, Parked{ParkedKey: key, EventID: e.EventID, EventType: e.EventType, Reason: reason, Attempts: attempts, ParkedAt: g.q.t.Now().UTC()})
	g.parked.add(e.EventKey)
	g.next.Parked = g.parked.n
	return true
}

// lease records what was gathered. If another consumer was faster, nothing is delivered.
func (g *gathering) lease(ctx context.Context) error {
	g.next.Through = g.through
	if g.was.Turn == 0 {
		g.next.Turn = 1
	}
	if len(g.out) > 0 {
		g.next.Turn, g.next.Until, g.next.Owner = g.was.Turn+1, g.until, g.ask.Consumer
	}
	if g.next.settle(); len(g.out) == 0 && !g.matters() {
		g.q.noteScanned(&g.was, g.through)
		g.next = g.was
		return nil
	}
	err := g.q.save(ctx, &g.change)
	if err != nil {
		g.ask.Events += len(g.out)
		g.out, g.partial, g.next = nil, false, g.was
	}
	if errors.Is(err, errStale) {
		return nil
	}
	for i := range g.out {
		e := &g.out[i]
		k := token{g.q.record.CreatedAt.UnixNano(), g.was.Partition, g.next.Turn, e.Parked, e.Position, e.EventKey, e.EventID, e.EventType}
		e.Token = k.seal(g.q.t, g.q.record.Name)
	}
	return err
}

// matters reports whether progress without a delivery is worth a write.
func (g *gathering) matters() bool {
	n, was := &g.next, &g.was
	return g.lapsed || len(g.park) > 0 || n.Parked != was.Parked || n.Seen != was.Seen || n.Error != was.Error ||
		n.Position-was.Position >= 500 || n.Position > was.Position && g.q.t.Now().Sub(was.UpdatedAt) >= lookEvery
}
