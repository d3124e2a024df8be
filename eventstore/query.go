package eventstore

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/onefold/onefold/table"
)

// A Query selects events over all aggregates: those that match at least one of its items. It has 1
// to 10 items.
type Query []QueryItem

// A QueryItem matches events of one of its types, or of any type if it has none, that have all of
// its tags, 1 to 16.
type QueryItem struct {
	Types []string `json:"types,omitempty"`
	Tags  []string `json:"tags"`
}

// Limits of queries.
const (
	maxQueryItems  = 10
	maxQueryTypes  = 50
	maxQueryEvents = 100_000
)

func (q Query) check() error {
	if len(q) == 0 || len(q) > maxQueryItems {
		return fmt.Errorf("%w: a query has 1 to %d items, not %d", ErrInvalid, maxQueryItems, len(q))
	}
	for _, item := range q {
		if len(item.Tags) == 0 {
			return fmt.Errorf("%w: an item of a query needs a tag", ErrInvalid)
		}
		if err := checkTags(item.Tags); err != nil {
			return err
		}
		if len(item.Types) > maxQueryTypes {
			return fmt.Errorf("%w: an item of a query can have at most %d types, not %d", ErrInvalid, maxQueryTypes, len(item.Types))
		}
		for _, t := range item.Types {
			if err := checkName("event type", t, maxEventType); err != nil {
				return err
			}
		}
	}
	return nil
}

func (i *QueryItem) matches(e *TaggedEvent) bool {
	return (len(i.Types) == 0 || slices.Contains(i.Types, e.EventType)) &&
		!slices.ContainsFunc(i.Tags, func(tag string) bool { return !slices.Contains(e.Tags, tag) })
}

// A QueryPosition is the place in the events of a query up to which they were read. It belongs to
// that query. The zero value is the beginning. As text it can be passed to other programs.
type QueryPosition struct {
	at []tagPosition // by item of the query; nil: the beginning
}

// tagPosition is a place in the list of one of an item's tags: the one that was read for it.
type tagPosition struct {
	Tag string `json:"t"`
	N   int64  `json:"n"`
}

