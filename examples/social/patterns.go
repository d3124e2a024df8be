package social

import (
	"time"

	"github.com/onefold/onefold/table"
)

// GetUser is one user.
var GetUser = table.NewGet[UserKey](Users, table.GetDef{
	ID: "S1", Question: "a user", Load: table.Load{PerSecond: 50, Items: 1, ItemBytes: 120},
})

// FollowerIn is a user who follows.
type FollowerIn struct {
	Follower string `dynamodbav:"follower"`
}

// FolloweeIn is a user who is followed.
type FolloweeIn struct {
	Followee string `dynamodbav:"followee"`
}

// FollowedBy is whom a user follows.
var FollowedBy = table.NewQuery(Follows, table.QueryDef[FollowerIn]{
	ID: "S2", Question: "whom does a user follow, by id", Load: table.Load{PerSecond: 20, Items: 100, ItemBytes: 150},
})

// FollowersOf is who follows a user.
var FollowersOf = table.NewQuery(Follows, table.QueryDef[FolloweeIn]{
	ID: "S3", Question: "who follows a user, by id", Index: "gsi1", Load: table.Load{PerSecond: 20, Items: 100, ItemBytes: 150},
})

// GetFollow is whether one follows another.
var GetFollow = table.NewGet[FollowKey](Follows, table.GetDef{
	ID: "S4", Question: "does one user follow another", Load: table.Load{PerSecond: 100, Items: 1, ItemBytes: 150},
})

// AddFollow makes one follow another.
var AddFollow = table.NewCreate(Follows, table.CreateDef{
	ID: "S5", Question: "follow, once", Load: table.Load{PerSecond: 5, Items: 1, ItemBytes: 150},
})

// GetSession is one session.
var GetSession = table.NewGet[SessionKey](Sessions, table.GetDef{
	ID: "S6", Question: "a session", Load: table.Load{PerSecond: 200, Items: 1, ItemBytes: 200},
})

// SinceIn is the time [From, To) in which sessions began; an end that is zero is open.
type SinceIn struct {
	From time.Time `dynamodbav:"from"`
	To   time.Time `dynamodbav:"to"`
}

// ActiveSessions are the sessions that are neither ended nor expired.
var ActiveSessions = table.NewQuery(Sessions, table.QueryDef[SinceIn]{
	ID: "S7", Question: "the active sessions, the latest first", Index: "gsi1", PK: "SESSION#active[#{shard}]",
	From: "SESSION#{from:ms}", To: "SESSION#{to:ms}", Desc: true,
	FanOut: "shard", Over: func(SinceIn) []int { return table.Shards(SessionShards).Over(time.Time{}, time.Time{}) },
	Load: table.Load{PerSecond: 0.1, Items: 500, ItemBytes: 200},
})

// Schema is all that the table stores and is asked.
var Schema = table.MustSchema("social", GetUser, FollowedBy, FollowersOf, GetFollow, AddFollow, GetSession, ActiveSessions,
	table.Remarks{Gaps: []table.Gap{
		{Question: "how many followers has a user", Needs: "a fold over social.follow that counts them, exactly once"},
		{Question: "what do those whom a user follows write", Needs: "an entity of posts, and a fold that puts each into the feeds of the followers"},
	}})
