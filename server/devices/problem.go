package devices

import (
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/telemetry"
	"github.com/onefold/onefold/telemetry/alerts"
	"github.com/onefold/onefold/telemetry/credentials"
	"github.com/onefold/onefold/telemetry/payload"
	"github.com/onefold/onefold/telemetry/recount"
)

// Problem maps an error of telemetry to a response that says what to do. It returns nil for other
// errors.
func Problem(err error) error {
	if faults := ruleErrors(err); len(faults) > 0 {
		return ruleProblem(faults)
	}
	switch {
	case errors.Is(err, alerts.ErrEnded):
		return middleware.Problem(http.StatusConflict, "alert_ended", "The alert has ended and cannot be acknowledged.")
	case errors.Is(err, alerts.ErrSnooze):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_snooze", "Choose a snooze time within the next 31 days.")
	case errors.Is(err, alerts.ErrComment):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_comment", "A comment must have 1 to 2,000 bytes.")
	case errors.Is(err, telemetry.ErrTransition):
		return middleware.Problem(http.StatusConflict, "bad_transition", middleware.Detail(err))
	case errors.Is(err, telemetry.ErrInvalid):
		return middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", middleware.Detail(errors.New(whatIsInvalid(err))))
	case errors.Is(err, telemetry.ErrRetention):
		return middleware.Problem(http.StatusUnprocessableEntity, "invalid_request", middleware.Detail(err))
	case errors.Is(err, telemetry.ErrRange), errors.Is(err, recount.ErrRange):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_range", middleware.Detail(err))
	case errors.Is(err, telemetry.ErrSealed):
		return middleware.Problem(http.StatusConflict, "sealed", middleware.Detail(err))
	case errors.Is(err, credentials.ErrClaim):
		return middleware.Problem(http.StatusForbidden, "bad_claim", "This code is invalid: it is wrong, was already used, or has expired.")
	case errors.Is(err, telemetry.ErrToken):
		return middleware.Problem(http.StatusUnauthorized, "unauthorized", "This is not a valid device token.")
	case errors.Is(err, payload.ErrSyntax):
		return middleware.Problem(http.StatusBadRequest, "bad_request", err.Error())
	case errors.Is(err, payload.ErrTooMany):
		return middleware.Problem(http.StatusRequestEntityTooLarge, "too_many_readings", err.Error())
	}
	return nil
}

// ruleErrors collects all faults of a rule or channel from an error.
func ruleErrors(err error) (faults []*alerts.RuleError) {
	switch e := err.(type) {
	case *alerts.RuleError:
		return []*alerts.RuleError{e}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			faults = append(faults, ruleErrors(one)...)
		}
	case interface{ Unwrap() error }:
		return ruleErrors(e.Unwrap())
	}
	return faults
}

// ruleProblem returns a problem that lists every invalid field. Its code is that of the first.
func ruleProblem(faults []*alerts.RuleError) error {
	p := middleware.Problem(http.StatusUnprocessableEntity, faults[0].Code, "The rule or channel is invalid.")
	for _, f := range faults {
		p.Errors = append(p.Errors, &huma.ErrorDetail{Message: f.What, Location: "body." + f.Field})
	}
	return p
}
