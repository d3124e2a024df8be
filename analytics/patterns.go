package analytics

import (
	"context"
	"iter"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/onefold/onefold/analytics/filtered"
	"github.com/onefold/onefold/analytics/imported"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// The access patterns of the table. Their loads are those of a site with a million events a day
// whose dashboard is always open.

// Schema holds all entities and access patterns of this package.
var Schema = table.MustSchema("analytics",
	Sites, Owners, Goals, Blocks, Windows, VisitPages, Sessions, StatsItems, Breakdowns, Realtimes, Salts, RollupMarks,
	StoreEvents, KnownEvents, SessionEvents, VisitPagesOfSession, VisitPagesByTime, VisitDays, SessionsOfUser, UserSessionsByTime, VisitPagesOfDay, StatsByTime, LatestStats,
	BreakdownByTime, Minutes, SiteByID, SitesOfOwner, OwnersOfSites, EventsByTime, GoalsOfSite, DaysToRollUp,
	filtered.Days, filtered.ByDay,
	imported.Imports, imported.Days, imported.Months, imported.ImportsOfSite, imported.DaysByTime, imported.MonthsByTime,
	fold.Schema,
	table.ExpiryOrder("analytics", Retention{}.Tiers()),
	annotations,
)

// StoreEvents writes a block of events.
var StoreEvents = table.NewCreate(Blocks, table.CreateDef{
	ID: "W1", Question: "store a block of events that arrived together",
	Load: table.Load{PerSecond: 12, Items: 1, ItemBytes: 350},
})

// BlocksIn selects the blocks that may have events in a time range. EventsIn makes it.
type BlocksIn struct {
	SiteID string `dynamodbav:"siteId"`
	From   string `dynamodbav:"from"` // IDs, half-open, from the start of a span
	To     string `dynamodbav:"to"`
	Since  int64  `dynamodbav:"-"` // minimum time of the last event, epoch milliseconds
	Shards []int  `dynamodbav:"-"`
}

// SessionEvents queries the events of a session; see EventsOfSession.
var SessionEvents = table.NewQuery(Blocks, blocksDef("W2", "the events of a session", table.Load{PerSecond: 0.01, Items: 40, ItemBytes: 2_000}))

// EventsByTime queries the raw events of a site; see EventsBetween.
var EventsByTime = table.NewQuery(Blocks, blocksDef("W11", "the page views or custom events of a site in a time range", table.Load{PerSecond: 0.001, Items: 50_000, ItemBytes: 2_000}))

var lastOfBlock = table.FieldOf(Blocks, func(b *Block) *int64 { return &b.Last })

func blocksDef(id, question string, load table.Load) table.QueryDef[BlocksIn] {
	return table.QueryDef[BlocksIn]{
		ID: id, Question: question,
		From: "BLOCK#{from}", To: "BLOCK#{to}",
		FanOut: "shard", Over: func(in BlocksIn) []int { return in.Shards },
		Filter:  func(in BlocksIn) table.Cond { return lastOfBlock.Ge(in.Since) },
		Load:    load,
		Example: func(in *BlocksIn) { in.Shards = []int{0} },
	}
}

// SpansIn selects windows by their start, in fold.WindowLayout, half-open.
type SpansIn struct {
	SiteID string `dynamodbav:"siteId"`
	Shard  int    `dynamodbav:"shard"`
	From   string `dynamodbav:"from"`
	To     string `dynamodbav:"to"`
}

// KnownEvents queries the windows of a time range: which events arrived, and in which block first.
var KnownEvents = table.NewQuery(Windows, table.QueryDef[SpansIn]{
	ID: "W1b", Question: "the events of a time range that have arrived",
	From: "WINDOW#{from}", To: "WINDOW#{to}",
	Load: table.Load{PerSecond: 0.01, Items: 10, ItemBytes: 1_000},
})

// FirstID returns the smallest event ID of a millisecond.
func FirstID(at time.Time) string {
	var id ulid.ULID
	if err := id.SetTime(ulid.Timestamp(at)); err != nil { // later than the year 10889
		return ulid.ULID{255}.String()
	}
	return id.String()
}

// SiteIn names a site.
type SiteIn = SiteKey

// VisitsIn selects pages of days in [From, To) that change sessions started in a time range.
type VisitsIn struct {
	SiteID string `dynamodbav:"siteId"`
	From   string `dynamodbav:"from"` // days; an empty From is open
	To     string `dynamodbav:"to"`
	Since  int64  `dynamodbav:"-"` // epoch milliseconds, inclusive
	Until  int64  `dynamodbav:"-"`
	Shards []int  `dynamodbav:"-"`
}

// VisitPagesByTime queries the sessions of a site, latest pages first; see SessionsIn.Latest.
var VisitPagesByTime = table.NewQuery(VisitPages, visitsDef("W4", "the sessions of a site, latest start first", true, table.Load{PerSecond: 0.2, Items: 4, ItemBytes: 6_000}))

// VisitPagesOfSession queries the pages of one session; see GetSession.
var VisitPagesOfSession = table.NewQuery(VisitPages, visitsDef("W3", "one session", true, table.Load{PerSecond: 0.05, Items: 4, ItemBytes: 6_000}))

// VisitDays queries the days of a site that have sessions; see SessionsIn.All.
var VisitDays = table.NewQuery(VisitPages, visitsDef("W4b", "the next day of a site with sessions that started in a time range", false, table.Load{PerSecond: 0.001, Items: 1, ItemBytes: 6_000}))

var (
	firstOfVisits = table.FieldOf(VisitPages, func(p *VisitPage) *int64 { return &p.First })
	lastOfVisits  = table.FieldOf(VisitPages, func(p *VisitPage) *int64 { return &p.Last })
)

func visitsDef(id, question string, desc bool, load table.Load) table.QueryDef[VisitsIn] {
	return table.QueryDef[VisitsIn]{
		ID: id, Question: question,
		From: "VISITS#{from}", To: "VISITS#{to}", Desc: desc,
		FanOut: "shard", Over: func(in VisitsIn) []int { return in.Shards },
		Filter:  func(in VisitsIn) table.Cond { return table.And(firstOfVisits.Le(in.Until), lastOfVisits.Ge(in.Since)) },
		Load:    load,
		Example: func(in *VisitsIn) { in.Shards, in.Until = []int{0}, endOfTime },
	}
}

// UserIn selects a user by the ID that sites use.
type UserIn struct {
	UserID string `dynamodbav:"userId"`
}

// SessionsOfUser queries the sessions of a user, latest first, on all sites that use this ID. Two
// sites may mean different people by it: UserJourney is for the people of one site.
var SessionsOfUser = table.NewQuery(Sessions, table.QueryDef[UserIn]{
	ID: "W5", Question: "the sessions of a user (user journey)", Index: "gsi1", Desc: true,
	Load: table.Load{PerSecond: 0.01, Items: 20, ItemBytes: 500},
})

// UserJourney yields the sessions of a user on one site, latest first.
func UserJourney(ctx context.Context, t *table.Table, siteID, userID string) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		for s, err := range SessionsOfUser.All(ctx, t, UserIn{userID}) {
			if (err != nil || s.SiteID == siteID) && !yield(s, err) {
				return
			}
		}
	}
}

