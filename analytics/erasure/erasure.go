// Package erasure deletes what is known of a person, and all that is known of a site. What an erased person added to
// statistics comes off again through the folds of package analytics, to the unit; a receipt says what was deleted without
// saying whose it was. It is used by server and cmd.
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
	// ErrNobody is returned when there is nothing to erase: nobody is known by that name.
	ErrNobody = errors.New("erasure: nobody is known by that")
	// ErrTooMany is returned when a person has more visitors' days than one receipt can name.
	ErrTooMany = errors.New("erasure: too many days")
	// ErrBusy is returned when a visitor's day kept being written. What was erased stays so: do it again.
	ErrBusy = errors.New("erasure: the visitor is being counted")
)

// Kind says how the person was named.
type Kind string

// The kinds.
const (
	OfUser    Kind = "user"    // by the id that the site identified a user by
	OfVisitor Kind = "visitor" // by a session: of one visitor's day
)

// ReceiptKey names a receipt.
type ReceiptKey struct {
	SiteID    string `dynamodbav:"siteId" json:"-"`
	ReceiptID string `dynamodbav:"receiptId" json:"id"` // ULID of when it was asked for
}

// Receipt says what was deleted. Who it was is not in it: whoever knows the name and asks again gets the same Subject.
type Receipt struct {
	ReceiptKey
	At       time.Time `dynamodbav:"at" json:"at"` // when it was asked for
	DoneAt   time.Time `dynamodbav:"doneAt,omitempty" json:"doneAt,omitzero"`
	Kind     Kind      `dynamodbav:"kind" json:"kind"`
	Subject  string    `dynamodbav:"subject" json:"subject"` // HMAC-SHA256 of the name with a key of the site's, in hex
	Deleted  Deleted   `dynamodbav:"deleted" json:"deleted"`
	FirstDay string    `dynamodbav:"first,omitempty" json:"from,omitempty"` // days that were erased, in the site's zone
	LastDay  string    `dynamodbav:"last,omitempty" json:"to,omitempty"`
	// Sealed is how many of these days were so old that their totals are final: the person's sessions are deleted, and
	// what they added to the totals, which name nobody, stays.
	Sealed int `dynamodbav:"sealed,omitempty" json:"sealedDays,omitempty"`

	// Archive says whether the warehouse is without them, too; "" where there was none.
	Archive ArchiveState `dynamodbav:"archive,omitempty" json:"warehouse,omitempty"`
	// Rest is whom the warehouse is to forget, while Archive is ArchiveWaits.
	Rest Rest `dynamodbav:"rest,omitempty" json:"-"`

	// What is left to do, until DoneAt.
	UserID string                 `dynamodbav:"user,omitempty" json:"-"`
	Left   []analytics.VisitorKey `dynamodbav:"left,omitempty" json:"-"`
}

// Deleted counts what was deleted. What was deleted before an erasure that was broken off could write it down is missing.
type Deleted struct {
	Events   int64 `dynamodbav:"events" json:"events"`
	Sessions int64 `dynamodbav:"sessions" json:"sessions"`
	Visitors int64 `dynamodbav:"visitors" json:"visitors"` // visitors' days

	// Archived are events that the warehouse had alone, as they had expired in the table.
	Archived int64 `dynamodbav:"archived,omitempty" json:"warehouse,omitempty"`
}

const (
	maxDays         = 1000 // of visitors, in a receipt
	maxReceiptBytes = 200 << 10
)

// Receipts are the receipts of sites.
var Receipts = table.Define[Receipt, ReceiptKey]("analytics.erasure", table.Def[Receipt]{
	PK: "SITE#{siteId}", SK: "ERASURE#{receiptId}", MaxBytes: maxReceiptBytes,
	Doc: "What was deleted of a person, without saying whose it was.",
})

// ReceiptsOfSite are the receipts of a site, the latest first.
var ReceiptsOfSite = table.NewQuery(Receipts, table.QueryDef[analytics.SiteIn]{
	ID: "W15", Question: "what was erased on a site", Desc: true,
	Load: table.Load{PerSecond: 0.001, Items: 10, ItemBytes: 400},
})

// Schema is what this package stores beside what package analytics does.
var Schema = table.MustSchema("erasure", reconcile.Schema, Receipts, ReceiptsOfSite, Archives, ArchivesKnown)

// User erases a user: every visitor's day on which the site identified them, with what it did before it was identified,
// and all of their sessions. It reads all raw events of the site, and those of the days concerned again. Broken off, it
// is finished by Resume. Where a warehouse was announced, it forgets them, too, when it is next exported to; as nobody can
// tell beforehand whether it knows them, there is no ErrNobody then. Errors: ErrNobody, ErrTooMany, ErrBusy, table.ErrNotFound for the site.
func User(ctx context.Context, t *table.Table, w reconcile.Folded, siteID, userID string) (Receipt, error) {
	site, err := analytics.GetSite(ctx, t, siteID)
	if err != nil {
		return Receipt{}, err
	}
	if userID == "" {
		return Receipt{}, fmt.Errorf("%w: the user id is empty", ErrNobody)
	}
	if err := w.Drain(ctx); err != nil { // sessions say where most of it is
		return Receipt{}, fmt.Errorf("erasure: wait until everything is folded: %w", err)
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
		return Receipt{}, fmt.Errorf("%w: no user", ErrNobody)
	}
	return begin(ctx, t, w, &site, Receipt{Archive: archive, Kind: OfUser, Subject: subject(&site, OfUser, userID), UserID: userID, Left: left})
}

// Visitor erases the visitor's day that a session is of. Errors: ErrNobody, ErrBusy, table.ErrNotFound for the site.
func Visitor(ctx context.Context, t *table.Table, w reconcile.Folded, siteID, sessionID string) (Receipt, error) {
	site, err := analytics.GetSite(ctx, t, siteID)
	if err != nil {
		return Receipt{}, err
	}
	s, err := analytics.GetSession(ctx, t, &site, sessionID)
	if errors.Is(err, table.ErrNotFound) {
		return Receipt{}, fmt.Errorf("%w: no session", ErrNobody)
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

// Resume finishes the erasures of a site that were broken off. It does nothing where there are none.
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

// subject names a person to those who know the name.
func subject(site *analytics.Site, kind Kind, name string) string {
	mac := hmac.New(sha256.New, site.ImportKey)
	mac.Write([]byte("erasure\x00" + string(kind) + "\x00" + name))
	return hex.EncodeToString(mac.Sum(nil))
}

func visitorOf(s *analytics.Session) analytics.VisitorKey {
	return analytics.VisitorKey{SiteID: s.SiteID, Shard: s.VisitorShard, VisitorID: s.VisitorID, Day: s.Day}
}

// daysOfUser are the visitors' days on which a user was identified, by the raw events and by the sessions that outlive
// them.
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
			if k, err := e.Visitor(); err == nil { // no fold has what it cannot read
				seen[k] = true
			}
		}
	}
	if len(seen) > maxDays {
		return nil, false, fmt.Errorf("%w: the user has %d visitors' days, at most %d can be erased at once", ErrTooMany, len(seen), maxDays)
	}
	for k := range seen {
		days = append(days, k)
	}
	return days, len(days) > 0, nil
}

// begin writes down what is to be done, and does it.
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
