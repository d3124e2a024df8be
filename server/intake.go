package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/server/internal/middleware"
)

// ingestTag marks the operations that ingest facts. Appending to streams is an operation of the
// event store.
const (
	ingestTag       = "ingest"
	appendOperation = "append-events"
)

// intake knows the routes that ingest facts.
type intake struct {
	mux      *http.ServeMux
	patterns map[string]bool
}

// newIntake returns an intake that knows the tracker scripts.
func newIntake(mux *http.ServeMux, scripts []string) *intake {
	in := &intake{mux: mux, patterns: make(map[string]bool)}
	for _, path := range scripts {
		in.patterns["GET "+path] = true
	}
	return in
}

// noting returns an adapter that records operations as they are registered, including those hidden
// from the API document.
func (in *intake) noting(to huma.Adapter) huma.Adapter { return &recordingAdapter{to, in} }

type recordingAdapter struct {
	huma.Adapter
	in *intake
}

// Handle registers an operation, and records its route if it ingests facts.
func (a *recordingAdapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	if slices.Contains(op.Tags, ingestTag) || op.OperationID == appendOperation {
		a.in.patterns[op.Method+" "+op.Path] = true
	}
	a.Adapter.Handle(op, handler)
}

// takes reports whether r matches one of the routes, including CORS preflights.
func (in *intake) takes(r *http.Request) bool {
	as := *r
	if as.Method == http.MethodOptions {
		as.Method = http.MethodPost
	}
	_, pattern := in.mux.Handler(&as)
	return in.patterns[pattern]
}

// Intake returns the part of the handler that ingests events, readings and domain events, and
// serves the tracker scripts. Everything else is not found, and callers are identified by API keys
// and device tokens only. It is for processes that do nothing
// else and may be stopped between two requests: call settle after each request to store what was
// only counted in memory.
func (s *Server) Intake() (handler http.Handler, settle func(context.Context) error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.intake.takes(r) {
			middleware.WriteProblem(w, middleware.Problem(http.StatusNotFound, "not_found", "Only events, readings and the tracker are served here."))
			return
		}
		s.handler.ServeHTTP(w, r.WithContext(middleware.WithOnlyKeys(r.Context())))
	}), s.visits.Settle
}
