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
	// ErrSelf is returned when somebody would follow himself.
	ErrSelf = errors.New("social: nobody follows himself")
	// ErrOver is returned for a session that is not there, was ended or has expired.
	ErrOver = errors.New("social: the session is over")
)

// SessionLasts is how long a session is active unless it is ended.
const SessionLasts = 12 * time.Hour

// Start makes a user follow another from now on. If he does already, nothing changes. Errors: ErrSelf.
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

// Stop ends that. If he does not follow, nothing changes.
func Stop(ctx context.Context, t *table.Table, k FollowKey) error { return Follows.Delete(ctx, t, k) }

// Mutual yields the users whom a user follows and who follow him, by id. Both lists come in the order of the ids, so they
// are read side by side, page after page, however long they are, and nothing is looked up one by one.
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

// Enter begins a session. Errors: table.ErrExists when the id is taken.
func Enter(ctx context.Context, t *table.Table, k SessionKey, user string) (Session, error) {
	s := Session{SessionKey: k, UserID: user, StartedAt: t.Now(), ExpiresAt: t.Now().Add(SessionLasts), Shard: table.Shard(k.SessionID, SessionShards)}
	return s, Sessions.Create(ctx, t, &s)
}

// Leave ends a session, which takes it off the index. Errors: ErrOver.
func Leave(ctx context.Context, t *table.Table, k SessionKey) error {
	s, err := GetSession.Get(ctx, t, k)
	if err == nil && s.EndedAt.IsZero() {
		// The index key is made of start, end and shard, so a patch of one of them has to know all.
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
