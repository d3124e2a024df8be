package subscription

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
)

// Extend sets the visibility time of deliveries to end no earlier than a time from now, 1 s to 12 h, so
// that a consumer can work for longer. It never shortens the visibility time, and can be called
// repeatedly. All deliveries of a partition share one lease, so extending one extends the others.
//
// Each token has its own error: ErrToken, ErrLost or nil. It is nil if the event was acknowledged, and
// ErrLost if the event was parked. After the visibility time, a token can still be extended until the
// event is delivered again. Errors: ErrDefinition, those of the store.
func (q *Puller) Extend(ctx context.Context, tokens []string, by time.Duration) (refused []error, until time.Time, err error) {
	if by < time.Second || by > MaxVisible {
		return nil, until, fmt.Errorf("%w: extend the visibility time by 1 s to 12 h", ErrDefinition)
	}
	until = q.t.Now().Add(by).UTC()
	refused = make([]error, len(tokens))
	keys, parts := make([]token, len(tokens)), map[int][]int{}
	for i, text := range tokens {
		if keys[i], refused[i] = q.open(text); refused[i] == nil {
			parts[keys[i].partition] = append(parts[keys[i].partition], i)
		}
	}
	for partition, all := range parts {
		err = q.modify(ctx, partition, func(c *change) (_ []func(*table.Tx), err error) {
			held := false
			for _, i := range all {
				is, lost := c.next.holds(&keys[i])
				if held, refused[i] = held || is, lost; is || lost != nil || c.was.Parked == 0 || keys[i].parked {
					continue
				}
				if refused[i], err = q.lostToParking(ctx, &keys[i]); err != nil {
					return nil, err
				}
			}
			if !held || !until.After(c.was.Until) {
				return nil, errNothing
			}
			c.next.Until = until
			return nil, nil
		})
		if err != nil {
			return nil, until, fmt.Errorf("subscription %s: extend: %w", q.record.Name, err)
		}
	}
	return refused, until, nil
}

// holds reports whether the consumer with a token still has the event. Errors: ErrLost, unless the
// event is done.
func (p *Partition) holds(k *token) (bool, error) {
	slots := p.Window
	if k.parked {
		slots = p.Retrying
	}
	at := slices.IndexFunc(slots, k.is)
	switch {
	case at >= 0 && slots[at].State == SlotDone, !k.parked && p.Turn > 0 && k.position <= p.Position:
		return false, nil
	case at < 0 || k.turn != p.Turn || slots[at].State != SlotOut:
		return false, ErrLost
	}
	return true, nil
}
