package groupcommit

import (
	"context"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Groups distributes calls by key over a fixed number of groups, so that a slow key delays only the
// keys of its own group.
type Groups[T, R any] []*Group[T, R]

// NewGroups creates n groups as New does. Each waits up to linger for more calls.
func NewGroups[T, R any](n, most, atOnce int, linger time.Duration, do func(context.Context, []T) []R) Groups[T, R] {
	groups := make(Groups[T, R], n)
	for i := range groups {
		groups[i] = New(most, atOnce, do)
		groups[i].Linger(linger)
	}
	return groups
}

// Do adds a call to a batch of its key's group and returns its result when the batch has run. It
// does not return early if the caller's context ends.
func (g Groups[T, R]) Do(ctx context.Context, key string, in T) R {
	return g[xxhash.Sum64String(key)%uint64(len(g))].Do(ctx, in)
}

// Waiting returns how many callers wait for batches to start.
func (g Groups[T, R]) Waiting() (n int) {
	for _, group := range g {
		n += group.Waiting()
	}
	return n
}