// DayOfVisitsIn selects a shard's visitors' days. VisitLog.Load and VisitLog.All read all pages.
type DayOfVisitsIn struct {
	SiteID string `dynamodbav:"siteId"`
	Shard  int    `dynamodbav:"shard"`
	Day    string `dynamodbav:"day"`
}

// VisitPagesOfDay queries the visitors of a day with their sessions.
var VisitPagesOfDay = table.NewQuery(VisitPages, table.QueryDef[DayOfVisitsIn]{
	ID: "W6", Question: "the sessions of the visitors of a day", Prefix: "VISITS#{day}#",
	Load: table.Load{PerSecond: 0.01, Items: 50, ItemBytes: 6_000},
})

// StatsIn selects the statistics of buckets that start in [From, To); an empty To is open. An hour
// has an item for each shard with facts: Site.StatsIn knows the shards.
type StatsIn struct {
	SiteID string `dynamodbav:"siteId"`
	Period Period `dynamodbav:"period"`
	From   string `dynamodbav:"from"`
	To     string `dynamodbav:"to"`
	Shards []int  `dynamodbav:"-"` // of hours; nil: all possible ones
}

// StatsIn selects statistics of the site.
func (s *Site) StatsIn(p Period, from, to string) StatsIn {
	return StatsIn{s.SiteID, p, from, to, s.shards()}
}

