package social

import (
	"time"

	"github.com/onefold/onefold/table"
)

// GetUser reads a user.
var GetUser = table.NewGet[UserKey](Users, table.GetDef{
	ID: "S1", Question: "a user", Load: table.Load{PerSecond: 50, Items: 1, ItemBytes: 120},
})

// FollowerIn selects a follower.
type FollowerIn struct {
	Follower string `dynamodbav:"follower"`
}

// FolloweeIn selects a followee.
type FolloweeIn struct {
	Followee string `dynamodbav:"followee"`
}

// FollowedBy reads the users that a user follows.
var FollowedBy = table.NewQuery(Follows, table.QueryDef[FollowerIn]{
	ID: "S2", Question: "the users whom a user follows, by ID", Load: table.Load{PerSecond: 20, Items: 100, ItemBytes: 150},
})

// FollowersOf reads the followers of a user.
var FollowersOf = table.NewQuery(Follows, table.QueryDef[FolloweeIn]{
	ID: "S3", Question: "the followers of a user, by ID", Index: "gsi1", Load: table.Load{PerSecond: 20, Items: 100, ItemBytes: 150},
})

// GetFollow reads whether one user follows another.
var GetFollow = table.NewGet[FollowKey](Follows, table.GetDef{
	ID: "S4", Question: "whether one user follows another", Load: table.Load{PerSecond: 100, Items: 1, ItemBytes: 150},
})

// AddFollow lets one user follow another.
var AddFollow = table.NewCreate(Follows, table.CreateDef{
	ID: "S5", Question: "follow a user, once", Load: table.Load{PerSecond: 5, Items: 1, ItemBytes: 150},
})

// GetSession reads a session.
var GetSession = table.NewGet[SessionKey](Sessions, table.GetDef{
	ID: "S6", Question: "a session", Load: table.Load{PerSecond: 200, Items: 1, ItemBytes: 200},
})

// SinceIn selects sessions started in the time [From, To). A zero end is open.
type SinceIn struct {
	From time.Time `dynamodbav:"from"`
	To   time.Time `dynamodbav:"to"`
}

// ActiveSessions reads the sessions that are neither ended nor expired.
var ActiveSessions = table.NewQuery(Sessions, table.QueryDef[SinceIn]{
	ID: "S7", Question: "the active sessions, newest first", Index: "gsi1", PK: "SESSION#active[#{shard}]",
	From: "SESSION#{from:ms}", To: "SESSION#{to:ms}", Desc: true,
	FanOut: "shard", Over: func(SinceIn) []int { return table.Shards(SessionShards).Over(time.Time{}, time.Time{}) },
	Load: table.Load{PerSecond: 0.1, Items: 500, ItemBytes: 200},
})

// Schema is the schema of the table: entities and access patterns.
var Schema = table.MustSchema("social", GetUser, FollowedBy, FollowersOf, GetFollow, AddFollow, GetSession, ActiveSessions,
	table.Annotations{Gaps: []table.Gap{
		{Question: "the number of followers of a user", Needs: "a fold that counts the items of social.follow, exactly once"},
		{Question: "the posts of the users whom a user follows", Needs: "an entity for posts, and a fold that copies each post to the feeds of the followers"},
	}})
