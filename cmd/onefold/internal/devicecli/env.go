// Package devicecli implements the commands that manage fleets, devices, rules, alerts and
// channels, show readings, and import them.
package devicecli

import (
	"errors"
	"fmt"

	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/credentials"
)

// Env is the environment of the commands. Store is an open table.
type (
	Env   = cmdenv.Env
	Store = cmdenv.Store
)

// explain adds an error code and advice to an error about a device, fleet or profile that does not
// exist, already exists or is invalid.
func explain(what, id string, err error) error {
	switch {
	case errors.Is(err, table.ErrNotFound):
		list := what + " list"
		if what != "fleet" {
			list += " --fleet FLEET"
		}
		return fmt.Errorf("no_such_%[1]s: there is no %[1]s %[2]q; `onefold %[3]s` lists all", what, id, list)
	case errors.Is(err, table.ErrExists):
		return fmt.Errorf("%[1]s_exists: %[1]s %[2]q already exists; `onefold %[1]s show %[2]s` shows it", what, id)
	case errors.Is(err, telemetry.ErrInvalid), errors.Is(err, telemetry.ErrRetention):
		return fmt.Errorf("invalid: %w", err)
	case errors.Is(err, telemetry.ErrTransition):
		return fmt.Errorf("invalid_status: %w", err)
	case errors.Is(err, credentials.ErrClaim):
		return fmt.Errorf("invalid_claim: %w", err)
	case errors.Is(err, telemetry.ErrRange):
		return fmt.Errorf("invalid_range: %w", err)
	}
	return err
}
