package recount

import (
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

// Verification is how the last verify of a fleet ended.
type Verification struct {
	telemetry.FleetKey
	ID      string      `dynamodbav:"id,omitempty"`     // as whoever asked for it knows it
	At      time.Time   `dynamodbav:"at"`               // when it ended
	Device  string      `dynamodbav:"device,omitempty"` // that was compared alone
	From    string      `dynamodbav:"from,omitempty"`   // first and last day, in the fleet's zone; none: all
	To      string      `dynamodbav:"to,omitempty"`
	Of      int         `dynamodbav:"of"` // devices that were to be compared; Found.Devices were
	Found   Differences `dynamodbav:"found"`
	Failure string      `dynamodbav:"failure,omitempty"` // why it broke off
}

// keepVerification is how long a verification is kept: as long as raw readings are by default, which differences name.
const keepVerification = 30 * 24 * time.Hour

// Verifications are the last verifies of fleets.
var Verifications = table.Define[Verification, telemetry.FleetKey]("telemetry.verification", table.Def[Verification]{
	PK: "FLEET#{fleetId}", SK: "VERIFICATION", MaxBytes: 128 << 10,
	Expires: func(v *Verification) time.Time { return v.At.Add(keepVerification) },
	Doc:     "How the last comparison of a fleet's figures with its raw readings ended.",
})

// LastVerification is how the last verify of a fleet ended. Error: table.ErrNotFound when there was none of late.
var LastVerification = table.NewGet[telemetry.FleetKey](Verifications, table.GetDef{
	ID: "T21", Question: "how the last verify of a fleet ended",
	Load: table.Load{PerSecond: 0.01, Items: 1, ItemBytes: 400},
})

// Keep writes down how a verify ended, in place of the one before.
func Keep(ctx context.Context, t *table.Table, v *Verification) error {
	if err := Verifications.Put(ctx, t, v); err != nil {
		return fmt.Errorf("recount: keep the verification of %s: %w", v.FleetID, err)
	}
	return nil
}