// shards returns all shards that the site has or had.
func (s *Site) shards() []int { return s.Sharding.Over(time.Time{}, time.Time{}) }

// shardsOf returns the shards in which the buckets of a period are. Those that are rolled up are in
// the first.
func shardsOf(p Period, shards []int) []int {
	if p != Hour {
		return firstShard
	}
	return possible(shards)
}

var firstShard, everyShard = []int{0}, table.Shards(table.MaxShards).Over(time.Time{}, time.Time{})

// possible returns shards, or all possible ones for nil.
func possible(shards []int) []int {
	if shards == nil {
		return everyShard
	}
	return shards
}

// StatsByTime queries the statistics of a site by bucket.
var StatsByTime = table.NewQuery(StatsItems, table.QueryDef[StatsIn]{
	ID: "W7", Question: "the statistics of a site for a time range, by hour, day or month",
	From: "STATS#{period}#{from}", To: "STATS#{period}#{to}",
	FanOut: "shard", Over: func(in StatsIn) []int { return shardsOf(in.Period, in.Shards) },
	Example: func(in *StatsIn) { in.Shards = firstShard },
	Load:    table.Load{PerSecond: 0.5, Items: 31, ItemBytes: 250},
})

// BreakdownIn selects the breakdowns of buckets that start in [From, To); an empty To is open. See
// StatsIn for hours.
type BreakdownIn struct {
	SiteID    string    `dynamodbav:"siteId"`
	Period    Period    `dynamodbav:"period"`
	Dimension Dimension `dynamodbav:"dimension"`
	From      string    `dynamodbav:"from"`
	To        string    `dynamodbav:"to"`
	Shards    []int     `dynamodbav:"-"` // of hours; nil: all possible ones
}

// BreakdownIn selects breakdowns of the site.
func (s *Site) BreakdownIn(p Period, d Dimension, from, to string) BreakdownIn {
	return BreakdownIn{s.SiteID, p, d, from, to, s.shards()}
}

// BreakdownByTime queries the values of one dimension by bucket.
var BreakdownByTime = table.NewQuery(Breakdowns, table.QueryDef[BreakdownIn]{
	ID: "W8", Question: "the breakdown of a site by one dimension for a time range",
	From: "BREAKDOWN#{period}#{dimension}#{from}", To: "BREAKDOWN#{period}#{dimension}#{to}",
	FanOut: "shard", Over: func(in BreakdownIn) []int { return shardsOf(in.Period, in.Shards) },
	Example: func(in *BreakdownIn) { in.Shards = firstShard },
	Load:    table.Load{PerSecond: 0.5, Items: 31, ItemBytes: 4_000},
})

// MinutesIn selects the minutes in [From, To). Site.LastMinutes makes it.
type MinutesIn struct {
	SiteID string `dynamodbav:"siteId"`
	From   string `dynamodbav:"from"`
	To     string `dynamodbav:"to"`
	Shards []int  `dynamodbav:"-"` // nil: all possible ones
}

