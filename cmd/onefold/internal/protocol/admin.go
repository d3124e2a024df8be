package protocol

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/engine"
)

// A running server has maintenance tasks alongside DynamoDB's operations: POST /_onefold/TASK.
// Requests are signed like DynamoDB's, and need a header that pages of other sites cannot send
// unasked. Without access keys any signature is accepted, and a page whose host name resolves to
// this machine is same-site, so it could send the header. Therefore requests with an Origin header,
// which browsers add to every POST, are rejected.
const (
	AdminPath   = "/_onefold/"
	AdminHeader = "X-Onefold-Admin"
)

// admin returns the handler of the maintenance tasks. Authentication happens before it.
func admin(db *engine.DB, logger *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	for name, task := range map[string]func(context.Context, http.ResponseWriter, *engine.DB) error{
		"backup": serveBackup, "check": serveCheck, "compact": serveCompact, "sizes": serveSizes, "estimate": serveEstimate,
	} {
		mux.HandleFunc("POST "+AdminPath+name, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(AdminHeader) == "" || r.Header.Get("Origin") != "" {
				http.Error(w, "send the header "+AdminHeader+"; requests from web pages are not allowed", http.StatusForbidden)
				return
			}
			// A task may take long, so the timeouts of requests do not apply.
			if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			answer := &adminAnswer{ResponseWriter: w}
			if err := task(r.Context(), answer, db); err != nil {
				answer.fail(logger, name, err)
			}
		})
	}
	return mux
}

// adminAnswer records whether the response has started.
type adminAnswer struct {
	http.ResponseWriter
	begun bool
}

// Write implements io.Writer.
func (a *adminAnswer) Write(b []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(b)
}

// fail sends the error of a task. If the response has started, it aborts the connection, so that
// the client sees a truncated response.
func (a *adminAnswer) fail(logger *slog.Logger, task string, err error) {
	logger.Error("onefold: "+task+" failed", "error", err)
	if a.begun {
		panic(http.ErrAbortHandler)
	}
	told, status := AdminError{}, http.StatusInternalServerError
	told.Error.Code, told.Error.Message = "failed", err.Error()
	switch {
	case errors.Is(err, engine.ErrBackupRunning):
		told.Error.Code, status = "backup_running", http.StatusConflict
	case errors.Is(err, engine.ErrBackupUnusable):
		told.Error.Code = "backup_unusable"
	case errors.Is(err, engine.ErrCorrupt):
		told.Error.Code = "damaged"
	}
	a.Header().Set("Content-Type", "application/json")
	a.WriteHeader(status)
	if err := terminal.JSON(a, told); err != nil {
		logger.Warn("onefold: sending the response to "+task+" failed", "error", err)
	}
}

// AdminError is the response of a failed task.
type AdminError struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func serveBackup(ctx context.Context, w http.ResponseWriter, db *engine.DB) error {
	w.Header().Set("Content-Type", "application/x-tar")
	_, err := db.BackupTo(ctx, w, nil)
	return err
}

// AdminLine is a line of a check's response: a finding, or at the end the summary.
type AdminLine struct {
	Finding *engine.Finding      `json:"finding,omitempty"`
	Summary *engine.CheckSummary `json:"summary,omitempty"`
}

func serveCheck(ctx context.Context, w http.ResponseWriter, db *engine.DB) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	return writeFindings(ctx, w, db.Check)
}

// writeFindings writes the findings of a check as they are found. It stops the check when the
// client is gone.
func writeFindings(ctx context.Context, w io.Writer, check func(context.Context, func(engine.Finding)) (engine.CheckSummary, error)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines := json.NewEncoder(w)
	var failed error
	summary, err := check(ctx, func(f engine.Finding) {
		if failed != nil {
			return
		}
		if failed = lines.Encode(AdminLine{Finding: &f}); failed != nil {
			stop()
		}
	})
	if err := cmp.Or(failed, err); err != nil {
		return err
	}
	return lines.Encode(AdminLine{Summary: &summary})
}

// Compacted holds the sizes of files before and after, in bytes. Tables and log are separate:
// compaction writes data that was only in the log to tables, which grow, and the log is emptied
// only later.
type Compacted struct {
	Before engine.DiskUse `json:"before"`
	After  engine.DiskUse `json:"after"`
}

// Compact rewrites the files of a database without deleted data.
func Compact(ctx context.Context, db *engine.DB) (Compacted, error) {
	c := Compacted{Before: db.DiskUse()}
	err := db.Compact(ctx)
	c.After = db.DiskUse()
	return c, err
}

func serveCompact(ctx context.Context, w http.ResponseWriter, db *engine.DB) error {
	c, err := Compact(ctx, db)
	if err != nil {
		return err
	}
	return terminal.JSON(w, c)
}

func serveSizes(ctx context.Context, w http.ResponseWriter, db *engine.DB) error {
	return sizesTo(ctx, w, db, true)
}

func serveEstimate(ctx context.Context, w http.ResponseWriter, db *engine.DB) error {
	return sizesTo(ctx, w, db, false)
}

func sizesTo(ctx context.Context, w http.ResponseWriter, db *engine.DB, count bool) error {
	s, err := db.Sizes(ctx, count)
	if err != nil {
		return err
	}
	return terminal.JSON(w, s)
}
