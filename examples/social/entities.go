package social

import (
	"time"

	"github.com/onefold/onefold/table"
)

// UserKey is the key of a user.
type UserKey struct {
	UserID string `dynamodbav:"userId"`
}

// User is a user.
type User struct {
	UserKey
	Name string `dynamodbav:"name"`
}

// Users are in the partition of their follows.
var Users = table.Define[User, UserKey]("social.user", table.Def[User]{
	PK: "USER#{userId}", SK: "USER#{userId}", Doc: "a user",
})

// FollowKey is the key of an edge of the graph.
type FollowKey struct {
	Follower string `dynamodbav:"follower"`
	Followee string `dynamodbav:"followee"`
}

// Follow records that one user follows another.
type Follow struct {
	FollowKey
	Since time.Time `dynamodbav:"since"`
}

// Follows are in the partition of their follower, and on the index in that of the followee. Both
// are ordered by user ID.
var Follows = table.Define[Follow, FollowKey]("social.follow", table.Def[Follow]{
	PK: "USER#{follower}", SK: "FOLLOWS#{followee}", Immutable: true,
	Indexes: []table.Index[Follow]{{Name: "gsi1", PK: "FOLLOWED_BY#{followee}", SK: "USER#{follower}"}},
	Doc:     "a user follows another user",
})

// SessionKey is the key of a session.
type SessionKey struct {
	SessionID string `dynamodbav:"sessionId"`
}

// Session is a visit of a user, until it is ended or expires.
type Session struct {
	SessionKey
	UserID    string    `dynamodbav:"userId"`
	StartedAt time.Time `dynamodbav:"startedAt"`
	EndedAt   time.Time `dynamodbav:"endedAt,omitempty"`
	ExpiresAt time.Time `dynamodbav:"ttl,unixtime,omitempty"`
	Shard     int       `dynamodbav:"shard,omitempty"` // on the index, derived from its ID
}

// SessionShards is the number of index partitions of active sessions. It may be raised, because a
// session keeps its shard, but not lowered while older sessions exist.
const SessionShards = 4

// Sessions are on the index while they are active. Other sessions cost nothing there, and need no
// filter.
var Sessions = table.Define[Session, SessionKey]("social.session", table.Def[Session]{
	PK: "SESSION#{sessionId}", SK: "SESSION#{sessionId}",
	Indexes: []table.Index[Session]{{
		Name: "gsi1", PK: "SESSION#active[#{shard}]", SK: "SESSION#{startedAt:ms}#{sessionId}",
		When: func(s *Session) bool { return s.EndedAt.IsZero() }, WhenReads: []string{"endedAt"},
	}},
	Doc: "a login session of a user, until it ends or expires",
	Example: func(s *Session) {
		s.ExpiresAt, s.Shard = s.StartedAt.Add(SessionLasts), table.Shard(s.SessionID, SessionShards)
	},
})

var (
	sessionStart = table.FieldOf(Sessions, func(s *Session) *time.Time { return &s.StartedAt })
	sessionEnd   = table.FieldOf(Sessions, func(s *Session) *time.Time { return &s.EndedAt })
	sessionShard = table.FieldOf(Sessions, func(s *Session) *int { return &s.Shard })
)