// Minutes queries the last minutes of a site. A minute is kept for RealtimeWindow.
var Minutes = table.NewQuery(Realtimes, table.QueryDef[MinutesIn]{
	ID: "W9", Question: "the last minutes of a site (realtime)",
	From: "REALTIME#{from}", To: "REALTIME#{to}",
	FanOut: "shard", Over: func(in MinutesIn) []int { return possible(in.Shards) },
	Example: func(in *MinutesIn) { in.Shards = firstShard },
	Load:    table.Load{PerSecond: 0.2, Items: 5, ItemBytes: 2_000},
})

// LastMinutes selects the minute that contains now and the minutes before it, n in total.
func (s *Site) LastMinutes(now time.Time, n int) MinutesIn {
	minute := now.UTC().Truncate(time.Minute)
	return MinutesIn{
		SiteID: s.SiteID, Shards: s.shards(),
		From: minute.Add(-time.Duration(n-1) * time.Minute).Format(minuteLayout),
		To:   minute.Add(time.Minute).Format(minuteLayout),
	}
}

// SiteByID reads one site.
var SiteByID = table.NewGet[SiteIn](Sites, table.GetDef{
	ID: "W10", Question: "a site and its settings", Load: table.Load{PerSecond: 1, Items: 1, ItemBytes: 400},
})

// OwnerIn selects an owner of sites.
type OwnerIn struct {
	OwnerID string `dynamodbav:"ownerId"`
}

// SitesOfOwner queries the sites of an owner, by ID.
var SitesOfOwner = table.NewQuery(Sites, table.QueryDef[OwnerIn]{
	ID: "W10b", Question: "the sites of an owner", Index: "gsi1",
	Load: table.Load{PerSecond: 0.01, Items: 5, ItemBytes: 400},
})

// OwnersOfSites queries the owners who have or had a site, by ID, except DefaultOwner.
var OwnersOfSites = table.NewQuery(Owners, table.QueryDef[struct{}]{
	ID: "W10c", Question: "all owners of sites",
	Load: table.Load{PerSecond: 0.07, Items: 1, ItemBytes: 100},
})

// EventKind selects page views or custom events.
type EventKind string

// The kinds of events. The zero value selects all.
const (
	PageViewsOnly    EventKind = "pageview"
	CustomEventsOnly EventKind = "event"
)

// GoalsOfSite queries the goals of a site by ID, including deleted ones.
var GoalsOfSite = table.NewQuery(Goals, table.QueryDef[SiteIn]{
	ID: "W12", Question: "the goals of a site, including those that are being deleted", Load: table.Load{PerSecond: 0.1, Items: 5, ItemBytes: 150},
})

// DaysIn selects days in [From, To); an empty end is open.
type DaysIn struct {
	SiteID string `dynamodbav:"siteId"`
	From   string `dynamodbav:"from"`
	To     string `dynamodbav:"to"`
}

// DaysToRollUp queries the days whose hours changed since their last roll-up.
var DaysToRollUp = table.NewQuery(RollupMarks, table.QueryDef[DaysIn]{
	ID: "W13", Question: "the days of a site that wait for a roll-up",
	From: "ROLLUP#{from}", To: "ROLLUP#{to}",
	Load: table.Load{PerSecond: 0.5, Items: 1, ItemBytes: 120},
})

// UserSessionsIn selects sessions of identified users by ID, half-open; an empty end is open.
type UserSessionsIn struct {
	SiteID string `dynamodbav:"siteId"`
	From   string `dynamodbav:"from"`
	To     string `dynamodbav:"to"`
}

// UserSessionsByTime queries the sessions of identified users by start; SessionsIn.All has all.
var UserSessionsByTime = table.NewQuery(Sessions, table.QueryDef[UserSessionsIn]{
	ID: "W5b", Question: "the sessions of a site's identified users that started in a time range",
	From: "SESSION#{from}", To: "SESSION#{to}",
	Load: table.Load{PerSecond: 0.001, Items: 1_000, ItemBytes: 500},
})
