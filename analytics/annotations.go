package analytics

import "github.com/onefold/onefold/table"

// annotations appear in the documents of the schema.
var annotations = table.Annotations{
	Callers: []table.Caller{
		{Name: "ingest, imports", Patterns: []string{"W1", "W10", "W12"}},
		{Name: "reports, dashboard", Patterns: []string{"W7", "W7b", "W8", "W12", "W13", "W14", "W20", "W21", "W22"}},
		{Name: "realtime", Patterns: []string{"W4", "W9"}},
		{Name: "explore", Patterns: []string{"W2", "W3", "W4", "W4b", "W5", "W6", "W11"}},
		{Name: "erasure", Patterns: []string{"W2", "W3", "W6", "W11"}},
		{Name: "roll-up", Patterns: []string{"W7", "W8", "W10b", "W10c", "W13"}},
		{Name: "verify, rebuild", Patterns: []string{"W5b", "W6", "W7", "W8", "W11"}},
		{Name: "goals on past events", Patterns: []string{"W11"}},
	},
	Gaps: []table.Gap{
		{Question: "two dimensions at once in a standard report, such as pages by country", Needs: "a breakdown by both, which multiplies the number of values; explore answers it from raw events while they are kept"},
		{Question: "a visitor across days", Needs: "a visitor ID that outlives the salt of the day, which is deleted on purpose; users who log in can be found by user ID"},
		{Question: "exact unique visitors of a week or a month", Needs: "an item per visitor and month; reports use a mergeable sketch with a stated error"},
		{Question: "sessions by country, channel or device", Needs: "an item per session with an index key for each; explore reads all sessions of the time range"},
	},
	Decisions: []table.Decision{
		{Title: "0002: Lifetimes count from arrival", Link: "../decisions/0002-expiry-counts-from-arrival.md"},
		{Title: "0003: Our own visitor sketch and user agent table", Link: "../decisions/0003-our-own-sketch-and-user-agent-table.md"},
		{Title: "0007: Refused events are counted beside the folds", Link: "../decisions/0007-refused-events-are-counted-beside-the-folds.md"},
		{Title: "0008: Events carry the goals that they reach", Link: "../decisions/0008-events-carry-the-goals-that-they-reach.md"},
		{Title: "0010: Imported counts are facts, added when read", Link: "../decisions/0010-imported-counts-are-facts.md"},
		{Title: "0013: Derived items may wait", Link: "../decisions/0013-derived-items-may-wait.md"},
		{Title: "0015: Web vitals are histograms in breakdowns", Link: "../decisions/0015-web-vitals-are-histograms-in-breakdowns.md"},
		{Title: "0046: Events arrive in blocks", Link: "../decisions/0046-events-arrive-in-blocks.md"},
		{Title: "0053: Visitors' days are states in a log", Link: "../decisions/0053-visitors-days-are-in-a-log.md"},
	},
}
