package telemetry

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry/internal/dedup"
	"github.com/onefold/onefold/telemetry/internal/order"
	"github.com/onefold/onefold/telemetry/readings"
)

// numberedFor is how long a sequence number is remembered, from the arrival of its first reading.
const numberedFor = 7 * 24 * time.Hour

// SequenceKey names a sequence number of a device.
type SequenceKey struct {
	DeviceID string `dynamodbav:"deviceId"`
	Number   string `dynamodbav:"number"` // Disc of its readings
}

// Sequence records the times under which readings with one sequence number are stored.
//
// Invariant: it is written before these readings, and a reading is stored under its time in
// Sequence. So a reading that is sent again with another time, to another server or after a crash,
// finds the key of the first.
type Sequence struct {
	SequenceKey
	Seen      dedup.All `dynamodbav:"seen"`
	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"`
}

// Sequences holds the recent sequence numbers of devices.
var Sequences = table.Define[Sequence, SequenceKey]("telemetry.sequence", table.Def[Sequence]{
	PK: devicePK, SK: "SEQUENCE#{number}", Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole}},
	Example: exampleSequence,
	Doc:     "A sequence number of a device, and the times of the readings that have it.",
})

// FirstOfSequence creates a sequence number unless it exists.
var FirstOfSequence = table.NewCreate(Sequences, table.CreateDef{
	ID: "T20", Question: "store a reading's sequence number, before the reading",
	Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 110},
})

// sequenceOf returns the record of a reading's sequence number; ok is false if it has none.
func sequenceOf(r *Reading, now time.Time) (s Sequence, ok bool) {
	if order.Nth(r.Disc) == 0 {
		return s, false
	}
	seen := dedup.Reading{At: r.At.UnixMilli(), Sum: readings.Sum(r.Values)}
	return Sequence{SequenceKey{r.DeviceID, r.Disc}, dedup.All{seen}, now.Add(numberedFor)}, true
}

// number records sequence numbers. A reading with a known number gets the time of its first copy.
func (c *Collector) number(ctx context.Context, all []Reading) error {
	var fresh []Sequence
	var of, again []int
	met := map[SequenceKey]bool{}
	for i := range all {
		s, ok := sequenceOf(&all[i], c.t.Now())
		switch {
		case !ok:
		case met[s.SequenceKey]:
			again = append(again, i)
		default:
			met[s.SequenceKey] = true
			fresh, of = append(fresh, s), append(of, i)
		}
	}
	for n, err := range FirstOfSequence.RunMany(ctx, c.t, fresh, c.atOnce) {
		switch {
		case errors.Is(err, table.ErrExists):
			again = append(again, of[n])
		case err != nil:
			return err
		}
	}
	slices.Sort(again)
	return c.numberAgain(ctx, all, again)
}

// numberAgain looks up the times of readings with known numbers.
func (c *Collector) numberAgain(ctx context.Context, all []Reading, again []int) error {
	known, err := c.sequences(ctx, all, again)
	if err != nil {
		return err
	}
	for _, i := range again {
		r := &all[i]
		one, _ := sequenceOf(r, c.t.Now())
		found, ok := known[one.SequenceKey].Seen.Find(one.Seen[0])
		if !ok {
			s, err := Sequences.Modify(ctx, c.t, one.SequenceKey, func(s *Sequence) error {
				if found, ok = s.Seen.Find(one.Seen[0]); !ok {
					found, s.Seen, s.ExpiresAt = one.Seen[0], s.Seen.With(one.Seen[0]), one.ExpiresAt
				}
				return nil
			})
			if errors.Is(err, table.ErrNotFound) { // it has just expired
				err = c.number(ctx, all[i:i+1])
				found.At = r.At.UnixMilli()
			}
			if err != nil {
				return err
			}
			known[one.SequenceKey] = s
		}
		if err := c.move(ctx, r, found.At); err != nil {
			return err
		}
	}
	return nil
}

// sequences reads the records of some readings' numbers.
func (c *Collector) sequences(ctx context.Context, all []Reading, of []int) (map[SequenceKey]Sequence, error) {
	keys := make([]SequenceKey, len(of))
	for n, i := range of {
		keys[n] = SequenceKey{all[i].DeviceID, all[i].Disc}
	}
	found, err := Sequences.GetMany(ctx, c.t, keys)
	known := make(map[SequenceKey]Sequence, len(found))
	for _, s := range found {
		known[s.SequenceKey] = s
	}
	return known, err
}

// move gives a reading the time of its first copy. It is then not quiet, because the first copy may
// never have been stored.
func (c *Collector) move(ctx context.Context, r *Reading, ms int64) error {
	at := time.UnixMilli(ms).UTC()
	if r.At.Equal(at) {
		return nil
	}
	s, err := c.devices.get(ctx, r.DeviceID)
	if err != nil {
		return err
	}
	r.At, r.Quiet = at, false
	if s != nil {
		r.ZoneMinutes, r.Void = s.zone.Minutes(at), voidOf(s.retractions, r)
	}
	return nil
}

// createNumbered creates spooled readings; it is the Create of a later.Queue.
func (c *Collector) createNumbered(ctx context.Context, _ *table.Table, items []table.Item, _ int) []error {
	return c.store.PutItems(ctx, items, c.number)
}

// checkNumber validates a reading's sequence number and session.
func (in *Incoming) checkNumber() *rejection {
	switch {
	case in.Seq != nil && (*in.Seq < 0 || *in.Seq >= maxSeq):
		return reject(BadValue, "the sequence number %d is not between 0 and %d", *in.Seq, maxSeq-1)
	case in.Session != "" && in.Seq == nil:
		return reject(BadValue, "a session belongs to a sequence number, and the reading has none")
	case in.Session != "" && !dedup.ValidSession(in.Session):
		return reject(BadValue, "session %q: use 1 to %d letters, digits and . _ -", shorten(in.Session), dedup.MaxSession)
	}
	return nil
}

// discOf returns the part of the key that orders and distinguishes readings of one millisecond.
func discOf(in *Incoming) string {
	if in.Seq == nil {
		return readings.Unnumbered(in.Values, in.Nth)
	}
	return order.Numbered(*in.Seq, in.Session)
}
