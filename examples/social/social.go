package social

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/onefold/onefold/table"
)

var (
	// ErrSelf is returned if a user would follow themselves.
	ErrSelf = errors.New("social: a user cannot follow themselves")
	// ErrOver is returned for a session that does not exist, was ended or has expired.
	ErrOver = errors.New("social: the session has ended")
)

// SessionLasts is how long a session is active unless it is ended.
const SessionLasts = 12 * time.Hour

// Start lets a user follow another from now on. If they already do, nothing changes. Errors:
// ErrSelf.
func Start(ctx context.Context, t *table.Table, k FollowKey) error {
	if k.Follower == k.Followee {
		return fmt.Errorf("%w: %s", ErrSelf, k.Follower)
	}
	err := AddFollow.Run(ctx, t, &Follow{k, t.Now()})
	if errors.Is(err, table.ErrExists) {
		return nil
	}
	return err
}

// Stop ends a follow. If there is none, nothing changes.
func Stop(ctx context.Context, t *table.Table, k FollowKey) error { return Follows.Delete(ctx, t, k) }

// Mutual yields the users whom a user follows and who follow back, by ID. Both lists are ordered by
// ID, so they are merged page by page, whatever their length, without lookups of single users.
func Mutual(ctx context.Context, t *table.Table, user string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		left, stopLeft := iter.Pull2(FollowedBy.All(ctx, t, FollowerIn{user}))
		defer stopLeft()
		right, stopRight := iter.Pull2(FollowersOf.All(ctx, t, FolloweeIn{user}))
		defer stopRight()
		followed, errLeft, more := left()
		follower, errRight, moreRight := right()
		for more && moreRight {
			if err := errors.Join(errLeft, errRight); err != nil {
				yield("", err)
				return
			}
			order := cmp.Compare(followed.Followee, follower.Follower)
			if order == 0 && !yield(followed.Followee, nil) {
				return
			}
			if order <= 0 {
				followed, errLeft, more = left()
			}
			if order >= 0 {
				follower, errRight, moreRight = right()
			}
		}
	}
}

// Enter starts a session. Errors: table.ErrExists if the ID is in use.
func Enter(ctx context.Context, t *table.Table, k SessionKey, user string) (Session, error) {
	s := Session{SessionKey: k, UserID: user, StartedAt: t.Now(), ExpiresAt: t.Now().Add(SessionLasts), Shard: table.Shard(k.SessionID, SessionShards)}
	return s, Sessions.Create(ctx, t, &s)
}

// Leave ends a session, which removes it from the index. Errors: ErrOver.
func Leave(ctx context.Context, t *table.Table, k SessionKey) error {
	s, err := GetSession.Get(ctx, t, k)
	if err == nil && s.EndedAt.IsZero() {
		// The index key consists of start, end and shard, so a patch of one of them must set all.
		_, err = Sessions.Patch(ctx, t, k, sessionEnd.Set(t.Now()), sessionStart.Set(s.StartedAt), sessionShard.Set(s.Shard),
			table.If[Session](sessionEnd.Missing()))
	} else if err == nil {
		err = table.ErrCondition
	}
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrCondition) {
		return fmt.Errorf("%w: %s", ErrOver, k.SessionID)
	}
	return err
}
