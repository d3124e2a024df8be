// Package segments stores the segments of sites: named sets of filters that are used in reports,
// queries, exports and shared views.
package segments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/analytics/explore"
	"github.com/onefold/onefold/table"
)

var (
	// ErrSegment is returned for an invalid segment. The message says what to change.
	ErrSegment = errors.New("segments: segment")
	// ErrTaken is returned if a site has another segment of the name.
	ErrTaken = errors.New("segments: name taken")
	// ErrUnknown is returned for a segment that the site does not have.
	ErrUnknown = errors.New("segments: unknown segment")
)

// Limits of segments.
const (
	MaxSegments    = 100 // per site
	MaxName        = 60  // characters
	MaxDescription = 300 // characters
	MaxFilters     = 20
	MaxBytes       = 16 << 10 // of all filters together, as text
)

// Key names a segment of a site.
type Key struct {
	SiteID    string `dynamodbav:"siteId"`
	SegmentID string `dynamodbav:"segmentId"` // derived from the first name; never changes
}

// Segment is a named set of filters. It contains the visits that match all of them.
type Segment struct {
	Key
	Name        string    `dynamodbav:"name"` // unique within the site, ignoring case
	Description string    `dynamodbav:"description,omitempty"`
	Filters     []string  `dynamodbav:"filters"` // in the syntax of explore.ParseFilter; 1 to MaxFilters
	Owner       string    `dynamodbav:"owner,omitempty"`
	Created     time.Time `dynamodbav:"created"`
	Changed     time.Time `dynamodbav:"changed"`
}

// Segments holds the segments of sites.
var Segments = table.Define[Segment, Key]("analytics.segment", table.Def[Segment]{
	PK: "SITE#{siteId}", SK: "SEGMENT#{segmentId}",
	Doc: "A named set of filters of a site.",
})

// OfSite queries the segments of a site, by ID.
var OfSite = table.NewQuery(Segments, table.QueryDef[analytics.SiteIn]{
	ID: "W24", Question: "the segments of a site",
	Prefix: "SEGMENT#",
	Load:   table.Load{PerSecond: 0.2, Items: 10, ItemBytes: 400},
})

// Schema holds the entities of this package.
var Schema = table.MustSchema("segments", Segments, OfSite)

// Parsed returns the filters of the segment. Errors: explore.ErrQuestion.
func (s *Segment) Parsed() ([]explore.Filter, error) { return explore.ParseFilters(s.Filters) }

// List returns the segments of a site, by name.
func List(ctx context.Context, t *table.Table, siteID string) ([]Segment, error) {
	all, err := OfSite.Collect(ctx, t, analytics.SiteIn{SiteID: siteID})
	if err != nil {
		return nil, fmt.Errorf("segments: list those of %s: %w", siteID, err)
	}
	slices.SortFunc(all, func(a, b Segment) int {
		return cmp.Or(strings.Compare(fold(a.Name), fold(b.Name)), strings.Compare(a.SegmentID, b.SegmentID))
	})
	return all, nil
}

// Find returns the segment with the given ID or, if there is none, with the given name, ignoring case.
// Errors: ErrUnknown.
func Find(ctx context.Context, t *table.Table, siteID, idOrName string) (Segment, error) {
	all, err := List(ctx, t, siteID)
	if err != nil {
		return Segment{}, err
	}
	return find(all, idOrName)
}

func find(all []Segment, idOrName string) (Segment, error) {
	for i := range all {
		if all[i].SegmentID == idOrName {
			return all[i], nil
		}
	}
	for i := range all {
		if fold(all[i].Name) == fold(idOrName) {
			return all[i], nil
		}
	}
	return Segment{}, fmt.Errorf("%w: %.80q", ErrUnknown, idOrName)
}

// Create stores a segment and reports whether it is new: a repeated call with the same name, filters
// and description changes nothing and returns the first segment. Errors: ErrSegment, ErrTaken if
// another segment has the name, table.ErrNotFound for an unknown site.
func Create(ctx context.Context, t *table.Table, s Segment) (stored Segment, created bool, err error) {
	if _, err := analytics.GetSite(ctx, t, s.SiteID); err != nil {
		return Segment{}, false, err
	}
	if err := s.check(); err != nil {
		return Segment{}, false, err
	}
	s.Created = t.Now().UTC().Truncate(time.Millisecond)
	s.Changed = s.Created
	const attempts = 5 // others may create segments at the same time
	for range attempts {
		all, err := List(ctx, t, s.SiteID)
		if err != nil {
			return Segment{}, false, err
		}
		if was := named(all, s.Name, ""); was != nil {
			if was.Same(&s) {
				return *was, false, nil
			}
			return Segment{}, false, fmt.Errorf("%w: the site already has the segment %q (%s); change it, or choose another name", ErrTaken, was.Name, was.SegmentID)
		}
		if len(all) >= MaxSegments {
			return Segment{}, false, fmt.Errorf("%w: the site already has %d segments; delete one first", ErrSegment, len(all))
		}
		s.SegmentID = freeID(all, s.Name)
		if err = Segments.Create(ctx, t, &s); !errors.Is(err, table.ErrExists) {
			return s, err == nil, err
		}
	}
	return Segment{}, false, fmt.Errorf("segments: create %q: %w", s.Name, table.ErrExists)
}

