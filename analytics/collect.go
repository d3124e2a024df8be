package analytics

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/onefold/onefold/analytics/internal/throttle"
	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/groupcommit"
	"github.com/onefold/onefold/internal/known"
	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/writebehind"
)

// ErrUnknownSite is returned when events are sent for a site that does not exist.
var ErrUnknownSite = errors.New("analytics: unknown site")

// Status says what became of a hit.
type Status string

// The statuses.
const (
	Stored    Status = "stored"
	Duplicate Status = "duplicate" // it was there already: as good as stored
	Rejected  Status = "rejected"  // sending it again will not help
	Queued    Status = "queued"    // durable, and stored when the store can be reached again; it may then turn out a duplicate
)

// Outcome says what became of one hit. It is empty if the store failed before that was decided: send it again.
type Outcome struct {
	EventID string `json:"id,omitempty"`
	Status  Status `json:"status"`
	Reason  Reason `json:"reason,omitempty"` // of Rejected
	Detail  string `json:"detail,omitempty"` // of Rejected, for people
}

// CollectorOptions configure a Collector. The zero value has good defaults.
type CollectorOptions struct {
	Concurrency int // requests in flight at once for one Ingest; default 128. The embedded engine needs one
	// Sleep waits before a request that was throttled is sent again, or returns the context's error; default: a timer.
	Sleep func(context.Context, time.Duration) error
	// Linger is how long a single event may be held so that others share its block; default 0: no longer than the store is busy with those
	// before it. The embedded engine never lingers.
	Linger time.Duration
	// Known is how many IDs of stored events are kept in memory, of some 30 bytes each; default 2,000,000. Those of other times are read again.
	Known int
	// Spool keeps events while the store cannot be reached; Collector.Sinks have to drain it. Default: they are refused then.
	Spool *spool.Spool
}

// A Collector stores events. It keeps in memory what it needs of the sites that events come for: their settings for ten
// seconds, and the salts of their days. It is safe for concurrent use.
type Collector struct {
	t      *table.Table
	sites  *siteCache
	retry  throttle.Retry
	atOnce int
	spare  sync.Pool // of buffers of events
	known  knownEvents

	together groupcommit.Groups[Event, stored] // of sites by their hash
	queue    *writebehind.Queue                // nil: what cannot be stored is refused
}

// NewCollector makes a Collector that stores in t.
func NewCollector(t *table.Table, o CollectorOptions) *Collector {
	if o.Concurrency <= 0 {
		o.Concurrency = 128
	}
	retry := throttle.Retry{Sleep: o.Sleep}
	c := &Collector{t: t, sites: newSiteCache(t, retry), retry: retry, atOnce: o.Concurrency}
	c.known = newKnownEvents(t, max(o.Known, 0))
	c.together = c.newTogether(o.Linger)
	c.keepIn(o.Spool)
	return c
}

// Forget makes the collector read a site's settings again before its next event.
func (c *Collector) Forget(siteID string) { c.sites.forget(siteID) }

// Stored returns how many events the collector has stored since it was made.
func (c *Collector) Stored() int64 { return c.known.Stored() }

// Today is the day that it is now at a site, in its time zone. Errors: ErrUnknownSite.
func (c *Collector) Today(ctx context.Context, siteID string) (string, error) {
	s, err := c.sites.get(ctx, siteID)
	if err != nil {
		return "", err
	}
	return s.cal.Day(c.t.Now()), nil
}

// Ingest stores the events of a site, each once however often it is sent, and says of each what became of it, in order.
// When it returns, what is stored is durable. Errors: ErrUnknownSite; those of the store and of ctx, when not all
// outcomes are known.
func (c *Collector) Ingest(ctx context.Context, siteID string, hits []Hit) ([]Outcome, error) {
	s, err := c.sites.get(ctx, siteID)
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(hits))
	buffer, _ := c.spare.Get().(*[]Event)
	if buffer == nil {
		buffer = new([]Event)
	}
	events, of := slices.Grow((*buffer)[:0], len(hits)), make([]int, 0, len(hits))
	defer func() {
		clear(events)
		*buffer = events
		c.spare.Put(buffer)
	}()
	now := c.t.Now()
	for i := range hits {
		e, at, refused := s.eventOf(&hits[i], now)
		if refused != nil {
			outcomes[i] = Outcome{EventID: hits[i].EventID, Status: Rejected, Reason: refused.reason, Detail: refused.text}
			continue
		}
		s.stamp(&e)
		if err := s.addVisitor(ctx, c.t, &hits[i], &e, at); err != nil {
			return outcomes, fmt.Errorf("analytics: ingest: %w", err)
		}
		events, of = append(events, e), append(of, i)
	}
	imported := len(hits) > 0 && hits[0].Imported
	if err := c.storeOrKeep(ctx, events, imported, func(i int, status Status) {
		outcomes[of[i]] = Outcome{EventID: events[i].EventID, Status: status}
	}); err != nil {
		return outcomes, fmt.Errorf("analytics: ingest: %w", err)
	}
	return outcomes, nil
}

// store writes those of the events that are not there, in blocks, and tells what became of each. Blocks that are throttled are sent
// again; the first error of another kind is returned after all others have been tried.
func (c *Collector) store(ctx context.Context, events []Event, tell func(i int, status Status)) error {
	at := make([]int, len(events))
	for i := range at {
		at[i] = i
	}
	for len(at) > 0 {
		claim, err := c.known.claim(ctx, events, at)
		if err != nil {
			return err
		}
		for _, i := range claim.Known {
			tell(i, Duplicate)
		}
		if err := c.storeNew(ctx, events, claim, tell); err != nil {
			return err
		}
		if at, err = claim.Rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// storeNew stores what is new of a claim, and ends it.
func (c *Collector) storeNew(ctx context.Context, events []Event, claim *known.Claim[spanAt], tell func(i int, status Status)) error {
	stored := make(map[int]bool, len(claim.Fresh))
	defer claim.End(func(i int) bool { return stored[i] })
	blocks, err := pack(events, claim.Fresh, c.t.Now())
	if err != nil || len(blocks) == 0 {
		return err
	}
	return c.retry.Do(ctx, func() error {
		batch := make([]Block, len(blocks))
		for i := range blocks {
			batch[i] = blocks[i].Block
		}
		var throttled []packed
		var slow, failed error
		for n, err := range StoreEvents.RunMany(ctx, c.t, batch, c.atOnce) {
			switch {
			case err == nil, errors.Is(err, table.ErrExists): // it exists if an answer was lost: nobody else has its ID
				for _, i := range blocks[n].of {
					stored[i] = true
					tell(i, Stored)
				}
			case dynamo.IsThrottle(err):
				throttled, slow = append(throttled, blocks[n]), err
			case failed == nil:
				failed = err
			}
		}
		blocks = throttled
		return cmp.Or(failed, slow)
	})
}

// ContentID makes the event id of something that has none, such as a line of a log: of its time, its content, and its
// number, from 0, among all with the same time and content. So it is the same whenever it is imported.
func ContentID(at time.Time, content []byte, occurrence int) string {
	h := sha256.New()
	h.Write(content)
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(occurrence))
	h.Write(n[:])
	sum := h.Sum(nil)
	id := newULID(uint64(max(at.UnixMilli(), 0)), binary.BigEndian.Uint64(sum), binary.BigEndian.Uint16(sum[8:]))
	return id.String()
}
