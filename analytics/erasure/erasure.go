// Package erasure deletes everything about a person, and everything about a site. The share of an
// erased person in statistics is subtracted exactly, by the folds of package analytics. A receipt
// records what was deleted, without the person's identity.
package erasure

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/table"
)

var (
	// ErrNobody is returned when no data is stored under the given user or session ID.
	ErrNobody = errors.New("erasure: no such visitor, session or user")
	// ErrTooMany is returned when a person has more visitors' days than fit in one receipt.
	ErrTooMany = errors.New("erasure: too many days")
	// ErrBusy is returned when new events for a visitor's day kept arriving. Completed parts of the
	// erasure remain; Resume continues it.
	ErrBusy = errors.New("erasure: the visitor is being counted")
)

// Kind is how the person was identified.
type Kind string

// The kinds.
const (
	OfUser    Kind = "user"    // by the site's user ID
	OfVisitor Kind = "visitor" // by a session; erases one visitor's day
)

// ReceiptKey names a receipt.
type ReceiptKey struct {
	SiteID    string `dynamodbav:"siteId" json:"-"`
	ReceiptID string `dynamodbav:"receiptId" json:"id"` // ULID of the time of the request
}

// Receipt records what was deleted. It does not reveal the person, but repeating the request with
// the same name yields the same Subject.
type Receipt struct {
	ReceiptKey
	At       time.Time `dynamodbav:"at" json:"at"` // time of the request
	DoneAt   time.Time `dynamodbav:"doneAt,omitempty" json:"doneAt,omitzero"`
	Kind     Kind      `dynamodbav:"kind" json:"kind"`
	Subject  string    `dynamodbav:"subject" json:"subject"` // HMAC-SHA256 of the name with a key of the site, in hex
	Deleted  Deleted   `dynamodbav:"deleted" json:"deleted"`
	FirstDay string    `dynamodbav:"first,omitempty" json:"from,omitempty"` // range of erased days, in the site's zone
	LastDay  string    `dynamodbav:"last,omitempty" json:"to,omitempty"`
	// Sealed is how many of these days were too old to recompute: the person's events and sessions
	// are deleted, but their share in the anonymous totals remains.
	Sealed int `dynamodbav:"sealed,omitempty" json:"sealedDays,omitempty"`

	// Archive is the progress in the warehouse; "" if there is none.
	Archive ArchiveState `dynamodbav:"archive,omitempty" json:"warehouse,omitempty"`
	// Pending identifies the person for the warehouse while Archive is ArchiveWaits.
	Pending Pending `dynamodbav:"rest,omitempty" json:"-"`

	// Remaining work, until DoneAt is set.
	UserID string                 `dynamodbav:"user,omitempty" json:"-"`
	Left   []analytics.VisitorKey `dynamodbav:"left,omitempty" json:"-"`
}

// Deleted counts what was deleted. After an interrupted erasure the counts can be too low:
// deletions that were not yet recorded are missing.
type Deleted struct {
	Events   int64 `dynamodbav:"events" json:"events"`
	Sessions int64 `dynamodbav:"sessions" json:"sessions"`
	Visitors int64 `dynamodbav:"visitors" json:"visitors"` // visitors' days

	// Archived counts events that had expired in the table and were only in the warehouse.
	Archived int64 `dynamodbav:"archived,omitempty" json:"warehouse,omitempty"`
}

const (
	maxDays         = 1000 // visitors' days in a receipt
	maxReceiptBytes = 200 << 10
)

// Receipts holds the receipts of sites.
var Receipts = table.Define[Receipt, ReceiptKey]("analytics.erasure", table.Def[Receipt]{
	PK: "SITE#{siteId}", SK: "ERASURE#{receiptId}", MaxBytes: maxReceiptBytes,
	Doc: "A receipt of an erasure: what was deleted, without naming the person.",
})

// ReceiptsOfSite queries the receipts of a site, latest first.
var ReceiptsOfSite = table.NewQuery(Receipts, table.QueryDef[analytics.SiteIn]{
	ID: "W15", Question: "the erasure receipts of a site", Desc: true,
	Load: table.Load{PerSecond: 0.001, Items: 10, ItemBytes: 400},
})

// Schema holds the entities of this package and of its dependencies.
var Schema = table.MustSchema("erasure", reconcile.Schema, Receipts, ReceiptsOfSite, Archives, ArchivesKnown)

