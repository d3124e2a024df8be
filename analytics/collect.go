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

// Status is the outcome of a hit.
type Status string

const (
	Stored    Status = "stored"
	Duplicate Status = "duplicate" // already stored: equivalent to Stored
	Rejected  Status = "rejected"  // invalid: do not send it again
	Queued    Status = "queued"    // durable, and stored once the store is reachable; may turn out to be a duplicate
)

// Outcome is the result for one hit. If the store failed before it was known, it is empty: resend.
type Outcome struct {
	EventID string `json:"id,omitempty"`
	Status  Status `json:"status"`
	Reason  Reason `json:"reason,omitempty"` // set if Rejected
	Detail  string `json:"detail,omitempty"` // set if Rejected: an explanation for people
	// Warning is what is missing of an accepted event.
	Warning Warning `json:"warning,omitempty"`
}

// Warning is what is missing of an accepted event. The values are stable, so programs may compare them.
type Warning string

// NoExchangeRate means that revenue in another currency than the site's is stored but not counted.
const NoExchangeRate Warning = "no_exchange_rate"

// CollectorOptions configures a Collector. The zero value has good defaults.
type CollectorOptions struct {
	Concurrency int // concurrent requests of one Ingest; default 128. The embedded engine needs one
	// Sleep waits before a throttled request is retried; default: a timer. It may return ctx's
	// error.
	Sleep func(context.Context, time.Duration) error
	// Linger is how long a single event may be delayed so that others share its block. Default 0:
	// only while the store is busy with earlier events. The embedded engine never lingers.
	Linger time.Duration
	// Known is how many IDs of stored events are cached, at about 30 bytes each; default 2,000,000.
	// Spans that are not cached are read again.
	Known int
	// Spool keeps events while the store is unreachable, see Sinks. Default: such events fail.
	Spool *spool.Spool
}

// A Collector stores events. It caches site settings for ten seconds, and the salts of their days.
// It is safe for concurrent use.
type Collector struct {
	t      *table.Table
	sites  *siteCache
	retry  throttle.Retry
	atOnce int
	spare  sync.Pool // buffers of events, *[]Event
	known  knownEvents

	batcher groupcommit.Groups[Event, stored] // keyed by a hash of the site
	queue   *writebehind.Queue                // nil without a spool: events that cannot be stored are errors
}

// NewCollector returns a Collector that stores in t.
func NewCollector(t *table.Table, o CollectorOptions) *Collector {
	if o.Concurrency <= 0 {
		o.Concurrency = 128
	}
	retry := throttle.Retry{Sleep: o.Sleep}
	c := &Collector{t: t, sites: newSiteCache(t, retry), retry: retry, atOnce: o.Concurrency}
	c.known = newKnownEvents(t, c.sites, max(o.Known, 0))
	c.batcher = c.newBatcher(o.Linger)
	c.keepIn(o.Spool)
	return c
}

// Forget makes the collector read the site's settings again before its next event.
func (c *Collector) Forget(siteID string) { c.sites.forget(siteID) }

// Stored returns how many events the collector has stored since it was created.
func (c *Collector) Stored() int64 { return c.known.Stored() }

// Today returns the current day in a site's time zone. Errors: ErrUnknownSite.
func (c *Collector) Today(ctx context.Context, siteID string) (string, error) {
	s, err := c.sites.get(ctx, siteID)
	if err != nil {
		return "", err
	}
	return s.cal.Day(c.t.Now()), nil
}

// Ingest stores the events of a site and returns an outcome for each, in order. An event that is
// sent repeatedly is stored once. Stored events are durable when Ingest returns. Errors:
// ErrUnknownSite; those of the store and of ctx, if some outcomes are unknown.
//
// On a shared table, an event that another server may have stored, when the visitor had another
// address or user agent, counts once only if Resent is set or the site has one shard. It is then
// looked for in the store, in all shards.
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
		e, at, rejected := s.eventOf(&hits[i], now)
		if rejected != nil {
			outcomes[i] = Outcome{EventID: hits[i].EventID, Status: Rejected, Reason: rejected.reason, Detail: rejected.text}
			continue
		}
		s.stamp(&e)
		if err := s.addVisitor(ctx, c.t, &hits[i], &e, at); err != nil {
			return outcomes, fmt.Errorf("analytics: ingest: %w", err)
		}
		events, of = append(events, e), append(of, i)
	}
	events, of, err = c.withoutResent(ctx, s, hits, events, of, outcomes)
	if err != nil {
		return outcomes, fmt.Errorf("analytics: ingest: %w", err)
	}
	imported := len(hits) > 0 && hits[0].Imported
	if err := c.storeOrKeep(ctx, events, imported, func(i int, status Status) {
		outcomes[of[i]] = events[i].outcome(status)
	}); err != nil {
		return outcomes, fmt.Errorf("analytics: ingest: %w", err)
	}
	return outcomes, nil
}

// store writes the events that are not stored yet, in blocks, and reports each outcome to tell.
// Throttled blocks are retried. The first other error is returned after all blocks were tried.
func (c *Collector) store(ctx context.Context, events []Event, report func(i int, status Status)) error {
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
			report(i, Duplicate)
		}
		if err := c.storeNew(ctx, events, claim, report); err != nil {
			return err
		}
		if at, err = claim.Rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// storeNew stores the new events of a claim and ends the claim.
func (c *Collector) storeNew(ctx context.Context, events []Event, claim *known.Claim[spanAt], report func(i int, status Status)) error {
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
			case err == nil, errors.Is(err, table.ErrExists): // ErrExists: an earlier answer was lost; block IDs are unique
				for _, i := range blocks[n].of {
					stored[i] = true
					report(i, Stored)
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

// ContentID returns an event ID for something without one, such as a log line. It depends only on
// the time, the content, and the occurrence: an index from 0 among equal lines of that time. So
// repeated imports of a line yield the same ID.
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
