package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/table"
)

// Verification is the result of a site's last verification.
type Verification struct {
	analytics.SiteKey
	ID      string      `dynamodbav:"id,omitempty"` // the caller's ID for it
	At      time.Time   `dynamodbav:"at"`           // time of completion
	From    string      `dynamodbav:"from"`         // first and last day, in the site's zone
	To      string      `dynamodbav:"to"`
	Of      int         `dynamodbav:"of"` // days to compare; Found.Days were compared
	Found   Differences `dynamodbav:"found"`
	Failure string      `dynamodbav:"failure,omitempty"` // reason for an early end
}

// keepVerification is how long a result is kept: the default lifetime of raw events, which it may
// name.
const keepVerification = 30 * 24 * time.Hour

// Verifications holds the last verification of each site.
var Verifications = table.Define[Verification, analytics.SiteKey]("analytics.verification", table.Def[Verification]{
	PK: "SITE#{siteId}", SK: "VERIFICATION", MaxBytes: 128 << 10,
	Expires: func(v *Verification) time.Time { return v.At.Add(keepVerification) },
	Doc:     "The result of the last comparison of a site's statistics with its raw events.",
})

// LastVerification reads the result of a site's last verification. Error: table.ErrNotFound if
// there is none, or none of the last 30 days.
var LastVerification = table.NewGet[analytics.SiteKey](Verifications, table.GetDef{
	ID: "W16", Question: "the result of the last verify of a site",
	Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 400},
})

// Keep stores the result of a verification and replaces the previous one.
func Keep(ctx context.Context, t *table.Table, v *Verification) error {
	if err := Verifications.Put(ctx, t, v); err != nil {
		return fmt.Errorf("reconcile: keep the verification of %s: %w", v.SiteID, err)
	}
	return nil
}

// Forget deletes the last verification of a site, because its differences may contain personal
// data.
func Forget(ctx context.Context, t *table.Table, siteID string) error {
	err := Verifications.Delete(ctx, t, analytics.SiteKey{SiteID: siteID})
	if err != nil && !errors.Is(err, table.ErrNotFound) {
		return fmt.Errorf("reconcile: forget the verification of %s: %w", siteID, err)
	}
	return nil
}
