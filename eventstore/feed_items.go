package eventstore

import (
	"time"

	"github.com/onefold/onefold/table"
)

// FeedCommit is an append in the feed. Its events are First to First+N-1 of its aggregate.
type FeedCommit struct {
	ID
	Position int64    `dynamodbav:"-"` // where it is in the feed; its chunk tells
	First    int64    `dynamodbav:"first"`
	N        int      `dynamodbav:"n"`
	Types    []string `dynamodbav:"types,omitempty"` // the different types of its events; none: not known
}

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
