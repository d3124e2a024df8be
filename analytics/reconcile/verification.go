package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// Verification is how the last verify of a site ended.
type Verification struct {
	analytics.SiteKey
	ID      string      `dynamodbav:"id,omitempty"` // as whoever asked for it knows it
	At      time.Time   `dynamodbav:"at"`           // when it ended
	From    string      `dynamodbav:"from"`         // first and last day, in the site's zone
	To      string      `dynamodbav:"to"`
	Of      int         `dynamodbav:"of"` // days that were to be compared; Found.Days were
	Found   Differences `dynamodbav:"found"`
	Failure string      `dynamodbav:"failure,omitempty"` // why it broke off
}

// keepVerification is how long a verification is kept: as long as raw events are by default, which differences name.
const keepVerification = 30 * 24 * time.Hour

// Verifications are the last verifies of sites.
var Verifications = table.Define[Verification, analytics.SiteKey]("analytics.verification", table.Def[Verification]{
	PK: "SITE#{siteId}", SK: "VERIFICATION", MaxBytes: 128 << 10,
	Expires: func(v *Verification) time.Time { return v.At.Add(keepVerification) },
	Doc:     "How the last comparison of a site's statistics with its raw events ended.",
})

// LastVerification is how the last verify of a site ended. Error: table.ErrNotFound when there was none of late.
var LastVerification = table.NewGet[analytics.SiteKey](Verifications, table.GetDef{
	ID: "W16", Question: "how the last verify of a site ended",
	Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 400},
})

// Keep writes down how a verify ended, in place of the one before.
func Keep(ctx context.Context, t *table.Table, v *Verification) error {
	if err := Verifications.Put(ctx, t, v); err != nil {
		return fmt.Errorf("reconcile: keep the verification of %s: %w", v.SiteID, err)
	}
	return nil
}

// Forget deletes the last verification of a site, whose differences may name somebody.
func Forget(ctx context.Context, t *table.Table, siteID string) error {
	err := Verifications.Delete(ctx, t, analytics.SiteKey{SiteID: siteID})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("reconcile: forget the verification of %s: %w", siteID, err)
	}
	return nil
}
