package eventstore

import "github.com/onefold/onefold/table"

// annotations appear in the documents of the schema.
var annotations = table.Annotations{
	Callers: []table.Caller{
		{Name: "append", Patterns: []string{"E1", "E1b", "E5", "E9", "E14"}},
		{Name: "read", Patterns: []string{"E5", "E2", "E3"}},
		{Name: "state", Patterns: []string{"E2", "E3", "E4", "E5"}},
		{Name: "events of a type over HTTP", Patterns: []string{"E6", "E14"}},
		{Name: "folds", Patterns: []string{"E7"}},
		{Name: "list of aggregates", Patterns: []string{"E5", "E8"}},
		{Name: "reservations", Patterns: []string{"E10", "E10b"}},
		{Name: "list of types", Patterns: []string{"E11"}},
		{Name: "feed", Patterns: []string{"E12", "E13"}},
	},
	Gaps: []table.Gap{
		{Question: "events by a value in their payload", Needs: "a projection into an entity whose key contains that value: a fold of events"},
		{Question: "events of all types between two times", Needs: "the feed, read from a position; or a sharded index key of the day"},
		{Question: "the states of many aggregates at once", Needs: "a projection; a state is computed from one stream"},
	},
	Decisions: []table.Decision{
		{Title: "The event store: guarantees and costs", Link: "../guides/eventstore.md"},
		{Title: "0057: A stream is stored in pages, and the open page is the head", Link: "../decisions/0057-streams-are-pages.md"},
	},
}
