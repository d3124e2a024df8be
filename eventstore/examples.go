package eventstore

// Examples for the generated documents, where field names alone do not yield a good example.

func exampleHead(h *Head) { h.State, h.FirstKept = "", 0 }

func exampleEvent(e *Event) {
	e.Payload, e.Schema = Payload(`{"total":"12.50"}`), 1
}

func exampleSnapshot(s *Snapshot) {
	s.LastSeq, s.State = 2, Payload(`{"status":"paid","total":"12.50"}`)
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
	return []FeedPart{{ID: ID{Type: "order", ID: "1001"}, First: 1, N: 1, Types: []string{"OrderPlaced"}}}
}

func exampleFeedHead(h *FeedHead) {
	h.Position, h.Repaired = 2, 0
	h.Marks = map[string]FeedMark{"shardId-00000001": {Seq: "100000000000000000042", At: h.UpdatedAt}}
}
