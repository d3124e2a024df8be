package eventstore

import (
	"time"

	"github.com/onefold/onefold/table"
)

// FeedPart is what an append added to one aggregate: the events First to First+N-1.
type FeedPart struct {
	ID
	First int64    `dynamodbav:"first"`
	N     int      `dynamodbav:"n"`
	Types []string `dynamodbav:"types,omitempty"` // the different types of its events
}

// Last is the number of the last event.
func (p *FeedPart) Last() int64 { return p.First + int64(p.N) - 1 }

// FeedCommit is an append in the feed, to one aggregate or to several.
type FeedCommit struct {
	Position int64      `dynamodbav:"-"` // where it is in the feed; its chunk tells
	Parts    []FeedPart `dynamodbav:"parts"`
}

// FeedEntryKey names an entry by the id of the first event of its append.
type FeedEntryKey struct {
	Entry string `dynamodbav:"entry"`
}

// FeedEntry tells the feed of an append, whole. It is written in the transaction of the append. All entries are in one partition, whose changes the
// change stream tells in the order in which they were made, however many shards it has: so an append whose cause was acknowledged comes behind it.
type FeedEntry struct {
	FeedEntryKey
	Parts   []FeedPart `dynamodbav:"parts"`
	Expires time.Time  `dynamodbav:"ttl,unixtime,omitempty"`
}

// keepEntry is how long an entry stays in the table: for a day longer than the change stream has it.
const keepEntry = 48 * time.Hour

// FeedEntries are the appends that are on their way into the feed.
var FeedEntries = table.Define[FeedEntry, FeedEntryKey]("eventstore.feedentry", table.Def[FeedEntry]{
	PK: "FEED_ENTRIES", SK: "ENTRY#{entry}",
	Example: exampleFeedEntry,
	Doc:     "An append on its way into the feed.",
	Growth:  table.Growth{Writes: 1, Items: 1, Bytes: 250, Transact: true, Keep: keepEntry},
})

// FeedChunkKey names a part of the feed by the position of its last append.
type FeedChunkKey struct {
	Last int64 `dynamodbav:"last"`
}

// FeedChunk is a part of the feed: appends that follow one another.
type FeedChunk struct {
	FeedChunkKey
	Commits []FeedCommit `dynamodbav:"commits"`
	At      time.Time    `dynamodbav:"at"` // when it was written
}

// feedPK is the partition of the feed: all of it, for it is one order.
const feedPK = "FEED"

// FeedChunks are the feed.
var FeedChunks = table.Define[FeedChunk, FeedChunkKey]("eventstore.feed", table.Def[FeedChunk]{
	PK: feedPK, SK: "POSITION#{last:012}", Immutable: true,
	Example: exampleFeedChunk,
	Doc:     "Appends of all aggregates in one order without gaps.",
	Growth:  table.Growth{Writes: 1, Delayed: 0.1, Most: flushesPerSecond, Items: 1, Bytes: 250, Transact: true}, // a KB takes ten appends
})

// FeedHeadKey is the key of the one feed head.
type FeedHeadKey struct{}

// FeedHead says where the feed goes on, and what of the change stream is in it: its marks. It is written with each chunk.
type FeedHead struct {
	FeedHeadKey
	Position  int64               `dynamodbav:"position"`
	Version   int64               `dynamodbav:"version"` // one more with every write
	Repaired  int64               `dynamodbav:"repaired,omitempty"`
	Marks     map[string]FeedMark `dynamodbav:"marks"` // by shard of the change stream
	UpdatedAt time.Time           `dynamodbav:"updatedAt"`
}

// FeedMark is the last record of a shard that is in the feed.
type FeedMark struct {
	Seq string    `dynamodbav:"seq"`
	At  time.Time `dynamodbav:"at"` // when a record of the shard was last looked at
}

// FeedHeads is the feed head.
var FeedHeads = table.Define[FeedHead, FeedHeadKey]("eventstore.feedhead", table.Def[FeedHead]{
	PK: feedPK, SK: "#HEAD",
	Example: exampleFeedHead,
	Doc:     "Where the feed goes on, and what of the change stream is in it.",
	Growth:  table.Growth{Writes: 1, Delayed: 0.034, Most: flushesPerSecond, Bytes: 500, Transact: true, Reads: 2},
})

// FeedIn asks for the feed from the chunk on that has a position.
type FeedIn struct {
	After int64 `dynamodbav:"after"`
	To    int64 `dynamodbav:"to"`
}

// FeedFrom are the chunks of the feed in order.
var FeedFrom = table.NewQuery(FeedChunks, table.QueryDef[FeedIn]{
	ID: "E12", Question: "the appends of all aggregates behind a position", From: "POSITION#{after:012}", To: "POSITION#{to:012}",
	Load: table.Load{PerSecond: 1, Items: 2, ItemBytes: 20000},
})

// FeedHeadNow is how far the feed is.
var FeedHeadNow = table.NewGet[FeedHeadKey](FeedHeads, table.GetDef{
	ID: "E13", Question: "how far the feed is", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 500},
})
