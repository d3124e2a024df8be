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

// Incoming is a reading as a device sends it.
type Incoming struct {
	DeviceID string
	FleetID  string    // that the device must be of, or it is unknown; "": any
	At       time.Time // by the device's clock; zero: when it arrives
	Seq      *int64    // the number that the device gave the reading, 0 to 10¹²-1: one that comes again with it is the same
	Session  string    // of Seq: another begins whenever the device begins to count again, such as a number of its restarts
	// Nth is the number, from 0, of the reading among all that are the same in device, time and values, for who knows that
	// they are several: two rows of a file. Without it they are one that was sent twice.
	Nth    int
	Values Values
	// Tags are those of the reading, by name. Ingest makes them values or parts of the names of Values, as the fleet's PropertyTags
	// say, and leaves none.
	Tags map[string]string
	// Host is whose reading it is if its fleet has no device DeviceID, and HostTags are its tags then; "": nobody else's. What
	// Telegraf's inputs call a device may be a disk of the machine that they run on.
	Host     string
	HostTags map[string]string
	// Omitted are values that the sender's form cannot hold, such as a list. They are told of in the outcome.
	Omitted []Omitted
	Units   map[string]string // by metric, where the sender says them; another than the profile's is refused
	// Imported says that the reading is from the past: it is neither late nor too fast, and kept from now on.
	Imported bool
}

// OutcomeStatus says what became of a reading.
type OutcomeStatus string

// The statuses.
const (
	Stored     OutcomeStatus = "stored"
	Duplicate  OutcomeStatus = "duplicate" // it was there already: as good as stored
	StoredLate OutcomeStatus = "late"      // stored, later than its profile calls late
	Rejected   OutcomeStatus = "rejected"  // sending it again will not help, but for TooFast
	Queued     OutcomeStatus = "queued"    // durable, and stored when the store can be reached again
)

// Outcome says what became of one reading. It is empty if the store failed before that was decided: send it again.
type Outcome struct {
	Status      OutcomeStatus `json:"status"`
	Reason      Reason        `json:"reason,omitempty"`      // of Rejected
	Detail      string        `json:"detail,omitempty"`      // of Rejected, for people
	Quarantined bool          `json:"quarantined,omitempty"` // it is kept apart, to be looked at
	At          time.Time     `json:"at,omitzero"`           // the time that it is stored under
	// RetryAfter is when the next reading of the device will be taken, of TooFast.
	RetryAfter time.Duration `json:"-"`
	// Omitted are the values that were left out of a reading, of which the rest was taken.
	Omitted []Omitted `json:"omitted,omitempty"`
}

// CollectorOptions configure a Collector. The zero value has good defaults.
type CollectorOptions struct {
	Concurrency int // requests in flight at once for one Ingest; default 128. The embedded engine needs one
	// StatusEvery is how often a device's status follows its readings, at most; default a minute. Where writes are billed,
	// longer is cheaper; a device that sends more often is called offline three times as long after its last reading.
	StatusEvery time.Duration
	// Linger is how long a single reading may be held so that others of its fleet share its block; default 0: no longer than the store is
	// busy with those before it. Where writes are billed, longer is cheaper. The embedded engine never holds one for longer.
	Linger time.Duration
	// Spool keeps readings while the store cannot be reached; Collector.Sinks have to drain it. Default: they are refused then.
	Spool *spool.Spool
}

// A Collector stores readings. It keeps in memory what it needs of the devices that send: their settings for ten seconds,
// and how fast they were. It is safe for concurrent use.
type Collector struct {
	t       *table.Table
	devices *deviceCache
	store   *readings.Store
	atOnce  int

	together groupcommit.Groups[Reading, stored]

	queue, apart *writebehind.Queue // of readings, and of those that are kept apart; nil: what cannot be stored is refused
}

// NewCollector makes a Collector that stores in t.
func NewCollector(t *table.Table, o CollectorOptions) *Collector {
	if o.Concurrency <= 0 {
		o.Concurrency = 128
	}
	if o.StatusEvery <= 0 {
		o.StatusEvery = time.Minute
	}
	c := &Collector{t: t, devices: newDeviceCache(t), store: readings.NewStore(t, o.Concurrency), atOnce: o.Concurrency}
	c.devices.statusEvery = o.StatusEvery
	c.together = c.newTogether(o.Linger)
	c.keepIn(o.Spool)
	return c
}

