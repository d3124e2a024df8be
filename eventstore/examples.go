package eventstore

import (
	"fmt"
	"time"
)

// Examples for the generated documents, where field names alone do not yield a good example.

func exampleHead(h *Head) {
	h.State, h.Version, h.FirstKept, h.First = "", 2, 0, 1
	h.Records, h.Bytes = exampleRecords(h.ID, h.Version)
}

func examplePage(p *Page) {
	p.First, p.Last, p.Direct = 1, 2, false
	p.Records, _ = exampleRecords(p.ID, p.Last)
}

// exampleRecords has one event each, numbered 1 to last.
func exampleRecords(id ID, last int64) (all []Record, bytes int) {
	at := time.Date(2026, 4, 20, 14, 0, 0, 0, time.UTC)
	for n := range last {
		r := NewRecord([]Event{{
			EventKey: EventKey{id, n + 1}, EventID: fmt.Sprintf("01JS9G5D000000000000000%03d", n), EventType: "OrderPlaced", OccurredAt: at, RecordedAt: at,
			Payload: Payload(`{"total":"12.50"}`), CommitID: fmt.Sprint("place-", n+1), Of: 1,
		}}, RecordInfo{Named: true})
		all, bytes = append(all, r), bytes+len(r)
	}
	return all, bytes
}

func exampleTypeEntry(e *TypeEntry) { e.Page = 1 }

func exampleSnapshot(s *Snapshot) {
	s.LastSeq, s.State = 2, Payload(`{"status":"paid","total":"12.50"}`)
}

func examplePastSnapshot(s *PastSnapshot) {
	s.LastSeq, s.State = 1000, Payload(`{"status":"paid","total":"12.50"}`)
}

func exampleTypeCounts(c *TypeCounts) {
	c.Aggregates, c.Closed, c.Deleted, c.Events = 1042, 960, 3, 5310
}

// exampleFeedChunk has one append.
func exampleFeedChunk(c *FeedChunk) {
	c.Commits = []FeedCommit{{Parts: exampleParts()}}
}

func exampleFeedEntry(e *FeedEntry) { e.Parts = exampleParts() }

func exampleParts() []FeedPart {
	return []FeedPart{{ID: ID{Type: "order", ID: "1001"}, First: 1, N: 1, Types: []string{"OrderPlaced"}, Page: 1}}
}

func exampleFeedHead(h *FeedHead) {
	h.Position, h.Repaired = 2, 0
	h.Marks = map[string]FeedMark{"shardId-00000001": {Seq: "100000000000000000042", At: h.UpdatedAt}}
}
