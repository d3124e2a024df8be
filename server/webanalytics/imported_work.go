package webanalytics

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/onefold/onefold/accounts"
	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/analytics/imported/exports"
	"github.com/onefold/onefold/server/internal/door"
)

// The states of an import under way.
const (
	workUploading = "uploading"
	workWaiting   = "waiting"
	workRunning   = "running"
	workDone      = "done"
	workFailed    = "failed"
)

// ImportWork is an import of daily counts that is under way, or how it ended.
type ImportWork struct {
	ID     string    `json:"id" doc:"Of this work; the import's own is in the result."`
	State  string    `json:"state" enum:"uploading,waiting,running,done,failed" doc:"Waiting: one import runs at a time."`
	At     time.Time `json:"at" doc:"When it began."`
	DryRun bool      `json:"dryRun"`
	Done   int64     `json:"done" doc:"Bytes that were read, of those to read. Files are read twice, large ones in no order of days more often."`
	Of     int64     `json:"of"`

	Result    *ImportResult `json:"result,omitempty" doc:"What was imported, or would be. Of a failed one, as far as it is known."`
	Malformed []string      `json:"malformed,omitempty" doc:"The first malformed rows."`
	Code      string        `json:"code,omitempty" doc:"Why it failed, for programs."`
	Problem   string        `json:"problem,omitempty" doc:"Why it failed."`

	site string
}

// ImportResult is a result, by a name of its own in the API's document.
type ImportResult imported.Result

func (w *ImportWork) ended() bool { return w.State == workDone || w.State == workFailed }

// The bounds of imports over HTTP.
const (
	maxUploads = 4   // that are taken in, or wait, at the same time
	maxWorks   = 200 // that are remembered, when there are more sites
)

// importing knows the import of each site that is under way, or ended last. One runs at a time: it takes up to 512 MB.
type importing struct {
	turn chan struct{} // holds one while an import runs

	mu    sync.Mutex
	works map[string]*ImportWork // by site
}

func newImporting() *importing {
	return &importing{turn: make(chan struct{}, 1), works: map[string]*ImportWork{}}
}

// begin notes that an import of a site begins; nil if one is under way, or too many of others are.
func (i *importing) begin(site string, dry bool, now time.Time) *ImportWork {
	i.mu.Lock()
	defer i.mu.Unlock()
	active := 0
	for _, w := range i.works {
		if !w.ended() {
			active++
		}
	}
	if w := i.works[site]; active >= maxUploads || w != nil && !w.ended() {
		return nil
	}
	if len(i.works) >= maxWorks {
		maps.DeleteFunc(i.works, func(_ string, w *ImportWork) bool { return w.ended() })
	}
	w := &ImportWork{ID: rand.Text(), State: workUploading, At: now, DryRun: dry, site: site}
	i.works[site] = w
	return w
}

// change changes what is known of a work.
func (i *importing) change(w *ImportWork, change func(*ImportWork)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(w)
}

// forget makes as if a work had not begun.
func (i *importing) forget(w *ImportWork) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.works, w.site)
}

func (i *importing) copyOf(w *ImportWork) ImportWork {
	i.mu.Lock()
	defer i.mu.Unlock()
	return *w
}

// of is the work of a site; nil if there was none.
func (i *importing) of(site string) *ImportWork {
	i.mu.Lock()
	defer i.mu.Unlock()
	if w := i.works[site]; w != nil {
		found := *w
		return &found
	}
	return nil
}

// runImport imports files when it is their turn, and removes them before anyone hears of the end. What the server's end
// breaks off counts nothing, and goes on when the same files are imported again.
func (s *Service) runImport(ctx context.Context, w *ImportWork, files *upload, actor string) {
	result, err := s.importInTurn(ctx, w, files.names)
	if err := files.remove(); err != nil {
		s.door.Logger.Warn("uploaded files were not removed", "folder", files.folder, "error", err)
	}
	switch {
	case err != nil:
		err = s.door.Error(ctx, err)
	case !w.DryRun:
		s.door.Record(ctx, accounts.Entry{Actor: actor, Action: "import", Site: w.site, Subject: result.ImportID})
	}
	s.importing.change(w, func(w *ImportWork) { w.end(&result, err) })
}

func (s *Service) importInTurn(ctx context.Context, w *ImportWork, names []string) (imported.Result, error) {
	select {
	case s.importing.turn <- struct{}{}:
		defer func() { <-s.importing.turn }()
	case <-ctx.Done():
		return imported.Result{}, ctx.Err()
	}
	s.importing.change(w, func(w *ImportWork) { w.State = workRunning })
	return s.importFiles(ctx, w, names)
}

func (s *Service) importFiles(ctx context.Context, w *ImportWork, names []string) (result imported.Result, err error) {
	into, err := analytics.ImportInto(ctx, s.table, w.site)
	if err != nil {
		return result, err
	}
	e, err := exports.Open(names...)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return imported.Run(ctx, s.table, into, e, imported.Options{DryRun: w.DryRun, Progress: func(done, size int64) {
		s.importing.change(w, func(w *ImportWork) { w.Done, w.Of = done, size })
	}})
}

// end notes how an import ended. problem is nil when it went well.
func (w *ImportWork) end(result *imported.Result, problem error) {
	w.State, w.Malformed = workDone, result.Shown
	if result.Tables != nil {
		w.Result = (*ImportResult)(result)
	}
	if p := (*huma.ErrorModel)(nil); errors.As(problem, &p) {
		w.State, w.Code, w.Problem = workFailed, door.Code(p), p.Detail
	}
}
