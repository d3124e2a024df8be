package eventcli

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/onefold/onefold/cmd/internal/terminal"
)

// summary counts rows by outcome. Every row is in exactly one of malformed, rejected, imported and
// duplicates.
type summary struct {
	Lines      int64     `json:"lines"`
	Malformed  int64     `json:"malformed"`
	Rejected   int64     `json:"rejected"`
	Imported   int64     `json:"imported"`
	Duplicates int64     `json:"duplicates"`
	Aggregates int64     `json:"aggregates"` // distinct aggregates of the rows
	Types      int64     `json:"types"`      // distinct event types
	First      time.Time `json:"first,omitzero"`
	Last       time.Time `json:"last,omitzero"`
	Examples   []string  `json:"malformedLines,omitempty"` // the first malformed lines, with their numbers
	Refused    []string  `json:"rejectedLines,omitempty"`
	DryRun     bool      `json:"dryRun,omitempty"`
	Seconds    float64   `json:"seconds"`

	unread error // joined errors of files that could not be read to their end

	mu    sync.Mutex // writers count concurrently
	seed  maphash.Seed
	known map[uint64]struct{} // hashes of the aggregates and event types seen
}

func newSummary(dryRun bool) *summary {
	return &summary{DryRun: dryRun, seed: maphash.MakeSeed(), known: map[uint64]struct{}{}}
}

const (
	shownLines = 10  // shown lines, of malformed and of rejected ones
	shownBytes = 120 // shown bytes of a malformed line
)

func (s *summary) line() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Lines++
	return s.Lines
}

func (s *summary) malformed(r *row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Malformed++
	if len(s.Examples) < shownLines {
		s.Examples = append(s.Examples, fmt.Sprintf("line %d: %v: %q", r.number, r.err, r.text[:min(len(r.text), shownBytes)]))
	}
}

func (s *summary) refused(r *row, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Rejected++
	if len(s.Refused) < shownLines {
		s.Refused = append(s.Refused, fmt.Sprintf("line %d: %v", r.number, err))
	}
}

func (s *summary) count(r *row, done committed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done.Again {
		s.Duplicates++
	} else {
		s.Imported++
	}
	s.Aggregates += s.fresh("aggregate " + r.id.ID)
	s.Types += s.fresh("type " + r.event.Type)
	if at := r.event.OccurredAt; s.First.IsZero() || at.Before(s.First) {
		s.First = at
	}
	if at := r.event.OccurredAt; at.After(s.Last) {
		s.Last = at
	}
}

// fresh returns 1 if what has not been seen before, otherwise 0.
func (s *summary) fresh(what string) int64 {
	before := len(s.known)
	s.known[maphash.String(s.seed, what)] = struct{}{}
	return int64(len(s.known) - before)
}

// printResult prints the result of an import or dry run. It returns an error if the import is incomplete.
func (s *summary) printResult(out io.Writer, asJSON bool) error {
	err := s.unread
	if s.Lines > 0 && s.Malformed == s.Lines {
		err = errors.Join(errors.New("no_events: no row is an event"), err)
	}
	if asJSON {
		return errors.Join(terminal.JSON(out, s), err)
	}
	return errors.Join(s.print(out), err)
}

func (s *summary) print(w io.Writer) error {
	var b strings.Builder
	if s.DryRun {
		b.WriteString("Dry run, nothing was written. An import into an empty store would print:\n")
	}
	counts := terminal.Imported{Lines: s.Lines, Stored: s.Imported, Duplicates: s.Duplicates, Malformed: s.Malformed, Rejected: s.Rejected}
	fmt.Fprintf(&b, "%s\nOf %s and %s.\n", counts.Sentence("event"), terminal.Count(s.Aggregates, "aggregate"), terminal.Count(s.Types, "type"))
	if !s.First.IsZero() {
		fmt.Fprintf(&b, "From %s to %s.\n", s.First.Format(time.RFC3339), s.Last.Format(time.RFC3339))
	}
	if !s.DryRun {
		fmt.Fprintln(&b, counts.Pace("event", s.Seconds))
	}
	b.WriteString(terminal.Examples("malformed", s.Examples, s.Malformed))
	b.WriteString(terminal.Examples("rejected", s.Refused, s.Rejected))
	_, err := io.WriteString(w, b.String())
	return err
}
