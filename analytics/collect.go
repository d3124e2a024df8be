package analytics

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/onefold/onefold/table"
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
	Concurrency int // writes in flight at once, over all calls; default 128
	// Sleep waits before a request that was throttled is sent again, or returns the context's error; default: a timer.
	Sleep func(context.Context, time.Duration) error
}

// A Collector stores events. It keeps in memory what it needs of the sites that events come for: their settings for ten
// seconds, and the salts of their days. It is safe for concurrent use.
type Collector struct {
	t     *table.Table
	sites *siteCache
	retry throttled
	slots chan struct{} // taken by writes in flight
}

// NewCollector makes a Collector that stores in t.
func NewCollector(t *table.Table, o CollectorOptions) *Collector {
	if o.Concurrency <= 0 {
		o.Concurrency = 128
	}
	retry := throttled{o.Sleep}
	return &Collector{t: t, sites: newSiteCache(t, retry), retry: retry, slots: make(chan struct{}, o.Concurrency)}
}

// Forget makes the collector read a site's settings again before its next event.
func (c *Collector) Forget(siteID string) { c.sites.forget(siteID) }

// Ingest stores the events of a site, each once however often it is sent, and says of each what became of it, in order.
// When it returns, what is stored is durable. Errors: ErrUnknownSite; those of the store and of ctx, when not all
// outcomes are known.
func (c *Collector) Ingest(ctx context.Context, siteID string, hits []Hit) ([]Outcome, error) {
	s, err := c.sites.get(ctx, siteID)
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(hits))
	if len(hits) == 1 {
		return outcomes, c.ingest(ctx, s, &hits[0], &outcomes[0])
	}
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(len(hits), cap(c.slots)) {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(hits) {
					return nil
				}
				if err := c.ingest(ctx, s, &hits[i], &outcomes[i]); err != nil {
					return err
				}
			}
		})
	}
	return outcomes, g.Wait()
}

// ingest stores one event.
func (c *Collector) ingest(ctx context.Context, s *siteState, h *Hit, o *Outcome) error {
	e, at, refused := s.eventOf(h, c.t.Now())
	if refused != nil {
		*o = Outcome{EventID: h.EventID, Status: Rejected, Reason: refused.reason, Detail: refused.text}
		return nil
	}
	if err := s.addVisitor(ctx, c.t, h, &e, at); err != nil {
		return fmt.Errorf("analytics: ingest: %w", err)
	}
	err := c.create(ctx, &e)
	switch {
	case err == nil:
		*o = Outcome{EventID: e.EventID, Status: Stored}
	case errors.Is(err, table.ErrExists):
		*o = Outcome{EventID: e.EventID, Status: Duplicate}
	default:
		return fmt.Errorf("analytics: ingest: %w", err)
	}
	return nil
}

// create writes the event when there is a free slot.
func (c *Collector) create(ctx context.Context, e *Event) error {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return c.retry.do(ctx, func() error { return IngestEvent.Run(ctx, c.t, e) })
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
