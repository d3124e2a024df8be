package lease

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/fold/internal/requests"
	"github.com/onefold/onefold/table"
)

// Holder reads, acquires, renews and releases the leases of one process in a group. Calls for
// different claims may run concurrently, except Observe.
type Holder struct {
	Requests *requests.Client
	Group    string
	Owner    string        // unique name of the process
	For      time.Duration // how long its leases last without renewal
	Clock    func() time.Time
	Scope    string // added to the group of members, where several sets of processes have leases in one group

	observed map[string]observation // by shard
	seen     map[string]sign        // members by name
	signs    int64                  // signs of life of this process
}

// observation is when a holder first saw the present turn of a lease.
type observation struct {
	turn int64
	at   time.Time
}

// UniqueName returns a name for this process. Host and process ID are not enough, because
// containers may share both.
func UniqueName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), strings.ToLower(crand.Text()[:6]))
}

// Claim is what a process knows of its own lease of a shard.
type Claim struct {
	shard     string
	turn      int64     // of the lease that it holds; 0 if it holds none
	until     time.Time // when that lease expires
	uncertain bool      // the last write failed, but may have been stored, or be stored yet
	expected  int64     // the turn on which that write is conditional
}

// NewClaim returns a claim of a shard, or of a job, that is not held.
func NewClaim(shard string) *Claim { return &Claim{shard: shard} }

// Held reports whether the process has the lease, as far as it knows. It may have expired.
func (c *Claim) Held() bool { return c.turn != 0 }

// Until returns when the lease expires; zero if the process has none.
func (c *Claim) Until() time.Time { return c.until }

// Drop notes that another process has taken the lease.
func (c *Claim) Drop() { c.turn, c.until = 0, time.Time{} }

// Is reports whether a stored lease is the one that the claim holds.
func (h *Holder) Is(c *Claim, l *Lease) bool {
	return c.turn != 0 && l.Turn == c.turn && l.Owner == h.Owner
}

// Read returns the stored leases of shards, consistently. Shards that have never been leased are
// missing.
func (h *Holder) Read(ctx context.Context, shards ...string) (map[string]Lease, error) {
	keys := make([]Key, len(shards))
	for i, id := range shards {
		keys[i] = Key{Group: h.Group, Shard: id}
	}
	held := make(map[string]Lease, len(keys))
	err := requests.Each(ctx, h.Requests, Leases, keys, func(l Lease) { held[l.Shard] = l })
	return held, err
}

// Observe records which leases have changed since the last call. It forgets those of other shards.
func (h *Holder) Observe(held map[string]Lease, now time.Time, shards ...string) {
	observed := make(map[string]observation, len(shards))
	for _, id := range shards {
		o, seen := h.observed[id]
		if turn := held[id].Turn; !seen || o.turn != turn {
			o = observation{turn: turn, at: now}
		}
		observed[id] = o
	}
	h.observed = observed
}

// Live reports whether an observed lease is held by some process.
func (h *Holder) Live(l *Lease, now time.Time) bool {
	return l.Owner != "" && now.Before(h.Ends(l))
}

// Ends returns when an observed lease expires unless it is renewed.
func (h *Holder) Ends(l *Lease) time.Time {
	return h.observed[l.Shard].at.Add(l.Duration(h.For))
}

// Acquire takes or renews a lease unless it has changed since stored was read, and reports whether
// it succeeded.
func (h *Holder) Acquire(ctx context.Context, c *Claim, stored Lease, p Progress) (bool, error) {
	next := h.lease(c.shard, h.Owner, stored.Turn+1, p)
	c.uncertain, c.expected = true, stored.Turn // until it is known that this write was stored
	switch err := h.put(ctx, &next, stored.Turn); {
	case dynamo.IsConditionFailed(err):
		c.Drop()
		return false, nil
	case err != nil:
		return false, err
	}
	c.uncertain = false
	c.turn, c.until = next.Turn, next.At.Add(next.For)
	return true, nil
}

