package migrate

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
)

// screen shows the progress of a migration: a bar for people, or with --json one line per second.
type screen struct {
	env   *cmdenv.Env
	quiet bool

	mu    sync.Mutex
	phase string
	at    time.Time
	bar   *terminal.Steps
}

func newScreen(env *cmdenv.Env, quiet bool) *screen { return &screen{env: env, quiet: quiet} }

// titles describe the phases.
var titles = map[string]string{
	"copying": "copying", "sweeping": "finding deleted items", "following": "following", "caught_up": "following",
	"closing": "closing the old store", "draining": "folding and copying the rest", "comparing": "comparing",
}

// show displays progress.
func (s *screen) show(p Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.phase != p.Phase
	if !changed && time.Since(s.at) < time.Second && (s.bar == nil || s.env.JSON) {
		return
	}
	title := titles[p.Phase]
	if changed && (s.bar == nil || titles[s.phase] != title) {
		s.end()
		s.bar = terminal.NewSteps(s.env.Err, s.quiet || s.env.JSON, title)
		if !s.quiet && !s.env.JSON && !terminal.IsScreen(s.env.Err) {
			fmt.Fprintln(s.env.Err, title)
		}
	}
	s.phase, s.at = p.Phase, time.Now()
	if s.env.JSON {
		if err := writeLine(s.env.Out, p); err != nil { // if the reader is gone, the migration goes on
			s.env.Logger.Warn("cannot display progress", "error", err)
		}
	}
	s.bar.Update(p.Items, max(p.Total, p.Items))
}

// writeLine writes JSON on one line, without HTML escapes.
func writeLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// counted formats n with a unit.
func counted(n int64, one, more string) string {
	if n == 1 {
		more = one
	}
	return terminal.Grouped(n) + " " + more
}

// say displays a message for people.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	fmt.Fprintln(s.env.Err, text)
}

func (s *screen) end() {
	if s.bar != nil {
		s.bar.Close()
		s.bar = nil
	}
	s.phase = ""
}

func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}