// Forget makes the collector read a device's settings again before its next reading.
func (c *Collector) Forget(deviceID string) { c.devices.forget(deviceID) }

// Stored returns how many readings collectors of the table.Table have stored since the first was made.
func (c *Collector) Stored() int64 { return c.store.Stored() }

// Waiting is how many single readings wait to be stored together with others.
func (c *Collector) Waiting() int { return c.together.Waiting() }

// Ingest stores readings of any devices, each once however often it is sent, and says of each what became of it, in
// order. It changes in: readings that have tags get the names of their metrics, and those of a host its id. When it returns, what
// is stored is durable. Errors: those of the store and of ctx, when not all outcomes are known.
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
	c.untell(in, b.outcomes)
	b.tellOmitted()
	if err != nil {
		return b.outcomes, fmt.Errorf("telemetry: ingest: %w", err)
	}
	return b.outcomes, nil
}

// senderOf returns whose reading it is; nil if that is no device. last is whose the last one was.
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

// isOf reports whether the device is of a fleet; "" is any.
func (s *deviceState) isOf(fleetID string) bool { return fleetID == "" || fleetID == s.device.FleetID }

// batch is what one call of Ingest brings.
type batch struct {
	outcomes []Outcome
	readings []Reading
	of       []int // parallel to readings: the number of the outcome
	apart    []Quarantined
	apartOf  []int
	omitted  map[int][]Omitted // by the number of the outcome
}

// take decides on one reading. s is nil for a device that there is not.
func (b *batch) take(i int, s *deviceState, in *Incoming, now time.Time) {
	if s != nil {
		s.nameMetrics(in)
		in = b.fit(i, s, in)
	}
	r, excess, refused := s.readingOf(in, now)
	if refused == nil {
		b.omit(i, in.Omitted, excess)
		b.readings, b.of = append(b.readings, r), append(b.of, i)
		return
	}
	b.outcomes[i] = Outcome{Status: Rejected, Reason: refused.reason, Detail: refused.detail, RetryAfter: refused.after}
	if refused.reason == ClockAhead || refused.reason == ClockImplausible {
		b.apart = append(b.apart, Quarantined{
			QuarantineKey: QuarantineKey{in.DeviceID, in.At, r.Disc}, FleetID: s.device.FleetID, Arrived: now.UnixMilli(),
			Reason: refused.reason, Values: in.Values, ExpiresAt: now.Add(s.fleet.Retention.Raw()),
		})
		b.apartOf = append(b.apartOf, i)
		b.outcomes[i] = Outcome{} // until it is kept
	}
}

// quarantine keeps those readings apart whose time cannot be right.
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

// storeAll writes the readings of a batch, a single one together with those of other callers.
func (c *Collector) storeAll(ctx context.Context, b *batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.number(ctx, b.readings); err != nil {
		return err
	}
	if len(b.readings) == 1 {
		became := c.together.Do(ctx, b.readings[0].FleetID, b.readings[0])
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

// became notes what the store said of a reading, and returns what is no outcome.
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
	togetherMost = 256
	togetherRuns = 2                // of a group, so that one is prepared while another waits for the network
	togetherFor  = 30 * time.Second // how long storing one batch may take

	// separately is the number of groups into which single readings are divided by fleet where the store is behind a network. A fleet
	// whose partition is throttled delays only the fleets of its own group.
	separately = 64
)

// stored is what the store said of a reading.
type stored struct{ err error }

// newTogether makes of readings that come one by one, but at the same time, batches. They share blocks, and on the embedded engine a commit.
func (c *Collector) newTogether(linger time.Duration) groupcommit.Groups[Reading, stored] {
	groups, runs := separately, togetherRuns
	if _, embedded := c.t.API().(dynamo.Putter); embedded {
		groups, runs, linger = 1, 1, 0 // one commit at a time: two would be half as large, and cost a third more in all
	}
	return groupcommit.NewGroups(groups, togetherMost, runs, linger, c.storeTogether)
}

// storeTogether makes of readings that come one by one, but at the same time, a batch.
func (c *Collector) storeTogether(ctx context.Context, all []Reading) []stored {
	ctx, cancel := context.WithTimeout(ctx, togetherFor)
	defer cancel()
	became := make([]stored, len(all))
	for i, err := range c.store.Put(ctx, all) {
		became[i].err = err
	}
	return became
}
