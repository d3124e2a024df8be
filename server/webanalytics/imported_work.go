package webanalytics

import (
	"context"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/analytics/imported/exports"
	"github.com/onefold/onefold/analytics/report"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/internal/middleware"
	"github.com/onefold/onefold/server/jobs"
)

// States of an import.
const (
	workUploading = "uploading"
	workWaiting   = "waiting"
	workRunning   = "running"
	workDone      = "done"
	workFailed    = "failed"
)

// ImportWork is a running import of daily counts, or the result of a finished one.
type ImportWork struct {
	ID     string    `json:"id" doc:"ID of this run. The import's own ID is in the result."`
	State  string    `json:"state" enum:"uploading,waiting,running,done,failed" doc:"waiting: one import runs at a time."`
	At     time.Time `json:"at" doc:"When the run began."`
	DryRun bool      `json:"dryRun"`
	Done   int64     `json:"done" doc:"Bytes read so far. Files are read twice; large files that are not ordered by day are read more often."`
	Of     int64     `json:"of"`

	Result    *ImportResult `json:"result,omitempty" doc:"Counts that were imported or would be. Partial if the import failed."`
	Malformed []string      `json:"malformed,omitempty" doc:"The first malformed rows."`
	Code      string        `json:"code,omitempty" doc:"Reason of the failure, as a code."`
	Problem   string        `json:"problem,omitempty" doc:"Reason of the failure."`
}

// ImportResult gives the result a name of its own in the API document.
type ImportResult imported.Result

// maxUploads is the maximum number of imports that are uploading, waiting or running.
const maxUploads = 4

// importOf returns the running or last import of a site, or nil if there was none recently.
func (s *Service) importOf(ctx context.Context, site string) (*ImportWork, error) {
	w, phase, err := s.imported.Last(ctx, site)
	if err != nil || phase == jobs.None {
		return nil, err
	}
	if phase == jobs.Lost {
		w.State, w.Code, w.Problem = workFailed, "interrupted", "The server stopped during the import. Nothing of it counts. Import the same files again to resume."
	}
	return &w, nil
}

// runImport imports files when it is their turn, and removes them before its end becomes visible.
// If the server stops meanwhile, nothing of the import counts, and importing the same files again
// resumes it.
func (s *Service) runImport(ctx context.Context, site string, job *jobs.Job[ImportWork], files *upload, actor string) {
	result, err := s.importInTurn(ctx, site, job, files.names)
	if err := files.remove(); err != nil {
		s.mw.Logger.Warn("removing uploaded files failed", "folder", files.folder, "error", err)
	}
	switch {
	case err != nil:
		err = s.mw.Error(ctx, err)
	case !job.State().DryRun:
		s.mw.Record(ctx, accounts.Entry{Actor: actor, Action: "import", Site: site, Subject: result.ImportID})
	}
	if err := job.End(context.WithoutCancel(ctx), func(w *ImportWork) { w.end(&result, err) }); err != nil {
		s.mw.Logger.Error("storing the result of an import failed", "site", site, "error", err)
	}
}

func (s *Service) importInTurn(ctx context.Context, site string, job *jobs.Job[ImportWork], names []string) (imported.Result, error) {
	select {
	case s.importTurn <- struct{}{}:
		defer func() { <-s.importTurn }()
	case <-ctx.Done():
		return imported.Result{}, ctx.Err()
	}
	job.Change(func(w *ImportWork) { w.State = workRunning })
	return s.importFiles(ctx, site, job, names)
}

func (s *Service) importFiles(ctx context.Context, site string, job *jobs.Job[ImportWork], names []string) (result imported.Result, err error) {
	into, err := report.ImportInto(ctx, s.table, site)
	if err != nil {
		return result, err
	}
	e, err := exports.Open(names...)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return imported.Run(ctx, s.table, into, e, imported.Options{DryRun: job.State().DryRun, Progress: func(done, size int64) {
		job.Change(func(w *ImportWork) { w.Done, w.Of = done, size })
	}})
}

// end sets the outcome of an import. problem is nil on success.
func (w *ImportWork) end(result *imported.Result, problem error) {
	w.State, w.Malformed = workDone, result.Shown
	if result.Tables != nil {
		w.Result = (*ImportResult)(result)
	}
	if p := (*huma.ErrorModel)(nil); errors.As(problem, &p) {
		w.State, w.Code, w.Problem = workFailed, middleware.Code(p), p.Detail
	}
}
