package reconcile

import (
	"context"
	"errors"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/table"
)

// states stores the states of one kind of derived items.
type states[S any, K comparable] interface {
	// load reads states in the order of the keys. An unreadable state counts as absent.
	load(ctx context.Context, t *table.Table, keys []K) ([]fold.Stored[S], error)
	// replace replaces states with unchanged versions, and returns the keys of the others.
	replace(ctx context.Context, t *table.Table, all []fold.Replacement[S, K]) (changed []K, err error)
}

// rows stores each state in its own item.
type rows[S any, K comparable] struct {
	entity *table.Entity[S, K]
}

// loadChunk is how many items are loaded and compared at once.
const loadChunk = 1000

func (s rows[S, K]) load(ctx context.Context, t *table.Table, keys []K) ([]fold.Stored[S], error) {
	out := make([]fold.Stored[S], 0, len(keys))
	for ; len(keys) > 0; keys = keys[min(loadChunk, len(keys)):] {
		some, err := fold.Load(ctx, t, s.entity, keys[:min(loadChunk, len(keys))])
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

func (s rows[S, K]) replace(ctx context.Context, t *table.Table, all []fold.Replacement[S, K]) (changed []K, err error) {
	for _, r := range all {
		if r.State == nil {
			err = fold.RemoveState(ctx, t, s.entity, r.Key, r.Version)
		} else {
			err = fold.ReplaceState(ctx, t, s.entity, r.Key, *r.State, r.Version)
		}
		if errors.Is(err, table.ErrConflict) {
			changed = append(changed, r.Key)
		} else if err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// visitorsInLog stores visitors' days in analytics.VisitLog.
type visitorsInLog struct{}

func (visitorsInLog) load(ctx context.Context, t *table.Table, keys []analytics.VisitorKey) ([]fold.Stored[analytics.Visitor], error) {
	return analytics.VisitLog.Load(ctx, t, keys, ignoreDamage)
}

func (visitorsInLog) replace(ctx context.Context, t *table.Table, all []fold.Replacement[analytics.Visitor, analytics.VisitorKey]) ([]analytics.VisitorKey, error) {
	return analytics.VisitLog.Replace(ctx, t, all, ignoreDamage)
}

// ignoreDamage ignores an unreadable page: its visitors count as missing and are rebuilt.
func ignoreDamage(error) {}
