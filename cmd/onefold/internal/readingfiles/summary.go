package readingfiles

import (
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/telemetry"
)

const (
	shownLines = 10  // shown malformed lines, rejected lines and omitted values, each
	shownBytes = 120 // shown bytes of a malformed line
)

// Summary counts rows by outcome. Every row is in exactly one of malformed, rejected, imported and
// duplicates.
type Summary struct {
	Lines       int64 `json:"lines"`
	Malformed   int64 `json:"malformed"`
	Rejected    int64 `json:"rejected"`
	Quarantined int64 `json:"quarantined"` // rejected readings that are in quarantine because of their time
	Imported    int64 `json:"imported"`
	Duplicates  int64 `json:"duplicates"`

	First time.Time `json:"first,omitzero"` // of imported and duplicate readings
	Last  time.Time `json:"last,omitzero"`

	Formats  []Format         `json:"formats,omitempty"`         // formats of the files, each once
	Examples []string         `json:"malformedLines,omitempty"`  // the first malformed lines, with their numbers
	Refused  []string         `json:"rejectedLines,omitempty"`   // some rejected lines, with their numbers
	Reasons  map[string]int64 `json:"rejectedReasons,omitempty"` // number of rejected readings by reason

	// Values omitted from readings whose other values were stored.
	Omitted        int64            `json:"omitted"`
	OmittedLines   []string         `json:"omittedLines,omitempty"`   // some omitted values, with their line numbers
	OmittedReasons map[string]int64 `json:"omittedReasons,omitempty"` // number of omitted values by reason
}

func (s *Summary) format(f Format) {
	if !slices.Contains(s.Formats, f) {
		s.Formats = append(s.Formats, f)
	}
}

func (s *Summary) malformed(r *Row) {
	s.Malformed++
	if len(s.Examples) < shownLines {
		s.Examples = append(s.Examples, fmt.Sprintf("line %d: %v: %q", r.Number, r.Err, r.Text[:min(len(r.Text), shownBytes)]))
	}
}

func (s *Summary) addMalformed(o *Summary) {
	s.Lines, s.Malformed = s.Lines+o.Lines, s.Malformed+o.Malformed
	s.Examples = append(s.Examples, o.Examples...)
	s.Examples = s.Examples[:min(len(s.Examples), shownLines)]
}

// count adds the outcomes of some readings.
func (s *Summary) count(b *batch, outcomes []telemetry.Outcome) {
	for i := range outcomes {
		s.omitted(b.numbers[i], outcomes[i].Omitted)
		switch o := &outcomes[i]; o.Status {
		case telemetry.Stored, telemetry.StoredLate:
			s.Imported++
			s.extend(o.At)
		case telemetry.Duplicate:
			s.Duplicates++
			s.extend(o.At)
		default:
			s.refused(b.numbers[i], o)
		}
	}
}

func (s *Summary) refused(number int64, o *telemetry.Outcome) {
	s.Rejected++
	if o.Quarantined {
		s.Quarantined++
	}
	if s.Reasons == nil {
		s.Reasons = map[string]int64{}
	}
	s.Reasons[string(o.Reason)]++ // the set of reasons is closed
	if len(s.Refused) < shownLines {
		s.Refused = append(s.Refused, fmt.Sprintf("line %d: %s: %s", number, o.Reason, o.Detail))
	}
}

// omitted adds the omitted values of a line's reading.
func (s *Summary) omitted(number int64, all []telemetry.Omitted) {
	for i := range all {
		o := &all[i]
		s.Omitted++
		if s.OmittedReasons == nil {
			s.OmittedReasons = map[string]int64{}
		}
		s.OmittedReasons[string(o.Reason)]++ // the set of reasons is closed
		if len(s.OmittedLines) < shownLines {
			s.OmittedLines = append(s.OmittedLines, fmt.Sprintf("line %d: %s: %s: %s", number, o.Metric, o.Reason, o.Detail))
		}
	}
}

// extend widens the time range to include a reading.
func (s *Summary) extend(at time.Time) {
	if s.First.IsZero() || at.Before(s.First) {
		s.First = at
	}
	if at.After(s.Last) {
		s.Last = at
	}
}
