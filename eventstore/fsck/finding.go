package fsck

import (
	"context"
	"errors"
	"fmt"

	"github.com/onefold/onefold/eventstore"
)

// Kind is the kind of a finding. The values are stable.
type Kind string

// The kinds of findings.
const (
	Unreadable  Kind = "unreadable"         // an item does not match its entity
	Hole        Kind = "hole"               // missing events, at the start or in between
	Torn        Kind = "torn-commit"        // an append is incomplete
	HeadMissing Kind = "head-missing"       // there are pages but no head: the last events are lost
	HeadBehind  Kind = "head-behind"        // the head's version is below the last event: the next append will fail
	HeadAhead   Kind = "head-ahead"         // the head's version is above the last event: events were lost
	Leftover    Kind = "leftover"           // truncated events still exist
	Broken      Kind = "chain-broken"       // a hash does not match its event, or the head's hash the last one
	MarkWrong   Kind = "mark-wrong"         // the events of a commit ID do not belong to its append
	MarkMissing Kind = "mark-missing"       // an append had a commit ID, but would not be recognized if repeated
	NotListed   Kind = "not-listed"         // an aggregate is missing from the list of its type
	NotIndexed  Kind = "not-indexed"        // an event is missing from the index by type
	IndexStale  Kind = "index-stale"        // an entry of a list or index whose aggregate or event is missing or different
	Orphan      Kind = "reservation-orphan" // a value is reserved for an aggregate that never existed
	TagHole     Kind = "tag-hole"           // an append is missing from the list of a tag, or the list has no head
	TagStale    Kind = "tag-stale"          // the list of a tag has an event that does not exist, or does not have the tag
	FeedHole    Kind = "feed-hole"          // a position of the feed is missing
	FeedTwice   Kind = "feed-twice"         // an event is in the feed twice
	FeedAhead   Kind = "feed-ahead"         // the feed has an event that does not exist: events were lost
	FeedBehind  Kind = "feed-behind"        // the feed lacks an event, which will not come by itself
	SnapAhead   Kind = "snapshot-ahead"     // a snapshot of an event that does not exist
	SnapWrong   Kind = "snapshot-wrong"     // a snapshot does not match its events
	ModelWrong  Kind = "model-wrong"        // a read model does not match its events
)

// Finding is one inconsistency.
type Finding struct {
	Kind   Kind          `json:"kind"`
	ID     eventstore.ID `json:"-"`                // aggregate, if it belongs to one
	Item   string        `json:"item"`             // keys: "pk sk"
	Detail string        `json:"says"`             // description of the inconsistency
	Plan   string        `json:"repair,omitempty"` // what Repair would do; "": it cannot be repaired without inventing facts

	fix func(context.Context) error
}

// Errors of repairs.
var (
	// ErrNoRepair is returned for a finding that cannot be repaired without inventing facts.
	ErrNoRepair = errors.New("fsck: the finding cannot be repaired without inventing facts")
	// ErrChanged is returned when the finding no longer applies. Check again.
	ErrChanged = errors.New("fsck: the item has changed since the check")
)

// Repair does what Plan says, on condition that the finding still applies. Errors: ErrNoRepair,
// ErrChanged, those of the store.
func (f *Finding) Repair(ctx context.Context) error {
	if f.fix == nil {
		return fmt.Errorf("%w: %s of %s", ErrNoRepair, f.Kind, f.Item)
	}
	if err := f.fix(ctx); err != nil {
		return fmt.Errorf("fsck: repair %s of %s: %w", f.Kind, f.Item, err)
	}
	return nil
}
