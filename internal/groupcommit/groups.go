package groupcommit

import (
	"context"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Groups divide calls by key among a fixed number of groups, so that a slow key delays only the keys of its own group.
type Groups[T, R any] []*Group[T, R]

// NewGroups makes n groups as New does, each of which lingers.
func NewGroups[T, R any](n, most, atOnce int, linger time.Duration, do func(context.Context, []T) []R) Groups[T, R] {
	groups := make(Groups[T, R], n)
	for i := range groups {
		groups[i] = New(most, atOnce, do)
		groups[i].Linger(linger)
	}
	return groups
}

// Do puts a call in a batch of the group of its key and returns its result when the batch is done, however long the caller's context lasts.
func (g Groups[T, R]) Do(ctx context.Context, key string, in T) R {
	return g[xxhash.Sum64String(key)%uint64(len(g))].Do(ctx, in)
}

// Waiting is how many callers wait for batches that are not begun.
func (g Groups[T, R]) Waiting() (n int) {
	for _, group := range g {
		n += group.Waiting()
	}
	return n
}
