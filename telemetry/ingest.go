package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/internal/groupcommit"
	"github.com/onefold/onefold/internal/spool"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/table/writebehind"
	"github.com/onefold/onefold/telemetry/readings"
)

// Incoming is a reading as sent by a device.
type Incoming struct {
	DeviceID string
	FleetID  string    // fleet that the device must belong to, or it is unknown; "": any
	At       time.Time // by the device's clock; zero: time of arrival
	Seq      *int64    // sequence number of the device, 0 to 10¹²-1: a repetition is the same reading
	Session  string    // of Seq: changes whenever the device restarts its numbering, such as a boot count
	// Nth numbers equal readings (device, time and values) from 0, if the sender knows that they
	// are distinct, such as rows of a file. Without it, equal readings count as one.
	Nth    int
	Values Values
	// Tags are the tags of the reading by name. Ingest turns them into values or parts of metric
	// names, as the fleet's PropertyTags say, and clears them.
	Tags map[string]string
	// Host is the device of the reading if the fleet has no DeviceID, with HostTags as its tags;
	// "": none. Telegraf's inputs may name a disk of the machine as the device.
	Host     string
	HostTags map[string]string
	// Omitted are values that the sender's format cannot express, such as lists; see Outcome.
	Omitted []Omitted
	Units   map[string]string // by metric, if sent; a unit that differs from the profile's is rejected
	// Imported marks a past reading: never late or too fast, and kept from now on.
	Imported bool
}

// OutcomeStatus is the result for a reading.
type OutcomeStatus string

// The outcomes.
const (
	Stored     OutcomeStatus = "stored"
	Duplicate  OutcomeStatus = "duplicate" // already stored: equivalent to Stored
	StoredLate OutcomeStatus = "late"      // stored, but late by the device's profile
	Rejected   OutcomeStatus = "rejected"  // do not send it again, except after TooFast
	Queued     OutcomeStatus = "queued"    // durable, and stored once the store is reachable
)

// Outcome is the result for one reading. If the store failed before it was known, it is empty.
type Outcome struct {
	Status      OutcomeStatus `json:"status"`
	Reason      Reason        `json:"reason,omitempty"`      // if Rejected
	Detail      string        `json:"detail,omitempty"`      // if Rejected: an explanation for people
	Quarantined bool          `json:"quarantined,omitempty"` // the reading is in quarantine
	At          time.Time     `json:"at,omitzero"`           // time under which it is stored
	// RetryAfter is when the device may send again, after TooFast.
	RetryAfter time.Duration `json:"-"`
	// Omitted are the values left out of an otherwise accepted reading.
	Omitted []Omitted `json:"omitted,omitempty"`
}

// CollectorOptions configures a Collector. The zero value has good defaults.
type CollectorOptions struct {
	Concurrency int // concurrent requests of one Ingest; default 128. The embedded engine needs one
	// StatusEvery is the minimum time between two updates of a device's status (default: 1 minute).
	// A longer time saves writes, but delays detection: a device that sends more often than this is
	// considered offline only after three times StatusEvery.
	StatusEvery time.Duration
	// Linger is how long a single reading may wait for others of its fleet, to share a block with
	// them. A longer time saves writes. With 0, the default, readings share blocks only while the
	// store is busy. The embedded engine ignores Linger.
	Linger time.Duration
	// Spool keeps readings while the store is unreachable, see Sinks. Default: such readings fail.
	Spool *spool.Spool
}

// A Collector stores readings. It caches settings of devices for ten seconds, and their rates. It
// is safe for concurrent use.
type Collector struct {
	t       *table.Table
	devices *deviceCache
	store   *readings.Store
	atOnce  int

	batcher groupcommit.Groups[Reading, stored]

	queue, apart *writebehind.Queue // for readings and quarantine; nil without a spool: failures are returned
}

// NewCollector returns a Collector that stores in t.
func NewCollector(t *table.Table, o CollectorOptions) *Collector {
	if o.Concurrency <= 0 {
		o.Concurrency = 128
	}
	if o.StatusEvery <= 0 {
		o.StatusEvery = time.Minute
	}
	c := &Collector{t: t, devices: newDeviceCache(t), store: readings.NewStore(t, o.Concurrency), atOnce: o.Concurrency}
	c.devices.statusEvery = o.StatusEvery
	c.batcher = c.newBatcher(o.Linger)
	c.keepIn(o.Spool)
	return c
}

// Forget makes the collector read a device's settings again before its next reading.
func (c *Collector) Forget(deviceID string) { c.devices.forget(deviceID) }

// Stored returns how many readings all collectors of this table.Table have stored.
func (c *Collector) Stored() int64 { return c.store.Stored() }

// Waiting returns how many single readings are waiting to be batched.
func (c *Collector) Waiting() int { return c.batcher.Waiting() }

// Ingest stores readings of any devices and returns an outcome for each, in order. A reading that
// is sent repeatedly is stored once. Ingest modifies in: tags are resolved, and hosts replace
// device IDs. Stored readings are durable when it returns. Errors: those of the store and of ctx,
// if some outcomes are unknown.
func (c *Collector) Ingest(ctx context.Context, in []Incoming) ([]Outcome, error) {
	b := batch{outcomes: make([]Outcome, len(in)), readings: make([]Reading, 0, len(in)), of: make([]int, 0, len(in))}
	now := c.t.Now()
	var s *deviceState
	for i := range in {
		var err error
		if s, err = c.senderOf(ctx, &in[i], s); err != nil {
			return b.outcomes, fmt.Errorf("telemetry: ingest: %w", err)
		}
		b.take(i, s, &in[i], now)
	}
	err := c.storeOrKeep(ctx, &b, len(in) > 0 && in[0].Imported)
	c.clearReported(in, b.outcomes)
	b.addOmitted()
	if err != nil {
		return b.outcomes, fmt.Errorf("telemetry: ingest: %w", err)
	}
	return b.outcomes, nil
}

