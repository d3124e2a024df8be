package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
)

// ingestTag marks the operations that take facts in. Appending to streams is one of the event store's.
const (
	ingestTag       = "ingest"
	appendOperation = "append-events"
)

// intake knows which routes take facts in.
type intake struct {
	mux      *http.ServeMux
	patterns map[string]bool
}

// newIntake begins with the scripts that send facts.
func newIntake(mux *http.ServeMux, scripts []string) *intake {
	in := &intake{mux: mux, patterns: make(map[string]bool)}
	for _, path := range scripts {
		in.patterns["GET "+path] = true
	}
	return in
}

// noting is the adapter that notes operations while they are registered, also those that the API's document does not have.
func (in *intake) noting(to huma.Adapter) huma.Adapter { return &notingAdapter{to, in} }

type notingAdapter struct {
	huma.Adapter
	in *intake
}

// Handle registers an operation.
func (a *notingAdapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	if slices.Contains(op.Tags, ingestTag) || op.OperationID == appendOperation {
		a.in.patterns[op.Method+" "+op.Path] = true
	}
	a.Adapter.Handle(op, handler)
}

// takes reports whether a request is for one of the routes; that of a browser which asks whether it may, too.
func (in *intake) takes(r *http.Request) bool {
	as := *r
	if as.Method == http.MethodOptions {
		as.Method = http.MethodPost
	}
	_, pattern := in.mux.Handler(&as)
	return in.patterns[pattern]
}

// Intake is the part of the handler that takes facts in: events, readings and domain events, and the scripts that send them.
// All else is not found. It is for processes that do nothing else, and may be stopped between two requests: settle, which is
// called after each, writes down what was only counted.
func (s *Server) Intake() (handler http.Handler, settle func(context.Context) error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.intake.takes(r) {
			middleware.WriteProblem(w, middleware.Problem(http.StatusNotFound, "not_found", "Only events, readings and the tracker are here."))
			return
		}
		s.handler.ServeHTTP(w, r)
	}), s.visits.Settle
}
