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

	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
	"github.com/onefold/onefold/engine"
)

// What a running server does beside DynamoDB's operations: POST /_onefold/TASK with a header that no page of another site
// can send unasked, signed as DynamoDB's operations are. Without keys any signature will do, and a page whose name has been
// given this machine's address is of the same site and could send the header, so whatever names an origin, as every page
// does that posts, is refused.
const (
	AdminPath   = "/_onefold/"
	AdminHeader = "X-Onefold-Admin"
)

// admin answers the tasks that look after a database, to whoever gets as far.
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
			// A task takes as long as it takes: the limits of requests are not for it.
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

// adminAnswer knows whether an answer has begun.
type adminAnswer struct {
	http.ResponseWriter
	begun bool
}

// Write implements io.Writer.
func (a *adminAnswer) Write(b []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(b)
}

// fail says why a task failed, or, when the answer has begun, ends it so that the client sees that it is cut off.
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

// AdminError is the answer of a task that failed.
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

// AdminLine is a line of the answer of a check: findings, and the summary at its end.
type AdminLine struct {
	Finding *engine.Finding      `json:"finding,omitempty"`
	Summary *engine.CheckSummary `json:"summary,omitempty"`
}

func serveCheck(ctx context.Context, w http.ResponseWriter, db *engine.DB) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	return writeFindings(ctx, w, db.Check)
}

// writeFindings writes what a check finds as it is found. A check that nobody reads any more is stopped.
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

// Compacted is how many bytes of files there were before and after. Tables and log are apart: what was only in the log
// goes into tables, which makes them larger, and the log is emptied later than it could be.
type Compacted struct {
	Before engine.DiskUse `json:"before"`
	After  engine.DiskUse `json:"after"`
}

// Compact rewrites the files of a database without what was deleted.
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