// Renew renews a lease that the claim holds, and reports whether it still had it.
func (h *Holder) Renew(ctx context.Context, c *Claim, p Progress) (bool, error) {
	return h.Acquire(ctx, c, Lease{Turn: c.turn}, p)
}

// Release gives up the leases of claims, so that others need not wait until they expire. After an
// error it can be called again.
func (h *Holder) Release(ctx context.Context, claims []*Claim, progress func(shard string) Progress) error {
	if err := h.resolve(ctx, claims, progress); err != nil {
		return err
	}
	for _, c := range claims {
		turn := c.turn
		c.Drop()
		if turn == 0 {
			continue
		}
		free := h.lease(c.shard, "", turn+1, progress(c.shard))
		if err := h.put(ctx, &free, turn); err != nil && !dynamo.IsConditionFailed(err) {
			c.uncertain, c.expected = true, turn
			return err
		}
	}
	return nil
}

// resolve finds out who owns the leases whose last write may have been stored although it failed. A
// process that is told to stop interrupts its own requests, and a retried write fails on its own
// first attempt. If such a write raised the turn, a release on condition of the old turn would fail,
// and other processes would wait until the lease expires.
func (h *Holder) resolve(ctx context.Context, claims []*Claim, progress func(shard string) Progress) error {
	for {
		var open []*Claim
		var shards []string
		for _, c := range claims {
			if c.uncertain {
				open, shards = append(open, c), append(shards, c.shard)
			}
		}
		if len(open) == 0 {
			return nil
		}
		held, err := h.Read(ctx, shards...)
		if err != nil {
			return err
		}
		for _, c := range open {
			if err := h.resolveOne(ctx, c, held[c.shard], progress); err != nil {
				return err
			}
		}
	}
}

// resolveOne settles the interrupted write of one lease. The store may still be working on that
// write and apply it after this read. If its condition still holds, raising the turn makes it fail.
// If the turn cannot be raised, because the write or another process was faster, the claim stays
// uncertain and is read again; the condition then holds no longer.
func (h *Holder) resolveOne(ctx context.Context, c *Claim, l Lease, progress func(shard string) Progress) error {
	switch {
	case l.Owner == h.Owner:
		c.turn = l.Turn
	case l.Turn == c.expected:
		if c.expected == 0 {
			l = h.lease(c.shard, "", 0, progress(c.shard))
		}
		l.Turn++
		err := h.put(ctx, &l, c.expected)
		if dynamo.IsConditionFailed(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	c.uncertain = false
	return nil
}

// lease returns a lease as this process writes it. Without an owner it is free.
func (h *Holder) lease(shard, owner string, turn int64, p Progress) Lease {
	return Lease{Key: Key{Group: h.Group, Shard: shard}, Owner: owner, Turn: turn, For: h.For, At: h.Clock(), Progress: p}
}

// put writes a lease on condition that the stored one has the given turn or, if that is 0, that
// there is none.
func (h *Holder) put(ctx context.Context, l *Lease, turn int64) error {
	it, err := Leases.Encode(l)
	if err != nil {
		return fmt.Errorf("lease: %w", err)
	}
	t := h.Requests.Table
	name, absent, unchanged := t.Name(), "attribute_not_exists(#pk)", "#turn = :turn"
	in := &dynamodb.PutItemInput{TableName: &name, Item: it}
	if turn == 0 {
		in.ConditionExpression = &absent
		in.ExpressionAttributeNames = map[string]string{"#pk": table.AttrPK}
	} else {
		in.ConditionExpression = &unchanged
		in.ExpressionAttributeNames = map[string]string{"#turn": "turn"}
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":turn": &types.AttributeValueMemberN{Value: fmt.Sprint(turn)}}
	}
	return h.Requests.Retry(ctx, func() error {
		_, err := t.API().PutItem(ctx, in)
		return err
	})
}
