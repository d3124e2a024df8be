package fold_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/streamsource"
	"github.com/onefold/onefold/internal/seeds"
	"github.com/onefold/onefold/table"
)

// team is a number of workers on one stream, and a clock that is advanced by hand.
type team struct {
	*testing.T
	clock   *clock
	bench   *bench
	table   *table.Table
	workers []*fold.Worker
	joined  int
}

const (
	leaseFor = 30 * time.Second
	lookEach = 11 * time.Second // a little more than a third of a lease
)

func newTeam(t *testing.T, shards int) *team {
	c := newClock()
	b := openEngine(t, engine.Options{StreamShards: shards, Clock: c.now})
	return &team{T: t, clock: c, bench: b, table: table.New(b.db, "table", table.Options{Clock: c.now})}
}

func (m *team) join() {
	m.Helper()
	m.joined++
	m.workers = append(m.workers, newWorker(m.T, m.table, streamsource.New(m.bench.db, m.bench.arn),
		fold.Options{Leases: true, LeaseFor: leaseFor, Owner: fmt.Sprintf("w%02d", m.joined)}, totalsFold()))
}

// look lets all workers look at the leases once, in a random order.
func (m *team) look(r *rand.Rand) {
	m.Helper()
	m.clock.add(lookEach)
	for _, i := range r.Perm(len(m.workers)) {
		drain(m.T, m.workers[i])
	}
}

// settle lets two leases pass.
func (m *team) settle(r *rand.Rand) {
	m.Helper()
	for range 2 * leaseFor / lookEach {
		m.look(r)
	}
	m.look(r)
}

// isBalanced checks that all shards are read, and that workers differ by at most one shard.
func (m *team) isBalanced(when string, shards int) {
	m.Helper()
	var counts []int
	sum := 0
	for _, w := range m.workers {
		counts, sum = append(counts, owned(w)), sum+owned(w)
	}
	if sum != shards || slices.Max(counts)-slices.Min(counts) > 1 {
		m.Errorf("%s: the shards of %d workers are %v, want %d together, evenly", when, len(counts), counts, shards)
	}
}

// TestWorkersThatJoinOneByOne starts workers one after another, as auto scaling does. Each gets its
// share, and workers beyond the number of shards are shown as idle.
func TestWorkersThatJoinOneByOne(t *testing.T) {
	const shards = 16
	m := newTeam(t, shards)
	r := rand.New(rand.NewPCG(1, 1))
	for n := 1; n <= 18; n++ {
		m.join()
		m.settle(r)
		m.isBalanced(fmt.Sprint("with worker ", n), shards)
		o, err := fold.Read(t.Context(), m.table, "main")
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Owners) != min(n, shards) || len(o.Idle) != max(n-shards, 0) {
			t.Errorf("%d workers are shown as %v with shards and %v without", n, o.Owners, o.Idle)
		}
	}
}

// TestWorkersComeAndGo lets workers join, stop and die at random. Two leases after the last change,
// the shards are balanced, whatever happened in which order.
func TestWorkersComeAndGo(t *testing.T) {
	seeds.Run(t, 6, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		shards := 1 + r.IntN(24)
		m := newTeam(t, shards)
		m.join()
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		for round := range 6 {
			for range 1 + r.IntN(5) {
				switch i := r.IntN(len(m.workers)); {
				case len(m.workers) == 1 || r.IntN(3) > 0:
					m.join()
				case r.IntN(2) == 0:
					if err := m.workers[i].Run(stopped); err != nil {
						t.Fatal(err)
					}
					fallthrough
				default: // it dies, and its leases stay
					m.workers = slices.Delete(m.workers, i, i+1)
				}
				if r.IntN(2) == 0 {
					m.look(r)
				}
			}
			m.settle(r)
			m.isBalanced(fmt.Sprint("round ", round), shards)
		}
	})
}

// membersFail is a table whose members cannot be listed.
type membersFail struct {
	dynamo.API
	failing bool
}

func (m *membersFail) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	for _, v := range in.ExpressionAttributeValues {
		if s, ok := v.(*types.AttributeValueMemberS); ok && m.failing && strings.HasPrefix(s.Value, "MEMBER#") {
			return nil, &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "members cannot be read"}
		}
	}
	return m.API.Query(ctx, in, o...)
}

// A worker keeps its leases while it cannot find out who else is there.
func TestLeasesWhileMembersCannotBeRead(t *testing.T) {
	m := newTeam(t, 4)
	api := &membersFail{API: m.bench.db}
	m.table = table.New(api, "table", table.Options{Clock: m.clock.now})
	w := newWorker(t, m.table, streamsource.New(m.bench.db, m.bench.arn), fold.Options{
		Leases: true, LeaseFor: leaseFor, Sleep: func(context.Context, time.Duration) error { return nil },
	}, totalsFold())
	drain(t, w)
	api.failing = true
	for range 2 * leaseFor / lookEach {
		m.clock.add(lookEach)
		if err := w.Drain(t.Context()); err == nil {
			t.Error("the worker reports nothing")
		}
	}
	if n := owned(w); n != 4 {
		t.Errorf("the worker has %d leases left", n)
	}
}
