package social_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine/enginetest"
	"github.com/onefold/onefold/examples/social"
	"github.com/onefold/onefold/table"
)

// small returns query results in pages of three items, so that lists have several pages.
type small struct{ dynamo.API }

func (s small) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	asked, three := *in, int32(3)
	asked.Limit = &three
	return s.API.Query(ctx, &asked, o...)
}

func open(t *testing.T) (*enginetest.DB, *table.Table) {
	t.Helper()
	db := enginetest.New(t)
	must(t, social.Schema.Ensure(t.Context(), db, "social"))
	return db, table.New(small{db}, "social", table.Options{Clock: db.Now})
}

func must(t *testing.T, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// The lists of a random graph match it from both ends, and so do mutual follows.
func TestFollows(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	_, tab := open(t)
	const users = 12
	name := func(n int) string { return fmt.Sprintf("u%02d", n) }
	var graph [users][users]bool
	for range 400 {
		a, b := random.IntN(users), random.IntN(users)
		k := social.FollowKey{Follower: name(a), Followee: name(b)}
		switch {
		case a == b:
			if err := social.Start(t.Context(), tab, k); !errors.Is(err, social.ErrSelf) {
				t.Fatalf("error %v", err)
			}
		case random.IntN(3) == 0:
			must(t, social.Stop(t.Context(), tab, k))
			graph[a][b] = false
		default:
			must(t, social.Start(t.Context(), tab, k))
			graph[a][b] = true
		}
	}
	for a := range users {
		var follows, followers, mutual []string
		for b := range users {
			_, err := social.GetFollow.Get(t.Context(), tab, social.FollowKey{Follower: name(a), Followee: name(b)})
			if (err == nil) != graph[a][b] {
				t.Errorf("%s follows %s: %v, error %v", name(a), name(b), graph[a][b], err)
			}
			if graph[a][b] {
				follows = append(follows, name(b))
			}
			if graph[b][a] {
				followers = append(followers, name(b))
			}
			if graph[a][b] && graph[b][a] {
				mutual = append(mutual, name(b))
			}
		}
		var got [3][]string
		for f, err := range social.FollowedBy.All(t.Context(), tab, social.FollowerIn{Follower: name(a)}) {
			must(t, err)
			got[0] = append(got[0], f.Followee)
		}
		for f, err := range social.FollowersOf.All(t.Context(), tab, social.FolloweeIn{Followee: name(a)}) {
			must(t, err)
			got[1] = append(got[1], f.Follower)
		}
		for u, err := range social.Mutual(t.Context(), tab, name(a)) {
			must(t, err)
			got[2] = append(got[2], u)
		}
		for i, want := range [][]string{follows, followers, mutual} {
			if !slices.Equal(got[i], want) {
				t.Errorf("%s: %s are %v, want %v", name(a), []string{"follows", "followers", "mutual"}[i], got[i], want)
			}
		}
	}
}

// Mutual returns an error of either list, and stops when its reader does.
func TestMutualEnds(t *testing.T) {
	db, tab := open(t)
	for i := range 9 {
		other := fmt.Sprint("u", i)
		must(t, social.Start(t.Context(), tab, social.FollowKey{Follower: "me", Followee: other}))
		must(t, social.Start(t.Context(), tab, social.FollowKey{Follower: other, Followee: "me"}))
	}
	for u, err := range social.Mutual(t.Context(), tab, "me") {
		if u != "u0" || err != nil {
			t.Errorf("%q, %v", u, err)
		}
		break
	}
	for nth := 1; nth <= 4; nth++ {
		db.Heal()
		db.Inject(enginetest.Fault{Effect: enginetest.Fail, Op: "Query", Nth: nth})
		var failed error
		for _, err := range social.Mutual(t.Context(), tab, "me") {
			failed = err
		}
		if dynamo.Code(failed) != "InternalServerError" {
			t.Errorf("query %d failed: error %v", nth, failed)
		}
	}
}

// A repeated follow changes nothing, including its time.
func TestSince(t *testing.T) {
	db, tab := open(t)
	k, began := social.FollowKey{Follower: "a", Followee: "b"}, db.Now()
	for range 2 {
		must(t, social.Start(t.Context(), tab, k))
		db.Advance(time.Hour)
	}
	if f, err := social.GetFollow.Get(t.Context(), tab, k); err != nil || !f.Since.Equal(began) {
		t.Errorf("%+v, %v", f, err)
	}
	if err := social.Start(t.Context(), tab, social.FollowKey{Follower: "a", Followee: "b#c"}); !errors.Is(err, table.ErrKeyValue) {
		t.Errorf("an odd id: error %v", err)
	}
}

// Sessions are on the index until they end or expire. Expired sessions are not returned although
// they still exist.
func TestSessions(t *testing.T) {
	db, tab := open(t)
	active := func() string {
		t.Helper()
		found, err := social.ActiveSessions.Collect(t.Context(), tab, social.SinceIn{})
		must(t, err)
		var ids []string
		for _, s := range found {
			ids = append(ids, s.SessionID)
		}
		return fmt.Sprint(ids)
	}
	key := func(n int) social.SessionKey { return social.SessionKey{SessionID: fmt.Sprint("s", n)} }
	for n := range 6 {
		_, err := social.Enter(t.Context(), tab, key(n), "u")
		must(t, err)
		db.Advance(time.Minute)
	}
	if _, err := social.Enter(t.Context(), tab, key(0), "u"); !errors.Is(err, table.ErrExists) {
		t.Errorf("entered twice: error %v", err)
	}
	must(t, social.Leave(t.Context(), tab, key(2)))
	if got := active(); got != "[s5 s4 s3 s1 s0]" {
		t.Errorf("active are %s", got)
	}
	for _, n := range []int{2, 7} {
		if err := social.Leave(t.Context(), tab, key(n)); !errors.Is(err, social.ErrOver) {
			t.Errorf("left again: error %v", err)
		}
	}
	late := table.New(db, "social", table.Options{Clock: func() time.Time { return db.Now().Add(social.SessionLasts - 3*time.Minute) }})
	tab = late // its clock advances, but nothing is deleted
	if got := active(); got != "[s5 s4]" {
		t.Errorf("hours later active are %s", got)
	}
	if _, err := social.GetSession.Get(t.Context(), late, key(0)); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("an expired session: error %v", err)
	}
	if err := social.Leave(t.Context(), late, key(0)); !errors.Is(err, social.ErrOver) {
		t.Errorf("an expired session is left: error %v", err)
	}
	from := db.Now().Add(-2 * time.Minute) // when s4 began
	if found, err := social.ActiveSessions.Collect(t.Context(), late, social.SinceIn{From: from, To: from.Add(time.Minute)}); err != nil || len(found) != 1 || found[0].SessionID != "s4" {
		t.Errorf("of one minute: %+v, %v", found, err)
	}
}
