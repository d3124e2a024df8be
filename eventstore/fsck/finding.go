package fsck

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/eventstore"
)

// Kind is what is wrong. The values are stable.
type Kind string

// The kinds of findings.
const (
	Unreadable  Kind = "unreadable"         // an item does not fit its entity
	Hole        Kind = "hole"               // events are missing between two, or the first
	Torn        Kind = "torn-commit"        // a part of an append is missing
	HeadMissing Kind = "head-missing"       // there are events and no head
	HeadBehind  Kind = "head-behind"        // the head's version is below the last event: the next append will fail
	HeadAhead   Kind = "head-ahead"         // the head's version is above the last event: events were lost
	Leftover    Kind = "leftover"           // events are still there that were truncated
	Broken      Kind = "chain-broken"       // a hash does not fit its event, or the head the last one
	MarkWrong   Kind = "mark-wrong"         // a commit id's events are not those of its append
	MarkMissing Kind = "mark-missing"       // an append had a commit id, which would not be recognised
	IndexKeys   Kind = "index-keys"         // an item's index keys do not follow from it: it is listed in a wrong place
	NotIndexed  Kind = "not-indexed"        // an item is not on the index
	IndexStale  Kind = "index-stale"        // the index has an entry whose item is not there, or says something else
	Orphan      Kind = "reservation-orphan" // a value is reserved for an aggregate that was never there
	FeedHole    Kind = "feed-hole"          // a position of the feed is missing
	FeedTwice   Kind = "feed-twice"         // the feed tells an event twice
	FeedAhead   Kind = "feed-ahead"         // the feed tells an event that is not there: events were lost
	FeedBehind  Kind = "feed-behind"        // the feed lacks an event that will not come by itself
	SnapAhead   Kind = "snapshot-ahead"     // a snapshot is of an event that is not there
	SnapWrong   Kind = "snapshot-wrong"     // a snapshot is not what its events make
	ModelWrong  Kind = "model-wrong"        // a read model is not what its events make
)

// Finding is one thing that is wrong.
type Finding struct {
	Kind Kind          `json:"kind"`
	ID   eventstore.ID `json:"-"`                // of the aggregate, if it is one's
	Item string        `json:"item"`             // its keys: "pk sk"
	Says string        `json:"says"`             // what was found
	Plan string        `json:"repair,omitempty"` // what Repair would do; empty: nothing can be done without inventing facts

	fix func(context.Context) error
}

// Errors of repairs.
var (
	// ErrNoRepair is returned when a finding cannot be repaired without inventing facts.
	ErrNoRepair = errors.New("fsck: this cannot be repaired without inventing facts")
	// ErrChanged is returned when what was found is not there any more. Check again.
	ErrChanged = errors.New("fsck: it has changed since it was found")
)

// Repair does what Plan says, on condition that what was found is still so. Errors: ErrNoRepair, ErrChanged, those of the
// store.
func (f *Finding) Repair(ctx context.Context) error {
	if f.fix == nil {
		return fmt.Errorf("%w: %s of %s", ErrNoRepair, f.Kind, f.Item)
	}
	if err := f.fix(ctx); err != nil {
		return fmt.Errorf("fsck: repair %s of %s: %w", f.Kind, f.Item, err)
	}
	return nil
}
