package devices

import (
	"errors"
	"net/http"

	"github.com/onefold/onefold/server/internal/door"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/payload"
)

// Problem is the answer to an error of telemetry that says what to do; nil for other errors.
func Problem(err error) error {
	switch {
	case errors.Is(err, telemetry.ErrTransition):
		return door.Problem(http.StatusConflict, "bad_transition", err.Error())
	case errors.Is(err, telemetry.ErrInvalid), errors.Is(err, telemetry.ErrRetention):
		return door.Problem(http.StatusUnprocessableEntity, "invalid_request", err.Error())
	case errors.Is(err, telemetry.ErrRange):
		return door.Problem(http.StatusUnprocessableEntity, "bad_range", err.Error())
	case errors.Is(err, telemetry.ErrSealed):
		return door.Problem(http.StatusConflict, "sealed", err.Error())
	case errors.Is(err, telemetry.ErrClaim):
		return door.Problem(http.StatusForbidden, "bad_claim", "This code does not hold: it is wrong, was used, or has expired.")
	case errors.Is(err, telemetry.ErrToken):
		return door.Problem(http.StatusUnauthorized, "unauthorized", "This is no valid token of a device.")
	case errors.Is(err, payload.ErrSyntax):
		return door.Problem(http.StatusBadRequest, "bad_request", err.Error())
	case errors.Is(err, payload.ErrTooMany):
		return door.Problem(http.StatusRequestEntityTooLarge, "too_many_readings", err.Error())
	}
	return nil
}
