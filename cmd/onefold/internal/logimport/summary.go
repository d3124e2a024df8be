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
	shownMalformed = 5   // malformed lines shown in the summary
	shownBytes     = 120 // of each
)

// Summary is what became of what was read. Every line, or row of an export, is in exactly one of malformed, skipped,
// rejected, imported and duplicates.
type Summary struct {
	Lines      int64   `json:"lines"`
	Malformed  int64   `json:"malformed"`
	Skipped    Skipped `json:"skipped"`
	Rejected   int64   `json:"rejected"` // events that cannot be stored, such as those of the future
	Imported   int64   `json:"imported"`
	Duplicates int64   `json:"duplicates"`

	First time.Time `json:"first,omitzero"` // of the events that are imported or were there
	Last  time.Time `json:"last,omitzero"`

	Formats  []Format         `json:"formats,omitempty"`         // of the files, in their order, each once
	Examples []string         `json:"malformedLines,omitempty"`  // the first of them, with their numbers
	Reasons  map[string]int64 `json:"rejectedReasons,omitempty"` // how many were rejected, by reason
}

// Skipped counts well-formed lines that are no events of people on the site.
type Skipped struct {
	Assets int64 `json:"assets"`
	Bots   int64 `json:"bots"`
	Hosts  int64 `json:"hosts"` // of other virtual hosts than those asked for
	Other  int64 `json:"other"` // no page view: not a GET answered 200 or 304, a header, a message of the server
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

// count adds what became of some events.
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
			s.Reasons[string(o.Reason)]++ // reasons are a closed list
		}
	}
}

// extend makes the range of times reach to an event.
func (s *Summary) extend(eventID string) {
	id, err := ulid.ParseStrict(eventID)
	if err != nil { // the ids are of our own making
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

// Add adds what became of other files.
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
