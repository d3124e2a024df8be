package recount

import (
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Verification is the result of a fleet's last verification.
type Verification struct {
	telemetry.FleetKey
	ID      string      `dynamodbav:"id,omitempty"`     // the caller's ID for it
	At      time.Time   `dynamodbav:"at"`               // time of completion
	Device  string      `dynamodbav:"device,omitempty"` // set if only this device was compared
	From    string      `dynamodbav:"from,omitempty"`   // first and last day, in the fleet's zone; "": all
	To      string      `dynamodbav:"to,omitempty"`
	Of      int         `dynamodbav:"of"` // devices to compare; Found.Devices were compared
	Found   Differences `dynamodbav:"found"`
	Failure string      `dynamodbav:"failure,omitempty"` // reason for an early end
}

// keepVerification is how long a result is kept. It names readings, so it lives no longer than raw
// readings do by default.
const keepVerification = 30 * 24 * time.Hour

// Verifications holds the last verification of each fleet.
var Verifications = table.Define[Verification, telemetry.FleetKey]("telemetry.verification", table.Def[Verification]{
	PK: "FLEET#{fleetId}", SK: "VERIFICATION", MaxBytes: 128 << 10,
	Expires: func(v *Verification) time.Time { return v.At.Add(keepVerification) },
	Doc:     "The result of the last comparison of a fleet's figures with its raw readings.",
})

// LastVerification reads the result of a fleet's last verification. Error: table.ErrNotFound if
// there is none, or none of the last 30 days.
var LastVerification = table.NewGet[telemetry.FleetKey](Verifications, table.GetDef{
	ID: "T21", Question: "the result of the last verify of a fleet",
	Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 400},
})

// Keep stores the result of a verification and replaces the previous one.
func Keep(ctx context.Context, t *table.Table, v *Verification) error {
	if err := Verifications.Put(ctx, t, v); err != nil {
		return fmt.Errorf("recount: keep the verification of %s: %w", v.FleetID, err)
	}
	return nil
}
