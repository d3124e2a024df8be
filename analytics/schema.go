package analytics

import (
	"time"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// The largest encoded items, in bytes. Breakdowns are bounded by the limits of package tally and by
// the lengths that ingest allows. The schema check enforces these limits.
const (
	maxWindowBytes    = 100 << 10
	maxVisitsBytes    = 390 << 10
	maxBreakdownBytes = 256 << 10
)

// lingersPerSecond is the maximum rate of blocks of single events on a server that holds each event
// for 250 ms: four a second, plus those split at the end of a five-minute span.
const lingersPerSecond = 4.7

// Growth assumes three events a visit, without a fold delay and with one of 30 seconds. A test
// compares it with metered writes at several rates.

// Sites holds the sites and their settings.
var Sites = table.Define[Site, SiteKey]("analytics.site", table.Def[Site]{
	PK: sitePK, SK: "METADATA", Access: table.Access{Ingest: table.Rights{Reads: table.Whole}},
	Indexes: []table.Index[Site]{{Name: "gsi1", PK: "OWNER#{ownerId}", SK: "SITE#{siteId}"}},
	Doc:     "A tracked web site or app and its settings.",
})

// Owners holds the owners of sites, except DefaultOwner. An owner is written before their site.
var Owners = table.Define[Owner, OwnerKey]("analytics.owner", table.Def[Owner]{
	PK: "OWNERS", SK: "OWNER#{ownerId}",
	Doc: "An owner who has or had a site.",
})

// Goals holds the goals of sites.
var Goals = table.Define[Goal, GoalKey]("analytics.goal", table.Def[Goal]{
	PK: sitePK, SK: "GOAL#{goalId}",
	Doc: "A page or custom event that counts as a conversion.",
})

// Blocks holds the raw facts: events that arrived together share an item. Events are spread over
// the site's shards by a hash of their visitor, so that what is derived from a shard has one writer.
var Blocks = table.Define[Block, BlockKey]("analytics.block", table.Def[Block]{
	PK: eventPK, SK: blockSK, Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole}},
	MaxBytes: maxBlockBytes,
	Example:  exampleBlock,
	Doc:      "Page views and custom events that arrived together.",
	Allow: map[string]string{
		"fan-out-filter": "shards are few, and all but a few of the blocks that are read have events of the time that is asked for",
	},
	Growth: table.Growth{Writes: 1, Most: lingersPerSecond, Items: 1, Bytes: 350, Packed: 45, Keep: Retention{}.Raw(), Reads: 6, MostReads: 0.63},
})

// WindowKey names a part of a window.
type WindowKey struct {
	SiteID string `dynamodbav:"siteId"`
	Shard  int    `dynamodbav:"shard"`
	Span   string `dynamodbav:"span"`
	Part   string `dynamodbav:"part"`
}

// Window records, for the events of a span, which block had each event first.
type Window struct {
	WindowKey
	fold.Window
}

// Windows lets folds recognize resent events.
var Windows = table.Define[Window, WindowKey]("analytics.window", table.Def[Window]{
	PK: eventPK, SK: fold.WindowSK, Access: table.Access{Ingest: table.Rights{Reads: table.Whole}, Fold: table.Rights{Puts: table.Whole}},
	Expires:  func(w *Window) time.Time { return w.Expiry() },
	MaxBytes: maxWindowBytes,
	Example:  exampleWindow,
	Doc:      "Which block had each event first, so that a repeated event is counted once.",
	Growth:   table.Growth{Writes: 1, Most: 4.8, MostDelayed: 0.02, Delayed: 0.023, Items: 0.02, Bytes: 600, Keep: Retention{}.Raw()},
})

// Visitors defines visitors' days, folded from events. They are states in VisitLog, not items.
var Visitors = table.Define[Visitor, VisitorKey]("analytics.visitor", table.Def[Visitor]{
	PK: eventPK, SK: "VISITOR#{visitorId}#{day}",
})

