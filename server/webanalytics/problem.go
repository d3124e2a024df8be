package webanalytics

import (
	"errors"
	"net/http"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/annotations"
	"github.com/onefold/onefold/analytics/erasure"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/analytics/goals"
	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/analytics/imported/exports"
	"github.com/onefold/onefold/analytics/reconcile"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/internal/mask"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/webanalytics/filters"
	"github.com/onefold/onefold/server/webanalytics/notices"
)

// Problem maps an error of web analytics to a response that says what to do. It returns nil for
// other errors.
func Problem(err error) error {
	if p := filters.Problem(err); p != nil {
		return p
	}
	if p := exploreProblem(err); p != nil {
		return p
	}
	if p := importedProblem(err); p != nil {
		return p
	}
	if p := queryProblem(err); p != nil {
		return p
	}
	if p := notices.Problem(err); p != nil {
		return p
	}
	return analyticsProblem(err)
}

// importedProblem maps errors of imports of daily counts. It returns nil for others.
func importedProblem(err error) error {
	switch {
	case errors.Is(err, exports.ErrFormat):
		return middleware.Problem(http.StatusUnprocessableEntity, "unknown_format", middleware.Detail(err))
	case errors.Is(err, exports.ErrTooMuch), errors.Is(err, imported.ErrTooMuch):
		return middleware.Problem(http.StatusUnprocessableEntity, "too_much", middleware.Detail(err))
	case errors.Is(err, imported.ErrNothing):
		return middleware.Problem(http.StatusUnprocessableEntity, "nothing_to_import", middleware.Detail(err))
	case errors.Is(err, imported.ErrDeleting):
		return middleware.Problem(http.StatusConflict, "deleting", "This import is being deleted. If the deletion was interrupted, delete the import again. Then import the files again.")
	}
	return nil
}

// exploreProblem maps errors of queries on raw events. It returns nil for others.
func exploreProblem(err error) error {
	switch {
	case errors.Is(err, explore.ErrQuestion):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_question", middleware.Detail(err))
	case errors.Is(err, explore.ErrTooMuch):
		return middleware.Problem(http.StatusUnprocessableEntity, "too_much", middleware.Detail(err))
	case errors.Is(err, explore.ErrGone):
		return middleware.Problem(http.StatusUnprocessableEntity, "raw_events_gone", middleware.Detail(err))
	case errors.Is(err, explore.ErrArchive):
		return middleware.Problem(http.StatusServiceUnavailable, "warehouse_unreachable", "The warehouse does not answer, and the raw events of these days are only there. Try again later.")
	}
	return nil
}

// analyticsProblem maps errors of package analytics to a response that says what to do. It returns
// nil for others.
func analyticsProblem(err error) error {
	if rule := (*mask.RuleError)(nil); errors.As(err, &rule) {
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_mask", middleware.Detail(rule))
	}
	switch {
	case errors.Is(err, analytics.ErrUnknownSite):
		return middleware.Problem(http.StatusNotFound, "not_found", "There is no such site. Create it with `onefold site create`, or in the dashboard.")
	case errors.Is(err, analytics.ErrSite), errors.Is(err, analytics.ErrRetention):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_site", middleware.Detail(err))
	case errors.Is(err, erasure.ErrNobody):
		return middleware.Problem(http.StatusNotFound, "not_found", "No such person is known.")
	case errors.Is(err, erasure.ErrTooMany), errors.Is(err, erasure.ErrBusy):
		return middleware.Problem(http.StatusConflict, "busy", "The erasure is incomplete: there was too much data, or some is being counted. Repeat the request.")
	case errors.Is(err, annotations.ErrAnnotation):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_annotation", middleware.Detail(err))
	case errors.Is(err, goals.ErrGoal):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_goal", middleware.Detail(err))
	case errors.Is(err, reconcile.ErrRange), errors.Is(err, report.ErrExpired), errors.Is(err, analytics.ErrSealed):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_range", middleware.Detail(err))
	case errors.Is(err, report.ErrInvalid):
		return middleware.Problem(http.StatusUnprocessableEntity, "bad_range", middleware.Detail(err))
	}
	return nil
}
