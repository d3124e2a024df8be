// Package devicecli is the commands that look after devices, show what they measured and import it. It belongs to the
// command line, which gives it what it stands on.
package devicecli

import (
	"errors"
	"fmt"

	"github.com/onefold/onefold/cmd/onefold/internal/ground"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/credentials"
)

// Env is what commands stand on, Store an open table.
type (
	Env   = ground.Env
	Store = ground.Store
)

// explain says what to do about a device, fleet or profile that is not there, or is there already, or cannot be.
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
