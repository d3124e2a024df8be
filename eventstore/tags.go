package eventstore

import (
	"fmt"
	"maps"
	"slices"

	"github.com/onefold/onefold/table"
)

// Tags say what an event is about, besides its aggregate. Each tag has a list of the appends with
// events that have it, numbered from 1 without gaps, and a head with the number of the last one.
// Both are written in the transaction of the append, on condition that the head is as it was read.
// So an append that checks heads knows that nothing was added to the lists in the meantime.

// Limits of tags.
const (
	MaxTags     = 16 // of an event
	maxTagBytes = 128
)

func checkTags(tags []string) error {
	if len(tags) > MaxTags {
		return fmt.Errorf("%w: an event can have at most %d tags, not %d", ErrInvalid, MaxTags, len(tags))
	}
	for i, tag := range tags {
		if err := checkName("tag", tag, maxTagBytes); err != nil {
			return err
		}
		if slices.Contains(tags[:i], tag) {
			return fmt.Errorf("%w: an event has the tag %q twice", ErrInvalid, tag)
		}
	}
	return nil
}

// TagKey names a tag.
type TagKey struct {
	Tag string `dynamodbav:"tag"`
}

// TagHead is the end of a tag's list.
type TagHead struct {
	TagKey
	N    int64            `dynamodbav:"n"`              // appends with the tag
	Last map[string]int64 `dynamodbav:"last,omitempty"` // by event type: the last append that has such an event
}

// since reports whether an event of one of the types, or of any type if there are none, was added
// after append n.
func (h *TagHead) since(n int64, types []string) bool {
	if len(types) == 0 {
		return h.N > n
	}
	return slices.ContainsFunc(types, func(t string) bool { return h.Last[t] > n })
}

// TagHeads holds the ends of the lists of tags.
var TagHeads = table.Define[TagHead, TagKey]("eventstore.taghead", table.Def[TagHead]{
	PK: "TAG#{tag}", SK: "#HEAD", Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole, Updates: table.Whole}},
	Example: exampleTagHead,
	Doc:     "The number of appends that have events with a tag.",
})

var tagN = table.FieldOf(TagHeads, func(h *TagHead) *int64 { return &h.N })

// TagEntryKey names an append in the list of a tag.
type TagEntryKey struct {
	TagKey
	N int64 `dynamodbav:"n"`
}

// TagEntry is an append in the list of a tag.
type TagEntry struct {
	TagEntryKey
	Events []TaggedEvent `dynamodbav:"events"` // those that have the tag
}

// TaggedEvent is an event in the list of a tag.
type TaggedEvent struct {
	EventKey
	Page      int64    `dynamodbav:"page"` // first event of its page
	EventType string   `dynamodbav:"eventType"`
	Tags      []string `dynamodbav:"tags"` // all tags of the event
}

// TagEntries holds the lists of tags.
var TagEntries = table.Define[TagEntry, TagEntryKey]("eventstore.tagentry", table.Def[TagEntry]{
	PK: "TAG#{tag}", SK: "ENTRY#{n:012}", Immutable: true, Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole}},
	Example: exampleTagEntry,
	Doc:     "An append that has events with a tag.",
})

// TagIn selects the appends of a tag with numbers in [From, To).
type TagIn struct {
	TagKey
	From int64 `dynamodbav:"from"`
	To   int64 `dynamodbav:"to"`
}

// EventsOfTag queries the appends of a tag, in order.
var EventsOfTag = table.NewQuery(TagEntries, table.QueryDef[TagIn]{
	ID: "E15", Question: "the events with a tag", From: "ENTRY#{from:012}", To: "ENTRY#{to:012}",
	Load: table.Load{PerSecond: 1, Items: 20, ItemBytes: 250},
})

// tagLists are the lists that an append adds to, and those that its conditions depend on.
type tagLists struct {
	tags   []string            // of the append's events, sorted
	guards []string            // further tags to which nothing may be added, sorted
	heads  map[string]*TagHead // of all these, as they were read
}

// tagsOf returns the tags of the append's events, sorted.
func (j *multiAppend) tagsOf() (tags []string) {
	for _, a := range j.parts {
		for i := range a.events {
			tags = append(tags, a.events[i].Tags...)
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// tagOperations returns the largest number of operations for tags and conditions.
func (j *multiAppend) tagOperations() int {
	n := 2 * len(j.lists.tags)
	for i := range j.boundaries {
		n += len(j.boundaries[i].query)
	}
	return n
}

// addTags adds the lists and conditions to the transaction of numbered events.
func (j *multiAppend) addTags(tx *table.Tx, packs []pack) {
	for _, tag := range j.lists.tags {
		was := j.lists.heads[tag]
		next := TagHead{TagKey: was.TagKey, N: was.N + 1, Last: make(map[string]int64, len(was.Last)+1)}
		maps.Copy(next.Last, was.Last)
		entry := TagEntry{TagEntryKey: TagEntryKey{was.TagKey, next.N}, Events: j.eventsOf(tag, packs)}
		for _, e := range entry.Events {
			next.Last[e.EventType] = next.N
		}
		TagHeads.TxPut(tx, &next, was.unchanged())
		TagEntries.TxCreate(tx, &entry)
	}
	for _, tag := range j.lists.guards {
		TagHeads.TxCheck(tx, TagKey{tag}, j.lists.heads[tag].unchanged())
	}
}

// eventsOf returns the append's events that have a tag.
func (j *multiAppend) eventsOf(tag string, packs []pack) (events []TaggedEvent) {
	for n, a := range j.parts {
		for i := range a.events {
			if e := &a.events[i]; slices.Contains(e.Tags, tag) {
				events = append(events, TaggedEvent{EventKey: e.EventKey, Page: j.page(packs, n), EventType: e.EventType, Tags: e.Tags})
			}
		}
	}
	return events
}

// unchanged is the condition that nothing was added to the list.
func (h *TagHead) unchanged() table.Cond {
	if h.N == 0 {
		return table.Absent()
	}
	return tagN.Eq(h.N)
}
