package lease

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onefold/onefold/table"
)

// keepMember is how long a member is kept after its last sign of life.
const keepMember = time.Hour

// MemberKey identifies a process in a group.
type MemberKey struct {
	Group string `dynamodbav:"group"`
	Name  string `dynamodbav:"name"` // that leases name as their owner
}

// A Member is a process that takes part in a group, whether it has leases or not. Like a lease, it
// counts as gone once its turn has stayed the same for its duration, by the observer's own clock.
type Member struct {
	MemberKey
	Turn int64         `dynamodbav:"turn"`           // increased by every sign of life
	For  time.Duration `dynamodbav:"for"`            // duration without a sign of life, in nanoseconds
	At   time.Time     `dynamodbav:"at"`             // time of the last one, by the member's clock; for display
	Left bool          `dynamodbav:"left,omitempty"` // it has stopped
}

// Members is the entity of members.
var Members = table.Define[Member, MemberKey]("fold.member", table.Def[Member]{
	PK: "FOLD#{group}", SK: "MEMBER#{name}", Access: table.Access{Fold: table.Rights{Puts: table.Whole}},
	Expires: func(m *Member) time.Time { return m.At.Add(m.For + keepMember) },
	Example: func(m *Member) { m.For = 30 * time.Second },
	Doc:     "A process that shares stream shards or jobs with others.",
})

// MembersOf lists the members of a group.
var MembersOf = table.NewQuery(Members, table.QueryDef[In]{
	ID: "F5", Question: "the members of a group of folds", PK: "FOLD#{group}", Prefix: "MEMBER#",
	Load: table.Load{PerSecond: 0.001, Items: 4, ItemBytes: 150},
})

// Membership is the live members of a group.
type Membership struct {
	names []string // sorted
	sure  int      // number of those that have leases, or have given a sign of life since this process looks
}

// Announce stores a sign of life of this process, and returns the live members of the group, itself
// included. Owners of live leases count even if they have not announced themselves.
func (h *Holder) Announce(ctx context.Context, held map[string]Lease, now time.Time) (Membership, error) {
	if err := h.sign(ctx, false); err != nil {
		return Membership{}, err
	}
	sure := map[string]bool{h.Owner: true}
	for _, l := range held {
		if h.Live(&l, now) {
			sure[l.Owner] = true
		}
	}
	live, observed := maps.Clone(sure), map[string]sign{}
	for m, err := range MembersOf.All(ctx, h.Requests.Table, In{h.members()}) {
		if err != nil {
			return Membership{}, fmt.Errorf("lease: members of %s: %w", h.members(), err)
		}
		o, seen := h.seen[m.Name]
		if !seen || o.turn != m.Turn {
			o = sign{observation{turn: m.Turn, at: now}, seen}
		}
		observed[m.Name] = o
		if !m.Left && now.Before(o.at.Add(duration(m.For, h.For))) {
			live[m.Name] = true
			sure[m.Name] = sure[m.Name] || o.again
		}
	}
	h.seen = observed
	maps.DeleteFunc(sure, func(_ string, is bool) bool { return !is })
	return Membership{slices.Sorted(maps.Keys(live)), len(sure)}, nil
}

// sign is when a holder first saw the present sign of life of a member, and whether it has seen an
// earlier one: the member may otherwise be long gone.
type sign struct {
	observation
	again bool
}

// Running returns the members of a group that have given a sign of life within their duration, by
// the clock of the table, sorted. It is for display.
func Running(ctx context.Context, t *table.Table, group string) ([]string, error) {
	var names []string
	for m, err := range MembersOf.All(ctx, t, In{group}) {
		if err != nil {
			return nil, fmt.Errorf("lease: members of %s: %w", group, err)
		}
		if !m.Left && t.Now().Sub(m.At) <= duration(m.For, time.Minute) {
			names = append(names, m.Name)
		}
	}
	return names, nil
}

// Leave tells the other members that this process has stopped, so that they need not wait. Call it
// after Release.
func (h *Holder) Leave(ctx context.Context) error {
	if h.signs == 0 {
		return nil
	}
	return h.sign(ctx, true)
}

// sign stores a sign of life. Only this process writes its member, so the write has no condition.
func (h *Holder) sign(ctx context.Context, left bool) error {
	h.signs++
	m := Member{MemberKey: MemberKey{h.members(), h.Owner}, Turn: h.signs, For: h.For, At: h.Clock(), Left: left}
	return h.Requests.Retry(ctx, func() error { return Members.Put(ctx, h.Requests.Table, &m) })
}

// members returns the name of the group that the process is a member of.
func (h *Holder) members() string { return h.Group + h.Scope }

// Quotas divides n leases among the members: each gets n by their number, and the first ones by name
// the rest. All members come to the same result, so each knows the quota of the others.
func (c Membership) Quotas(n int) map[string]int {
	quotas := make(map[string]int, len(c.names))
	for i, name := range c.names {
		quotas[name] = (n + len(c.names) - 1 - i) / len(c.names)
	}
	return quotas
}

// Free returns up to how many of n leases a member takes from nobody. It may be more than its quota:
// members that are gone have a quota until their time is over, but shards should not wait for them.
// Others then take what is beyond the quota.
func (c Membership) Free(n int) int { return (n + c.sure - 1) / c.sure }

// Surplus returns the live leases of others beyond their quota: what a member below its own quota may
// take. Owners that are no members have none.
func (h *Holder) Surplus(held map[string]Lease, quotas map[string]int, now time.Time) map[string]bool {
	count := map[string]int{}
	surplus := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(held)) {
		l := held[id]
		if l.Owner == h.Owner || !h.Live(&l, now) {
			continue
		}
		if count[l.Owner]++; count[l.Owner] > quotas[l.Owner] {
			surplus[id] = true
		}
	}
	return surplus
}
