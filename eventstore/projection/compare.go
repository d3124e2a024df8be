package projection

import (
	"context"
	"fmt"
	"reflect"

	"github.com/onefold/onefold/eventstore"
)

// Comparison compares the read models of a version with those of the active version.
type Comparison struct {
	Aggregates int64
	Same       int64
	Different  int64 // of the same event, but with other states: the effect of the new version
	Fewer      int64 // behind their aggregate because an event cannot be applied: parked
	// Inactive counts read models whose counterpart in the active version is missing or of another
	// event, because it lags or is parked.
	Inactive int64
	Samples  []Difference // at most ten of each kind
}

// Difference is a read model that differs.
type Difference struct {
	ID       eventstore.ID
	Why      string // different, parked, unserved
	Active   any    // state in the active version, an R
	New      any    // state in the new version, an R
	Applied  int64  // last event of New
	Version  int64  // version of the aggregate at the comparison
	ActiveAt int64  // last event of Active, 0: none
}

// maxSamples is the number of samples of each kind.
const maxSamples = 10

// ErrNotSwitched is returned by Rebuild when aggregates are parked in the new version. The previous
// version stays active.
var ErrNotSwitched = fmt.Errorf("projection: the previous version stays active, because aggregates are parked in the new version")

// compare reads all read models again, updates those that are behind, and compares them with the
// active version.
func (r *rebuild[R]) compare(ctx context.Context) (c Comparison, err error) {
	kinds := map[string]int{}
	err = r.walk(ctx, "compare", func(ctx context.Context, a part) error {
		return r.aggregates(ctx, a, "", func(ids []eventstore.ID) error {
			some, err := r.compareSome(ctx, ids)
			if err != nil {
				return err
			}
			r.reportProgress(int64(len(ids)), 0)
			r.mu.Lock()
			defer r.mu.Unlock()
			c.Aggregates += some.Aggregates
			c.Same += some.Same
			c.Different += some.Different
			c.Fewer += some.Fewer
			c.Inactive += some.Inactive
			for _, d := range some.Samples {
				if kinds[d.Why]++; kinds[d.Why] <= maxSamples {
					c.Samples = append(c.Samples, d)
				}
			}
			return nil
		})
	})
	return c, err
}

func (r *rebuild[R]) compareSome(ctx context.Context, ids []eventstore.ID) (c Comparison, err error) {
	heads, err := r.p.s.HeadsOf(ctx, ids)
	if err != nil {
		return c, err
	}
	versions := map[eventstore.ID]int64{}
	for i := range heads {
		versions[heads[i].ID] = heads[i].Version
	}
	now, err := r.p.read(ctx, r.p.def.Version, ids)
	if err != nil {
		return c, err
	}
	for i, m := range now {
		if m.Applied >= versions[ids[i]] {
			continue
		}
		if _, err := r.p.catchUp(ctx, ids); err != nil {
			return c, err
		}
		if now, err = r.p.read(ctx, r.p.def.Version, ids); err != nil {
			return c, err
		}
		break
	}
	active := make([]Model[R], len(ids))
	if r.was.Version > 0 {
		if active, err = r.p.read(ctx, r.was.Version, ids); err != nil {
			return c, err
		}
	}
	for i, id := range ids {
		c.add(id, versions[id], active[i].Applied, active[i].State, now[i].Applied, now[i].State)
	}
	return c, nil
}

// add compares two read models of an aggregate.
func (c *Comparison) add(id eventstore.ID, version int64, activeAt int64, active any, applied int64, now any) {
	c.Aggregates++
	d := Difference{ID: id, Active: active, New: now, Applied: applied, Version: version, ActiveAt: activeAt}
	switch {
	case applied < version:
		c.Fewer++
		d.Why = "parked"
	case activeAt != applied:
		c.Inactive++
		d.Why = "unserved"
	case !reflect.DeepEqual(active, now):
		c.Different++
		d.Why = "different"
	default:
		c.Same++
		return
	}
	c.Samples = append(c.Samples, d)
}

// approve decides whether to switch.
func (r *rebuild[R]) approve(c Comparison) error {
	switch {
	case r.o.Approve != nil:
		return r.o.Approve(c)
	case c.Fewer > 0 && r.was.Version > 0 && r.was.Version != r.p.def.Version:
		return fmt.Errorf("%w: %d, see Parked", ErrNotSwitched, c.Fewer)
	}
	return nil
}
