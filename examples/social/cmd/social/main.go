// Command social demonstrates follows and sessions. It keeps everything in memory, and has no
// options.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/examples/internal/printer"
	"github.com/onefold/onefold/examples/social"
	"github.com/onefold/onefold/table"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "social:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	db, err := engine.OpenMemory(engine.Options{}) // or a *dynamodb.Client
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := social.Schema.Ensure(ctx, db, "social"); err != nil {
		return err
	}
	t := table.New(db, "social", table.Options{Clock: printer.Clock()})
	if err := live(ctx, t); err != nil {
		return err
	}
	return ask(ctx, out, t)
}

// live creates users, follows and sessions.
func live(ctx context.Context, t *table.Table) error {
	for _, id := range []string{"alice", "bob", "carol"} {
		if err := social.Users.Create(ctx, t, &social.User{UserKey: social.UserKey{UserID: id}, Name: id}); err != nil {
			return err
		}
		if _, err := social.Enter(ctx, t, social.SessionKey{SessionID: "of-" + id}, id); err != nil {
			return err
		}
	}
	for _, k := range []social.FollowKey{{Follower: "alice", Followee: "bob"}, {Follower: "alice", Followee: "carol"},
		{Follower: "bob", Followee: "alice"}, {Follower: "carol", Followee: "bob"}} {
		if err := social.Start(ctx, t, k); err != nil {
			return err
		}
	}
	return social.Leave(ctx, t, social.SessionKey{SessionID: "of-bob"})
}

// ask runs every access pattern.
func ask(ctx context.Context, out io.Writer, t *table.Table) error {
	tt := &printer.Printer{Out: out}
	u, err := social.GetUser.Get(ctx, t, social.UserKey{UserID: "alice"})
	printer.One(tt, "S1 user alice", u, err, func(u social.User) string { return u.Name })
	printer.All(tt, "S2 alice follows", social.FollowedBy.All(ctx, t, social.FollowerIn{Follower: "alice"}), func(f social.Follow) string {
		return f.Followee
	})
	printer.All(tt, "S3 who follows bob", social.FollowersOf.All(ctx, t, social.FolloweeIn{Followee: "bob"}), func(f social.Follow) string {
		return f.Follower
	})
	f, err := social.GetFollow.Get(ctx, t, social.FollowKey{Follower: "alice", Followee: "bob"})
	printer.One(tt, "S4 alice follows bob", f, err, func(f social.Follow) string { return "since " + f.Since.Format("15:04") })
	printer.All(tt, "   mutual with alice", social.Mutual(ctx, t, "alice"), func(id string) string { return id })
	s, err := social.GetSession.Get(ctx, t, social.SessionKey{SessionID: "of-bob"})
	printer.One(tt, "S6 session of bob", s, err, func(s social.Session) string { return "ended " + s.EndedAt.Format("15:04") })
	printer.All(tt, "S7 active sessions", social.ActiveSessions.All(ctx, t, social.SinceIn{}), func(s social.Session) string {
		return s.UserID + " since " + s.StartedAt.Format("15:04")
	})
	return tt.Err
}