// Update changes name, description and filters of a segment, and returns it before and after. The ID
// stays. A call that changes nothing writes nothing. Errors: ErrSegment, ErrTaken, ErrUnknown.
func Update(ctx context.Context, t *table.Table, k Key, change func(*Segment) error) (before, after Segment, err error) {
	all, err := List(ctx, t, k.SiteID)
	if err != nil {
		return before, after, err
	}
	after, err = Segments.Modify(ctx, t, k, func(s *Segment) error {
		before = *s
		before.Filters = slices.Clone(s.Filters)
		if err := change(s); err != nil {
			return err
		}
		s.Key, s.Owner, s.Created, s.Changed = before.Key, before.Owner, before.Created, before.Changed
		if err := s.check(); err != nil {
			return err
		}
		if other := named(all, s.Name, s.SegmentID); other != nil {
			return fmt.Errorf("%w: the site already has the segment %q (%s); choose another name", ErrTaken, other.Name, other.SegmentID)
		}
		if !s.Same(&before) {
			s.Changed = t.Now().UTC().Truncate(time.Millisecond)
		}
		return nil
	})
	if errors.Is(err, table.ErrNotFound) {
		err = fmt.Errorf("%w: %.80q", ErrUnknown, k.SegmentID)
	}
	return before, after, err
}

// Same reports whether both have the same name, description and filters.
func (s *Segment) Same(o *Segment) bool {
	return s.Name == o.Name && s.Description == o.Description && slices.Equal(s.Filters, o.Filters)
}

// Delete deletes a segment and returns it. Errors: ErrUnknown.
func Delete(ctx context.Context, t *table.Table, k Key) (Segment, error) {
	s, err := Segments.Get(ctx, t, k)
	if err == nil {
		err = Segments.Delete(ctx, t, k, table.Present())
	}
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrCondition) {
		err = fmt.Errorf("%w: %.80q", ErrUnknown, k.SegmentID)
	}
	return s, err
}

// Expand sets Any in the filters that name segments, by ID or name. Without such filters, it does not
// read the table. Errors: ErrUnknown.
func Expand(ctx context.Context, t *table.Table, siteID string, filters []explore.Filter) ([]explore.Filter, error) {
	if !slices.ContainsFunc(filters, func(f explore.Filter) bool { return f.Dimension == explore.BySegment }) {
		return filters, nil
	}
	all, err := List(ctx, t, siteID)
	if err != nil {
		return nil, err
	}
	filters = slices.Clone(filters)
	for i := range filters {
		f := &filters[i]
		if f.Dimension != explore.BySegment {
			continue
		}
		f.Any = make([][]explore.Filter, len(f.Values))
		for n, value := range f.Values {
			s, err := find(all, value)
			if err != nil {
				return nil, err
			}
			if f.Any[n], err = s.Parsed(); err != nil {
				return nil, fmt.Errorf("segments: %s of %s: %w", s.SegmentID, siteID, err)
			}
		}
	}
	return filters, nil
}

// check validates a segment and normalizes its filters. A name must not contain a bar, which separates
// the values of a filter.
func (s *Segment) check() error {
	n := len([]rune(s.Name))
	switch {
	case n == 0 || n > MaxName || !isLine(s.Name) || strings.ContainsAny(s.Name, `|\`):
		return fmt.Errorf(`%w: use a name of 1 to %d characters on one line, without | and \`, ErrSegment, MaxName)
	case len([]rune(s.Description)) > MaxDescription || s.Description != "" && !isLine(s.Description):
		return fmt.Errorf("%w: use a description of at most %d characters on one line", ErrSegment, MaxDescription)
	case len(s.Filters) == 0 || len(s.Filters) > MaxFilters:
		return fmt.Errorf("%w: a segment has 1 to %d filters", ErrSegment, MaxFilters)
	}
	bytes := 0
	for i, text := range s.Filters {
		f, err := explore.ParseFilter(text)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSegment, err)
		}
		if f.Dimension == explore.BySegment {
			return fmt.Errorf("%w: a segment cannot consist of other segments", ErrSegment)
		}
		s.Filters[i] = f.String()
		bytes += len(text)
	}
	if bytes > MaxBytes {
		return fmt.Errorf("%w: its filters have %d bytes, more than %d", ErrSegment, bytes, MaxBytes)
	}
	return nil
}

func isLine(text string) bool {
	return strings.TrimSpace(text) == text && strings.ToValidUTF8(text, "") == text && !strings.ContainsFunc(text, unicode.IsControl)
}

// named returns the segment whose name or ID is name, other than the one with ID except. IDs count
// because Find accepts both.
func named(all []Segment, name, except string) *Segment {
	for i := range all {
		if (fold(all[i].Name) == fold(name) || all[i].SegmentID == fold(name)) && all[i].SegmentID != except {
			return &all[i]
		}
	}
	return nil
}

func fold(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// freeID derives an ID from a name: "Paying customers" becomes paying-customers. It appends a number if
// that is already the ID or name of a segment.
func freeID(all []Segment, name string) string {
	words := strings.FieldsFunc(fold(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	id := cmp.Or(strings.Join(words, "-"), "segment")
	taken := func(id string) bool {
		return slices.ContainsFunc(all, func(s Segment) bool { return s.SegmentID == id || fold(s.Name) == id })
	}
	free := id
	for n := 2; taken(free); n++ {
		free = id + "-" + strconv.Itoa(n)
	}
	return free
}
