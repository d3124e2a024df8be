package telemetry

import (
	"context"
	"fmt"
)

// preview returns the outcomes of readings without storing them. imagined devices need not exist.
func (c *Collector) preview(ctx context.Context, in []Incoming, imagined map[string]*deviceState) ([]Outcome, error) {
	b := batch{outcomes: make([]Outcome, len(in))}
	now := c.t.Now()
	for i := range in {
		s, err := imagined[in[i].DeviceID], error(nil)
		if s == nil {
			s, err = c.devices.get(ctx, in[i].DeviceID)
		}
		if err != nil {
			return b.outcomes, fmt.Errorf("telemetry: preview: %w", err)
		}
		b.take(i, s, &in[i], now)
	}
	for n, i := range b.apartOf {
		b.outcomes[i] = Outcome{Status: Rejected, Reason: b.apart[n].Reason, Quarantined: true, At: b.apart[n].Claimed, Detail: keptApart}
	}
	c.clearReported(in, make([]Outcome, len(in)))
	if err := c.recognize(ctx, b.readings); err != nil {
		return b.outcomes, fmt.Errorf("telemetry: preview: %w", err)
	}
	there, err := c.store.Exist(ctx, b.readings)
	if err != nil {
		return b.outcomes, fmt.Errorf("telemetry: preview: %w", err)
	}
	for n := range b.readings {
		if err := b.became(n, nil); err != nil {
			return b.outcomes, err
		}
		if there[n] {
			b.outcomes[b.of[n]].Status = Duplicate
		}
	}
	b.addOmitted()
	return b.outcomes, nil
}

// recognize gives readings with known sequence numbers the times of their first copies.
func (c *Collector) recognize(ctx context.Context, all []Reading) error {
	var numbered []int
	for i := range all {
		if _, ok := sequenceOf(&all[i], c.t.Now()); ok {
			numbered = append(numbered, i)
		}
	}
	known, err := c.sequences(ctx, all, numbered)
	for _, i := range numbered {
		one, _ := sequenceOf(&all[i], c.t.Now())
		if found, ok := known[one.SequenceKey].Seen.Find(one.Seen[0]); ok && err == nil {
			err = c.move(ctx, &all[i], found.At)
		}
	}
	return err
}

// keptApart is the explanation for a quarantined reading.
const keptApart = "its time cannot be right, so the reading is quarantined and counts in no figure"
