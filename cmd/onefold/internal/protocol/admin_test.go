package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/onefold/onefold/engine"
)

// TestCheckForNobody checks that a check ends when its findings cannot be written.
func TestCheckForNobody(t *testing.T) {
	gone := errors.New("the client has gone")
	const rows = 1000
	read := 0
	check := func(ctx context.Context, report func(engine.Finding)) (engine.CheckSummary, error) {
		for ; read < rows && ctx.Err() == nil; read++ {
			report(engine.Finding{Kind: "index-missing"})
		}
		return engine.CheckSummary{}, ctx.Err()
	}
	err := writeFindings(t.Context(), refusing{gone}, check)
	if !errors.Is(err, gone) || read != 1 {
		t.Errorf("%v after %d rows", err, read)
	}
}

// refusing is the connection of a client that has gone.
type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

// TestFailedTask checks the error codes of failed tasks.
func TestFailedTask(t *testing.T) {
	for want, err := range map[string]error{
		"backup_running": engine.ErrBackupRunning, "backup_unusable": engine.ErrBackupUnusable, "damaged": engine.ErrCorrupt, "failed": errors.New("another"),
	} {
		w := httptest.NewRecorder()
		(&adminAnswer{ResponseWriter: w}).fail(slog.New(slog.DiscardHandler), "backup", fmt.Errorf("engine: backup: %w", err))
		var told AdminError
		if err := json.Unmarshal(w.Body.Bytes(), &told); err != nil || told.Error.Code != want || w.Code < http.StatusBadRequest {
			t.Errorf("%v: got %d %s", err, w.Code, w.Body)
		}
	}
}
