package ledger

import (
	"context"
	"errors"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// noticesAtOnce is the number of notices written in parallel.
const noticesAtOnce = 16

// Notify returns the handler of the table's change stream. It writes notices for both holders when
// a transfer is inserted, and when its status changes. The stream delivers a change at least once.
// The key of a notice contains the change, so each notice is written once.
//
// To send notices on, for instance by email, use a fold over Notices, with the notice's key as the
// message ID.
func Notify() *fold.Fold {
	return fold.Observe("ledger.notify", writeNotices, fold.On(Transfers, func(c fold.Typed[Transfer], told func(struct{}) *[]Notice) error {
		if notices := noticesOf(c.Old, c.New); len(notices) > 0 {
			all := told(struct{}{})
			*all = append(*all, notices...)
		}
		return nil
	}))
}

// noticesOf returns the notices of a change, given by its old and new image; nil means no image.
func noticesOf(old, now *Transfer) []Notice {
	switch {
	case now == nil: // transfers are never deleted, and deleting one would move no money
		return nil
	case old == nil:
		return pair(now, now.From, now.To, Posted)
	case old.Status != now.Status && now.Status == Reversed:
		return pair(now, now.To, now.From, Reversed)
	}
	return nil
}

// pair returns the notices to both holders.
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

// writeNotices writes notices. A notice that exists was written by an attempt that did not reach its
// checkpoint. Failed notices stay in the list for the next attempt.
func writeNotices(ctx context.Context, t *table.Table, notices *[]Notice) error {
	var left []Notice
	var failed []error
	for i, err := range WriteNotice.RunMany(ctx, t, *notices, noticesAtOnce) {
		if err != nil && !errors.Is(err, table.ErrExists) {
			left, failed = append(left, (*notices)[i]), append(failed, err)
		}
	}
	*notices = left
	return errors.Join(failed...)
}
