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

// A warehouse keeps events that have expired in the table, so nothing that happens in the table takes them out there. Whoever
// exports to it announces it, asks who waits to be forgotten, and tells when that is done. Until then a receipt says who it is.

// ArchiveState says how far the warehouse is with an erasure.
type ArchiveState string

// The states.
const (
	ArchiveWaits ArchiveState = "waiting" // the next export does it
	ArchiveDone  ArchiveState = "done"
)

// Rest is whom a warehouse is to forget.
type Rest struct {
	UserID   string                 `dynamodbav:"user,omitempty"`
	Visitors []analytics.VisitorKey `dynamodbav:"visitors,omitempty"`
}

// ArchiveKey names the warehouse of a table, of which there is one.
type ArchiveKey struct {
	Name string `dynamodbav:"name"`
}

// Archive says that there is a warehouse.
type Archive struct {
	ArchiveKey
	At time.Time `dynamodbav:"at"` // when it was announced last
}

// keepArchive is how long a warehouse that nobody exports to is taken to be there.
const keepArchive = 400 * 24 * time.Hour

// Archives are the warehouses that were announced.
var Archives = table.Define[Archive, ArchiveKey]("analytics.archive", table.Def[Archive]{
	PK: "ARCHIVES", SK: "ARCHIVE#{name}",
	Expires: func(a *Archive) time.Time { return a.At.Add(keepArchive) },
	Doc:     "That facts are kept in a warehouse, too, which has to forget whom the table forgets.",
})

// ArchivesKnown asks whether there is a warehouse.
var ArchivesKnown = table.NewGet[ArchiveKey](Archives, table.GetDef{
	ID: "W15b", Question: "whether a warehouse has to forget people, too", Load: table.Load{PerSecond: 0.001, Items: 1, ItemBytes: 100},
})

var theArchive = ArchiveKey{"warehouse"}

// Announce says that the table's events are kept in a warehouse, too: from now on, erasures wait for it. Repeat it now and then.
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

// Waiting are the receipts of all sites whose people the warehouse is to forget, and who were deleted in the table before a
// time: what the stream tells of that has to be in the warehouse already.
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

// Forgotten notes that the warehouse has forgotten whom a receipt is of, with how many events, and forgets who it was.
func Forgotten(ctx context.Context, t *table.Table, k ReceiptKey, events int64) error {
	_, err := Receipts.Modify(ctx, t, k, func(r *Receipt) error {
		r.Archive, r.Rest = ArchiveDone, Rest{}
		r.Deleted.Archived += events
		return nil
	})
	if err != nil && !errors.Is(err, table.ErrNotFound) { // its site was purged meanwhile
		return fmt.Errorf("erasure: note what the warehouse forgot: %w", err)
	}
	return nil
}
