package erasure

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// A warehouse keeps events after they expire in the table, so erasing them in the table is not
// enough. The exporter calls Announce, then Waiting for the people to erase, then Forgotten when
// that is done. Until then the receipt still identifies the person.

// ArchiveState is the progress of an erasure in the warehouse.
type ArchiveState string

// The states. "" means that there is no warehouse.
const (
	ArchiveWaits ArchiveState = "waiting" // the next export erases the person
	ArchiveDone  ArchiveState = "done"
)

// Pending identifies the person that the warehouse must still erase.
type Pending struct {
	UserID   string                 `dynamodbav:"user,omitempty"`
	Visitors []analytics.VisitorKey `dynamodbav:"visitors,omitempty"`
}

// ArchiveKey names the table's warehouse. There is at most one.
type ArchiveKey struct {
	Name string `dynamodbav:"name"`
}

// Archive records that the table has a warehouse.
type Archive struct {
	ArchiveKey
	At time.Time `dynamodbav:"at"` // last announcement
}

// keepArchive is how long a warehouse counts as existing after its last announcement.
const keepArchive = 400 * 24 * time.Hour

// Archives holds the announced warehouse.
var Archives = table.Define[Archive, ArchiveKey]("analytics.archive", table.Def[Archive]{
	PK: "ARCHIVES", SK: "ARCHIVE#{name}",
	Expires: func(a *Archive) time.Time { return a.At.Add(keepArchive) },
	Doc:     "A note that facts are also kept in a warehouse, from which persons must be erased as well.",
})

// ArchivesKnown reads the announced warehouse.
var ArchivesKnown = table.NewGet[ArchiveKey](Archives, table.GetDef{
	ID: "W15b", Question: "whether persons must be erased from a warehouse as well", Load: table.Load{PerSecond: 0.001, Items: 1, ItemBytes: 100},
})

var theArchive = ArchiveKey{"warehouse"}

// Announce records that the table's events are also kept in a warehouse. From then on, erasures
// wait for the warehouse too. Repeat it with every export, because the record expires after 400
// days.
func Announce(ctx context.Context, t *table.Table) error {
	if err := Archives.Put(ctx, t, &Archive{theArchive, t.Now().UTC()}); err != nil {
		return fmt.Errorf("erasure: announce the warehouse: %w", err)
	}
	return nil
}

func archived(ctx context.Context, t *table.Table) (ArchiveState, error) {
	_, err := ArchivesKnown.Get(ctx, t, theArchive)
	if errors.Is(err, table.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("erasure: look for a warehouse: %w", err)
	}
	return ArchiveWaits, nil
}

// Waiting yields the receipts of all sites that wait for the warehouse and were completed in the
// table before the given time. By that time the warehouse must have read the stream's changes.
func Waiting(ctx context.Context, t *table.Table, before time.Time) iter.Seq2[Receipt, error] {
	return func(yield func(Receipt, error) bool) {
		for site, err := range analytics.EverySite(ctx, t, "") {
			if err != nil {
				yield(Receipt{}, err)
				return
			}
			for r, err := range ReceiptsOfSite.All(ctx, t, analytics.SiteIn{SiteID: site.SiteID}) {
				if err == nil && (r.Archive != ArchiveWaits || r.DoneAt.IsZero() || !r.DoneAt.Before(before)) {
					continue
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// Forgotten records that the warehouse erased the person of a receipt, with the number of its
// events, and removes the person's identity from the receipt.
func Forgotten(ctx context.Context, t *table.Table, k ReceiptKey, events int64) error {
	_, err := Receipts.Modify(ctx, t, k, func(r *Receipt) error {
		r.Archive, r.Pending = ArchiveDone, Pending{}
		r.Deleted.Archived += events
		return nil
	})
	if err != nil && !errors.Is(err, table.ErrNotFound) { // the site was purged in the meantime
		return fmt.Errorf("erasure: note what the warehouse forgot: %w", err)
	}
	return nil
}