// MarshalText encodes the position.
func (p QueryPosition) MarshalText() ([]byte, error) {
	if p.at == nil {
		return nil, nil
	}
	b, err := json.Marshal(p.at)
	if err != nil {
		return nil, fmt.Errorf("eventstore: position of a query: %w", err)
	}
	return base64.RawURLEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText decodes a position. Errors: ErrInvalid.
func (p *QueryPosition) UnmarshalText(text []byte) error {
	if p.at = nil; len(text) == 0 {
		return nil
	}
	b, err := base64.RawURLEncoding.AppendDecode(nil, text)
	if err == nil {
		err = json.Unmarshal(b, &p.at)
	}
	if err != nil || len(p.at) == 0 {
		p.at = nil
		return fmt.Errorf("%w: position of a query", ErrInvalid)
	}
	return nil
}

// check reports whether the position belongs to a query.
func (p *QueryPosition) check(q Query) error {
	if p.at != nil && len(p.at) != len(q) {
		return fmt.Errorf("%w: the position is that of another query", ErrInvalid)
	}
	for i, at := range p.at {
		if at.N < 0 || !slices.Contains(q[i].Tags, at.Tag) {
			return fmt.Errorf("%w: the position is that of another query", ErrInvalid)
		}
	}
	return nil
}

// Matched are the events of a query.
type Matched struct {
	Events   []Event       // in an order in which they can have happened: that of each aggregate and each tag
	Position QueryPosition // after these events, for Unless
}

// Query returns all events that match a query, strongly consistent, at most 100,000. Errors:
// ErrInvalid, also in put mode; ErrTooLarge; ErrTruncated; those of the store.
func (s *Store) Query(ctx context.Context, q Query) (Matched, error) {
	return s.QueryAfter(ctx, q, QueryPosition{})
}

// QueryAfter is Query for the events after a position.
func (s *Store) QueryAfter(ctx context.Context, q Query, after QueryPosition) (Matched, error) {
	err := q.check()
	if err == nil {
		err = after.check(q)
	}
	if err == nil && s.o.PutMode {
		err = fmt.Errorf("%w: there are no tags in put mode", ErrInvalid)
	}
	var m Matched
	if err == nil {
		m, err = s.query(ctx, q, after)
	}
	if err != nil {
		return Matched{}, fmt.Errorf("eventstore: query: %w", err)
	}
	return m, nil
}

func (s *Store) query(ctx context.Context, q Query, after QueryPosition) (m Matched, err error) {
	heads, err := s.tagHeads(ctx, q.tags(after))
	if err != nil {
		return m, err
	}
	m.Position = after.in(q, heads)
	lists := make([][]TaggedEvent, len(q))
	for i, item := range q {
		at := &m.Position.at[i]
		if lists[i], err = s.matching(ctx, item, *at, heads[at.Tag]); err != nil {
			return m, err
		}
		at.N = heads[at.Tag].N
	}
	m.Events, err = s.merged(ctx, lists)
	return m, err
}

// tags returns the tags that a query may read from a position on.
func (q Query) tags(after QueryPosition) (tags []string) {
	for i, item := range q {
		if after.at != nil {
			tags = append(tags, after.at[i].Tag)
		} else {
			tags = append(tags, item.Tags...)
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// in returns the position as a place for each item. At the beginning, the tag with the shortest list
// is chosen.
func (p *QueryPosition) in(q Query, heads map[string]*TagHead) QueryPosition {
	if p.at != nil {
		return QueryPosition{slices.Clone(p.at)}
	}
	at := make([]tagPosition, len(q))
	for i, item := range q {
		at[i].Tag = slices.MinFunc(item.Tags, func(a, b string) int { return cmp.Compare(heads[a].N, heads[b].N) })
	}
	return QueryPosition{at}
}

// tagHeads reads the ends of lists.
func (s *Store) tagHeads(ctx context.Context, tags []string) (map[string]*TagHead, error) {
	keys, heads := make([]TagKey, len(tags)), make(map[string]*TagHead, len(tags))
	for i, tag := range tags {
		keys[i] = TagKey{tag}
		heads[tag] = &TagHead{TagKey: keys[i]}
	}
	found, err := TagHeads.GetMany(ctx, s.t, keys)
	for i := range found {
		heads[found[i].Tag] = &found[i]
	}
	return heads, err
}

// matching returns the events of a list after a position, up to a head, that match an item.
func (s *Store) matching(ctx context.Context, item QueryItem, after tagPosition, to *TagHead) (all []TaggedEvent, err error) {
	if !to.since(after.N, item.Types) {
		return nil, nil
	}
	next := after.N + 1
	for entry, err := range EventsOfTag.All(ctx, s.t, TagIn{TagKey: to.TagKey, From: next, To: to.N + 1}) {
		if err == nil && entry.N != next {
			err = fmt.Errorf("%w: append %d of tag %q", ErrHole, next, to.Tag)
		}
		if err != nil {
			return nil, err
		}
		next++
		for i := range entry.Events {
			if item.matches(&entry.Events[i]) {
				all = append(all, entry.Events[i])
			}
		}
		if len(all) > maxQueryEvents {
			return nil, fmt.Errorf("%w: more than %d events match the query: use tags of fewer events, or a projection", ErrTooLarge, maxQueryEvents)
		}
	}
	if next <= to.N {
		return nil, fmt.Errorf("%w: append %d of tag %q", ErrHole, next, to.Tag)
	}
	return all, nil
}

// merged reads the events of lists, each once, in an order that agrees with all lists. Among events
// that may come in either order, the one with the smaller ID, which is a time, comes first.
func (s *Store) merged(ctx context.Context, lists [][]TaggedEvent) ([]Event, error) {
	var keys []FeedPart
	at := map[EventKey]int{}   // index in keys
	open := map[EventKey]int{} // lists that have the event
	for _, list := range lists {
		for _, e := range list {
			if open[e.EventKey]++; open[e.EventKey] == 1 {
				at[e.EventKey] = len(keys)
				keys = append(keys, FeedPart{ID: e.ID, First: e.Seq, N: 1, Page: e.Page})
			}
		}
	}
	found, err := s.readParts(ctx, keys, false)
	if err != nil || len(lists) == 1 {
		return found, err
	}
	events := make([]Event, 0, len(found))
	for len(events) < len(found) {
		heads := map[EventKey]int{} // lists that begin with the event
		for _, list := range lists {
			if len(list) > 0 {
				heads[list[0].EventKey]++
			}
		}
		var next *Event
		for key, n := range heads {
			if e := &found[at[key]]; n == open[key] && (next == nil || e.EventID < next.EventID) {
				next = e
			}
		}
		if next == nil {
			return nil, fmt.Errorf("%w: the lists of tags have different orders", ErrHole)
		}
		events = append(events, *next)
		for i, list := range lists {
			if len(list) > 0 && list[0].EventKey == next.EventKey {
				lists[i] = list[1:]
			}
		}
	}
	return events, nil
}

// exampleTagHead and exampleTagEntry have one append.
func exampleTagHead(h *TagHead) {
	h.Tag, h.N, h.Last = "course:42", 1, map[string]int64{"StudentEnrolled": 1}
}

func exampleTagEntry(e *TagEntry) {
	e.Tag, e.N = "course:42", 1
	e.Events = []TaggedEvent{{EventKey: EventKey{ID: ID{Type: "course", ID: "42"}, Seq: 2}, Page: 1, EventType: "StudentEnrolled", Tags: []string{"course:42", "student:7"}}}
}

// tagHeadsNow reads the ends of lists; it is a pattern for the documents.
var tagHeadsNow = table.NewGet[TagKey](TagHeads, table.GetDef{
	ID: "E16", Question: "how many appends have events with a tag", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 200},
})
