package migrate

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/onefold/onefold/cmd/onefold/internal/cmdenv"
	"github.com/onefold/onefold/cmd/onefold/internal/terminal"
)

// screen shows how far a move is: a bar for people, a line a second for scripts.
type screen struct {
	env   *cmdenv.Env
	quiet bool

	mu    sync.Mutex
	phase string
	at    time.Time
	bar   *terminal.Steps
}

func newScreen(env *cmdenv.Env, quiet bool) *screen { return &screen{env: env, quiet: quiet} }

// titles are the phases in words.
var titles = map[string]string{
	"copying": "copying", "sweeping": "finding deleted items", "following": "following", "caught_up": "following",
	"closing": "closing the old store", "draining": "folding and copying the rest", "comparing": "comparing",
}

// show tells of progress.
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
		if err := writeLine(s.env.Out, p); err != nil { // a reader that is gone is no reason to stop moving
			s.env.Logger.Warn("cannot display progress", "error", err)
		}
	}
	s.bar.Update(p.Items, max(p.Total, p.Items))
}

// writeLine writes JSON on one line, for programs: without escapes for pages that it might be put in.
func writeLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// counted is a number with what it counts.
func counted(n int64, one, more string) string {
	if n == 1 {
		more = one
	}
	return terminal.Grouped(n) + " " + more
}

// say says something to people.
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
