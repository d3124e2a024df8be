package logimport

import (
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/internal/accesslog"
)

const (
	shownMalformed = 5   // malformed lines in the summary
	shownBytes     = 120 // bytes of each of them
)

// Summary counts lines by outcome. Every line, or row of an export, is in exactly one of malformed,
// skipped, rejected, imported and duplicates.
type Summary struct {
	Lines      int64   `json:"lines"`
	Malformed  int64   `json:"malformed"`
	Skipped    Skipped `json:"skipped"`
	Rejected   int64   `json:"rejected"` // events that cannot be stored, such as events in the future
	Imported   int64   `json:"imported"`
	Duplicates int64   `json:"duplicates"`

	First time.Time `json:"first,omitzero"` // of imported and duplicate events
	Last  time.Time `json:"last,omitzero"`

	Formats  []Format         `json:"formats,omitempty"`         // formats of the files, in order of first use
	Examples []string         `json:"malformedLines,omitempty"`  // the first malformed lines, with their numbers
	Reasons  map[string]int64 `json:"rejectedReasons,omitempty"` // number of rejected events by reason
}

// Skipped counts well-formed lines that are not events of people on the site.
type Skipped struct {
	Assets int64 `json:"assets"`
	Bots   int64 `json:"bots"`
	Hosts  int64 `json:"hosts"` // requests to other virtual hosts
	Other  int64 `json:"other"` // not a page view: not a GET with status 200 or 304, a header, a server message
}

func (s *Summary) malformed(line accesslog.Line, err error) {
	s.Malformed++
	if len(s.Examples) == shownMalformed {
		return
	}
	text := line.Text
	if len(text) > shownBytes {
		text = text[:shownBytes]
	}
	s.Examples = append(s.Examples, fmt.Sprintf("line %d: %v: %q", line.Number, err, text))
}

func (s *Summary) skip(why verdict) {
	switch why {
	case anAsset:
		s.Skipped.Assets++
	case aBot:
		s.Skipped.Bots++
	case otherHost:
		s.Skipped.Hosts++
	default:
		s.Skipped.Other++
	}
}

// count adds the outcomes of some events.
func (s *Summary) count(outcomes []analytics.Outcome) {
	for i := range outcomes {
		switch o := &outcomes[i]; o.Status {
		case analytics.Stored:
			s.Imported++
			s.extend(o.EventID)
		case analytics.Duplicate:
			s.Duplicates++
			s.extend(o.EventID)
		default:
			if s.Reasons == nil {
				s.Reasons = map[string]int64{}
			}
			s.Rejected++
			s.Reasons[string(o.Reason)]++ // the set of reasons is closed
		}
	}
}

// extend widens the time range to include an event.
func (s *Summary) extend(eventID string) {
	id, err := ulid.ParseStrict(eventID)
	if err != nil { // the importer generated the ID
		return
	}
	at := ulid.Time(id.Time()).UTC()
	if s.First.IsZero() || at.Before(s.First) {
		s.First = at
	}
	if at.After(s.Last) {
		s.Last = at
	}
}

// Add adds the summary of other files.
func (s *Summary) Add(o *Summary) {
	s.Lines, s.Malformed, s.Rejected = s.Lines+o.Lines, s.Malformed+o.Malformed, s.Rejected+o.Rejected
	s.Imported, s.Duplicates = s.Imported+o.Imported, s.Duplicates+o.Duplicates
	s.Skipped.Assets, s.Skipped.Bots = s.Skipped.Assets+o.Skipped.Assets, s.Skipped.Bots+o.Skipped.Bots
	s.Skipped.Hosts, s.Skipped.Other = s.Skipped.Hosts+o.Skipped.Hosts, s.Skipped.Other+o.Skipped.Other
	if s.First.IsZero() || !o.First.IsZero() && o.First.Before(s.First) {
		s.First = o.First
	}
	if o.Last.After(s.Last) {
		s.Last = o.Last
	}
	for _, f := range o.Formats {
		if !slices.Contains(s.Formats, f) {
			s.Formats = append(s.Formats, f)
		}
	}
	s.Examples = append(s.Examples, o.Examples...)
	s.Examples = s.Examples[:min(len(s.Examples), shownMalformed)]
	for reason, n := range o.Reasons {
		if s.Reasons == nil {
			s.Reasons = map[string]int64{}
		}
		s.Reasons[reason] += n
	}
}