// User erases a user: all visitors' days on which the site identified them, including what they did
// on those days before they were identified, and all of their sessions. It reads all raw events of
// the site, and those of the affected days a second time. Resume completes an interrupted erasure.
// An announced warehouse erases the user at its next export. Since the warehouse may know a user
// that the table does not, ErrNobody is not returned then. Errors: ErrNobody, ErrTooMany, ErrBusy,
// table.ErrNotFound for the site.
func User(ctx context.Context, t *table.Table, w reconcile.Folded, siteID, userID string) (Receipt, error) {
	site, err := analytics.GetSite(ctx, t, siteID)
	if err != nil {
		return Receipt{}, err
	}
	if userID == "" {
		return Receipt{}, fmt.Errorf("%w: the user ID is empty", ErrNobody)
	}
	if err := w.Drain(ctx); err != nil { // sessions name most of the user's days
		return Receipt{}, fmt.Errorf("erasure: wait for folds: %w", err)
	}
	left, found, err := daysOfUser(ctx, t, &site, userID)
	if err != nil {
		return Receipt{}, fmt.Errorf("erasure: look for a user of %s: %w", siteID, err)
	}
	archive, err := archived(ctx, t)
	if err != nil {
		return Receipt{}, err
	}
	if !found && archive == "" {
		return Receipt{}, fmt.Errorf("%w: there are no sessions of this user", ErrNobody)
	}
	return begin(ctx, t, w, &site, Receipt{Archive: archive, Kind: OfUser, Subject: subject(&site, OfUser, userID), UserID: userID, Left: left})
}

// Visitor erases the visitor's day of a session. Errors: ErrNobody, ErrBusy, table.ErrNotFound for
// the site.
func Visitor(ctx context.Context, t *table.Table, w reconcile.Folded, siteID, sessionID string) (Receipt, error) {
	site, err := analytics.GetSite(ctx, t, siteID)
	if err != nil {
		return Receipt{}, err
	}
	s, err := analytics.GetSession(ctx, t, &site, sessionID)
	if errors.Is(err, table.ErrNotFound) {
		return Receipt{}, fmt.Errorf("%w: there is no such session", ErrNobody)
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("erasure: session of %s: %w", siteID, err)
	}
	archive, err := archived(ctx, t)
	if err != nil {
		return Receipt{}, err
	}
	return begin(ctx, t, w, &site, Receipt{
		Archive: archive, Kind: OfVisitor, Subject: subject(&site, OfVisitor, s.VisitorID+" "+s.Day), Left: []analytics.VisitorKey{visitorOf(&s)},
	})
}

// Resume completes the interrupted erasures of a site, if any. Errors: ErrBusy, table.ErrNotFound.
func Resume(ctx context.Context, t *table.Table, w reconcile.Folded, siteID string) error {
	site, err := analytics.GetSite(ctx, t, siteID)
	if err != nil {
		return err
	}
	for r, err := range ReceiptsOfSite.All(ctx, t, analytics.SiteIn{SiteID: siteID}) {
		if err != nil {
			return fmt.Errorf("erasure: receipts of %s: %w", siteID, err)
		}
		if r.DoneAt.IsZero() {
			if _, err := finish(ctx, t, w, &site, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// subject returns a pseudonym that only callers who know the name can compute again.
func subject(site *analytics.Site, kind Kind, name string) string {
	mac := hmac.New(sha256.New, site.ImportKey)
	mac.Write([]byte("erasure\x00" + string(kind) + "\x00" + name))
	return hex.EncodeToString(mac.Sum(nil))
}

func visitorOf(s *analytics.Session) analytics.VisitorKey {
	return analytics.VisitorKey{SiteID: s.SiteID, Shard: s.VisitorShard, VisitorID: s.VisitorID, Day: s.Day}
}

// daysOfUser finds the visitors' days on which a user was identified, from raw events and from
// sessions, which outlive them.
func daysOfUser(ctx context.Context, t *table.Table, site *analytics.Site, userID string) (days []analytics.VisitorKey, found bool, err error) {
	seen := make(map[analytics.VisitorKey]bool)
	for s, err := range analytics.UserJourney(ctx, t, site.SiteID, userID) {
		if err != nil {
			return nil, false, err
		}
		seen[visitorOf(&s)] = true
	}
	in := analytics.EventsBetween(site, time.UnixMilli(0), t.Now().Add(time.Hour), "")
	for e, err := range in.All(ctx, t) {
		if err != nil {
			return nil, false, err
		}
		if e.UserID == userID {
			if k, err := e.Visitor(); err == nil { // no fold has an unreadable event
				seen[k] = true
			}
		}
	}
	if len(seen) > maxDays {
		return nil, false, fmt.Errorf("%w: the user was active on %d days; at most %d days can be erased at once", ErrTooMany, len(seen), maxDays)
	}
	for k := range seen {
		days = append(days, k)
	}
	return days, len(days) > 0, nil
}

// begin stores the receipt, then performs the erasure.
func begin(ctx context.Context, t *table.Table, w reconcile.Folded, site *analytics.Site, r Receipt) (Receipt, error) {
	r.At = t.Now().UTC().Truncate(time.Millisecond)
	r.ReceiptKey = ReceiptKey{site.SiteID, ulid.MustNew(ulid.Timestamp(r.At), ulid.DefaultEntropy()).String()}
	days := make([]string, len(r.Left))
	for i, k := range r.Left {
		days[i] = k.Day
	}
	if len(days) > 0 {
		r.FirstDay, r.LastDay = slices.Min(days), slices.Max(days)
	}
	if err := Receipts.Create(ctx, t, &r); err != nil {
		return r, fmt.Errorf("erasure: begin: %w", err)
	}
	return finish(ctx, t, w, site, r)
}
