package ledger

import (
	"context"
	"errors"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// noticesAtOnce is how many notices are written at once.
const noticesAtOnce = 16

// Notify is the handler of the table's change stream: it tells both holders when a transfer is inserted, and when its
// status changes. A stream tells of a change at least once; a notice has the change in its key, so that it is told once.
//
// Whoever sends these notices on, by email for instance, does so from a fold over Notices, with the key as the message's id.
func Notify() *fold.Fold {
	return fold.Observe("ledger.notify", tell, fold.On(Transfers, func(c fold.Typed[Transfer], told func(struct{}) *[]Notice) error {
		if notices := noticesOf(c.Old, c.New); len(notices) > 0 {
			all := told(struct{}{})
			*all = append(*all, notices...)
		}
		return nil
	}))
}

// noticesOf is what a change of a transfer says, by its old and its new image; nil is none.
func noticesOf(old, now *Transfer) []Notice {
	switch {
	case now == nil: // nobody deletes a transfer; if somebody did, nobody got or gave anything
		return nil
	case old == nil:
		return pair(now, now.From, now.To, Posted)
	case old.Status != now.Status && now.Status == Reversed:
		return pair(now, now.To, now.From, Reversed)
	}
	return nil
}

// pair is what giver and taker are told.
func pair(v *Transfer, from, to string, status Status) []Notice {
	at := v.PostedAt
	if status == Reversed {
		at = v.ReversedAt
	}
	return []Notice{
		{NoticeKey{from, at, status, v.TransferID}, -v.Amount, to},
		{NoticeKey{to, at, status, v.TransferID}, v.Amount, from},
	}
}

// tell writes notices. One that is there was told by an attempt whose checkpoint was not written. What failed is left for
// the next attempt, which the fold makes with the same list.
func tell(ctx context.Context, t *table.Table, notices *[]Notice) error {
	var left []Notice
	var failed []error
	for i, err := range TellHolder.RunMany(ctx, t, *notices, noticesAtOnce) {
		if err != nil && !errors.Is(err, table.ErrExists) {
			left, failed = append(left, (*notices)[i]), append(failed, err)
		}
	}
	*notices = left
	return errors.Join(failed...)
}