// senderOf returns the device of a reading, nil if unknown. last is the previous reading's device.
func (c *Collector) senderOf(ctx context.Context, in *Incoming, last *deviceState) (*deviceState, error) {
	s, err := last, error(nil)
	if s == nil || s.device.DeviceID != in.DeviceID {
		if s, err = c.devices.get(ctx, in.DeviceID); err != nil {
			return nil, err
		}
	}
	if in.Host == "" || s != nil && s.isOf(in.FleetID) {
		return s, nil
	}
	host, err := c.devices.get(ctx, in.Host)
	if err != nil || host == nil || !host.isOf(in.FleetID) {
		return s, err
	}
	in.DeviceID, in.Tags, in.Host, in.HostTags = in.Host, in.HostTags, "", nil
	return host, nil
}

func (s *deviceState) isOf(fleetID string) bool { return fleetID == "" || fleetID == s.device.FleetID }

// batch is the input of one Ingest, with its outcomes.
type batch struct {
	outcomes []Outcome
	readings []Reading
	of       []int // index of the outcome, parallel to readings
	apart    []Quarantined
	apartOf  []int
	omitted  map[int][]Omitted // by index of the outcome
}

// take classifies one reading. s is nil for an unknown device.
func (b *batch) take(i int, s *deviceState, in *Incoming, now time.Time) {
	if s != nil {
		s.nameMetrics(in)
		in = b.fit(i, s, in)
	}
	r, excess, rejected := s.readingOf(in, now)
	if rejected == nil {
		b.omit(i, in.Omitted, excess)
		b.readings, b.of = append(b.readings, r), append(b.of, i)
		return
	}
	b.outcomes[i] = Outcome{Status: Rejected, Reason: rejected.reason, Detail: rejected.detail, RetryAfter: rejected.after}
	if rejected.reason == ClockAhead || rejected.reason == ClockImplausible {
		b.apart = append(b.apart, Quarantined{
			QuarantineKey: QuarantineKey{in.DeviceID, in.At, r.Disc}, FleetID: s.device.FleetID, Arrived: now.UnixMilli(),
			Reason: rejected.reason, Values: in.Values, ExpiresAt: now.Add(s.fleet.Retention.Raw()),
		})
		b.apartOf = append(b.apartOf, i)
		b.outcomes[i] = Outcome{} // until it is in quarantine
	}
}

// quarantine stores the readings with impossible times.
func (c *Collector) quarantine(ctx context.Context, b *batch) error {
	if len(b.apart) == 0 {
		return nil
	}
	var failed error
	for n, err := range Quarantine.CreateMany(ctx, c.t, b.apart, c.atOnce) {
		switch q := &b.apart[n]; {
		case err == nil || errors.Is(err, table.ErrExists):
			b.outcomes[b.apartOf[n]] = q.outcome()
		default:
			failed = err
		}
	}
	return failed
}

// storeAll writes the readings of a batch. A single reading is batched with those of other callers.
func (c *Collector) storeAll(ctx context.Context, b *batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.number(ctx, b.readings); err != nil {
		return err
	}
	if len(b.readings) == 1 {
		became := c.batcher.Do(ctx, b.readings[0].FleetID, b.readings[0])
		return b.became(0, became.err)
	}
	var failed error
	for n, err := range c.store.Put(ctx, b.readings) {
		if err := b.became(n, err); err != nil && failed == nil {
			failed = err
		}
	}
	return failed
}

// became converts the store's result for a reading into an outcome, or returns the error.
func (b *batch) became(n int, err error) error {
	r := &b.readings[n]
	o := Outcome{Status: Stored, At: r.At}
	switch {
	case errors.Is(err, table.ErrExists):
		o.Status = Duplicate
	case errors.Is(err, table.ErrTooLarge):
		o = Outcome{Status: Rejected, Reason: TooLarge, Detail: "the reading is too large"}
	case err != nil:
		return err
	case r.Late:
		o.Status = StoredLate
	}
	b.outcomes[b.of[n]] = o
	return nil
}

const (
	batchMost    = 256
	batchRuns    = 2                // per group: one batch is prepared while another waits for the network
	batchTimeout = 30 * time.Second // time limit for storing one batch

	// separately is the number of groups of single readings on a networked store. Fleets are
	// assigned by hash, so a throttled partition delays only the fleets of its own group.
	separately = 64
)

type stored struct{ err error }

// newBatcher returns groups that batch concurrent single readings into shared blocks and commits.
func (c *Collector) newBatcher(linger time.Duration) groupcommit.Groups[Reading, stored] {
	groups, runs := separately, batchRuns
	if _, embedded := c.t.API().(dynamo.Putter); embedded {
		groups, runs, linger = 1, 1, 0 // one commit at a time: two would be half as large and cost a third more in total
	}
	return groupcommit.NewGroups(groups, batchMost, runs, linger, c.storeBatch)
}

func (c *Collector) storeBatch(ctx context.Context, all []Reading) []stored {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	became := make([]stored, len(all))
	for i, err := range c.store.Put(ctx, all) {
		became[i].err = err
	}
	return became
}