// VisitPages holds the pages of VisitLog.
var VisitPages = table.Define[VisitPage, VisitsKey]("analytics.visits", table.Def[VisitPage]{
	PK: eventPK, SK: "VISITS#{day}#{page:07}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	MaxBytes: maxVisitsBytes,
	Example:  exampleVisitPage,
	Doc:      "Changes of visitors' days: the visits of a visitor before and after.",
	Allow: map[string]string{
		"fan-out-filter": "shards are few, and so are the pages of a day; the filter drops those of other hours",
	},
	Growth: table.Growth{Writes: 1, Most: 5, MostDelayed: 0.034, Items: 1, Bytes: 350, Packed: 29, Keep: Retention{}.Of(Hour)},
})

// Sessions holds the visits of identified users, folded from visitors' days.
var Sessions = table.Define[Session, SessionKey]("analytics.session", table.Def[Session]{
	PK: sitePK, SK: "SESSION#{sessionId}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Indexes: []table.Index[Session]{{Name: "gsi1", PK: "USER#{userId}", SK: "SESSION#{sessionId}"}},
	Expires: func(s *Session) time.Time { return s.ExpiresAt },
	Example: exampleSession,
	Doc:     "One visit of an identified user.",
})

// Keys that are shared by two views of an item.
const (
	sitePK      = "SITE#{siteId}"
	eventPK     = "SITE#{siteId}#SHARD#{shard}"
	blockSK     = "BLOCK#{blockId}"
	countsPK    = "SITE#{siteId}[#SHARD#{shard}]"
	statsSK     = "STATS#{period}#{start}"
	breakdownSK = "BREAKDOWN#{period}#{dimension}#{start}"
)

// StatsItems holds the counts of hours, days and months. Hours are folded, the others rolled up.
var StatsItems = table.Define[Stats, StatsKey]("analytics.stats", table.Def[Stats]{
	PK: countsPK, SK: statsSK, Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Expires: func(s *Stats) time.Time { return s.ExpiresAt },
	Example: exampleStats,
	Doc:     "Figures of a site for one hour, day or month.",
	Growth:  table.Growth{Writes: 2.3, Most: 45, MostDelayed: 0.05, Delayed: 0.005, Bytes: 250},
})

// Breakdowns holds counts by one dimension. Hours are folded, the others rolled up.
var Breakdowns = table.Define[Breakdown, BreakdownKey]("analytics.breakdown", table.Def[Breakdown]{
	PK: countsPK, SK: breakdownSK, Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Expires:  func(b *Breakdown) time.Time { return b.ExpiresAt },
	MaxBytes: maxBreakdownBytes,
	Example:  exampleBreakdown,
	Doc:      "Figures of a site for one hour, day or month, by the values of one dimension.",
	Growth:   table.Growth{Writes: 6.6, Most: 85, MostDelayed: 0.05, Delayed: 0.003, Bytes: 2_000},
})

// Realtimes holds the counts of the last minutes, folded from events.
var Realtimes = table.Define[Realtime, RealtimeKey]("analytics.realtime", table.Def[Realtime]{
	PK: countsPK, SK: "REALTIME#{minute}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Expires: func(r *Realtime) time.Time { return r.ExpiresAt },
	Doc:     "Realtime figures of a site for one minute.",
	Growth:  table.Growth{Writes: 0.97, Most: 50, MostDelayed: 0.08, Delayed: 0.0095, Bytes: 500},
})

// Salts holds the secrets from which visitor IDs are computed.
var Salts = table.Define[Salt, SaltKey]("analytics.salt", table.Def[Salt]{
	PK: sitePK, SK: "SALT#{day}", Access: table.Access{Ingest: table.Rights{Reads: table.Whole, Puts: table.Whole}},
	Expires: func(s *Salt) time.Time { return s.ExpiresAt },
	Doc:     "The secret of a site's day, from which visitor IDs are computed. It is deleted two days after the day.",
})

// RollupMarks holds the days that need a roll-up.
var RollupMarks = table.Define[RollupMark, RollupKey]("analytics.rollup", table.Def[RollupMark]{
	PK: sitePK, SK: "ROLLUP#{day}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Example: exampleRollupMark,
	Doc:     "A day of a site whose hours changed since its last roll-up.",
	Growth:  table.Growth{Writes: 1.9, Most: 7, MostDelayed: 0.042, Bytes: 200},
})
