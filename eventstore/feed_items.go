package eventstore

import (
	"slices"
	"time"

	"github.com/onefold/onefold/table"
)

// FeedPart is the part of an append for one aggregate: events First to First+N-1.
type FeedPart struct {
	ID
	First int64    `dynamodbav:"first"`
	N     int      `dynamodbav:"n"`
	Types []string `dynamodbav:"types,omitempty"` // distinct types of its events
	Page  int64    `dynamodbav:"page,omitempty"`  // first event of the page with the first of them; 0: unknown
}

// Last returns the number of the last event.
func (p *FeedPart) Last() int64 { return p.First + int64(p.N) - 1 }

// FeedCommit is an append in the feed, to one or several aggregates.
type FeedCommit struct {
	Position int64      `dynamodbav:"-"` // position in the feed, derived from its chunk
	Parts    []FeedPart `dynamodbav:"parts"`
}

// FeedEntryKey names an entry by the ID of the first event of its append.
type FeedEntryKey struct {
	Entry string `dynamodbav:"entry"`
}

// FeedEntry passes an append, or a group of appends to one aggregate, to the feed. It is written in the transaction of the append. All
// entries are in one partition, so the change stream delivers them in order, however many shards it
// has: an append comes after those that were acknowledged before it began.
type FeedEntry struct {
	FeedEntryKey
	Parts   []FeedPart `dynamodbav:"parts"`
	Expires time.Time  `dynamodbav:"ttl,unixtime,omitempty"`
}

// appends returns the parts of each append of the entry: of one append, or of those of a group, which
// have a part each and are to the same aggregate.
func (e *FeedEntry) appends() [][]FeedPart {
	if len(e.Parts) < 2 || e.Parts[0].ID != e.Parts[1].ID {
		return [][]FeedPart{e.Parts}
	}
	return slices.Collect(slices.Chunk(e.Parts, 1))
}

// keepEntry is how long an entry is stored: a day longer than the change stream keeps its change.
const keepEntry = 48 * time.Hour

// FeedEntries holds the appends that are on their way into the feed.
var FeedEntries = table.Define[FeedEntry, FeedEntryKey]("eventstore.feedentry", table.Def[FeedEntry]{
	PK: "FEED_ENTRIES", SK: "ENTRY#{entry}", Access: table.Access{Ingest: table.Rights{Puts: table.Whole}},
	Example: exampleFeedEntry,
	Doc:     "An append that is not in the feed yet.",
	Growth:  table.Growth{Writes: 1, Items: 1, Bytes: 250, Transact: true, Keep: keepEntry},
})

// FeedChunkKey names a chunk by the position of its last append.
type FeedChunkKey struct {
	Last int64 `dynamodbav:"last"`
}

// FeedChunk is a part of the feed: consecutive appends.
type FeedChunk struct {
	FeedChunkKey
	Commits []FeedCommit `dynamodbav:"commits"`
	At      time.Time    `dynamodbav:"at"` // when it was written
}

// feedPK is the partition of the whole feed, because it has one order.
const feedPK = "FEED"

// FeedChunks holds the feed.
var FeedChunks = table.Define[FeedChunk, FeedChunkKey]("eventstore.feed", table.Def[FeedChunk]{
	PK: feedPK, SK: "POSITION#{last:012}", Immutable: true, Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Example: exampleFeedChunk,
	Doc:     "Appends of all aggregates, in one order without gaps.",
	Growth:  table.Growth{Writes: 1, Delayed: 0.1, Most: flushesPerSecond, Items: 1, Bytes: 250, Transact: true}, // ten appends take a KB
})

// FeedHeadKey is the key of the only feed head.
type FeedHeadKey struct{}

// FeedHead is the end of the feed, and the marks of the change stream up to which it is complete.
// It is written with each chunk.
type FeedHead struct {
	FeedHeadKey
	Position  int64               `dynamodbav:"position"`
	Version   int64               `dynamodbav:"version"` // incremented at every write
	Repaired  int64               `dynamodbav:"repaired,omitempty"`
	Marks     map[string]FeedMark `dynamodbav:"marks"` // by shard of the change stream
	UpdatedAt time.Time           `dynamodbav:"updatedAt"`
}

// FeedMark is the last record of a shard that is in the feed.
type FeedMark struct {
	Seq string    `dynamodbav:"seq"`
	At  time.Time `dynamodbav:"at"` // when a record of the shard was last seen
}

// FeedHeads holds the feed head.
var FeedHeads = table.Define[FeedHead, FeedHeadKey]("eventstore.feedhead", table.Def[FeedHead]{
	PK: feedPK, SK: "#HEAD", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Example: exampleFeedHead,
	Doc:     "The last position of the feed, and how much of the change stream it contains.",
	Growth:  table.Growth{Writes: 1, Delayed: 0.034, Most: flushesPerSecond, Bytes: 500, Transact: true, Reads: 2},
})

// FeedIn selects the feed from the chunk that contains a position.
type FeedIn struct {
	After int64 `dynamodbav:"after"`
	To    int64 `dynamodbav:"to"`
}

// FeedFrom queries the chunks of the feed in order.
var FeedFrom = table.NewQuery(FeedChunks, table.QueryDef[FeedIn]{
	ID: "E12", Question: "the appends of all aggregates after a position", From: "POSITION#{after:012}", To: "POSITION#{to:012}",
	Load: table.Load{PerSecond: 1, Items: 2, ItemBytes: 20000},
})

// FeedHeadNow reads the feed head.
var FeedHeadNow = table.NewGet[FeedHeadKey](FeedHeads, table.GetDef{
	ID: "E13", Question: "the last position of the feed", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 500},
})
