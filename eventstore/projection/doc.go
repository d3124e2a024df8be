// Package projection maintains read models: one per aggregate, from its events in order and exactly
// once, and totals over all of them. A fold.Worker keeps them up to date. They can be rebuilt while
// appends continue, and then replace those of an earlier version. Other stores can follow the feed.
//
// Start with Define, then pass Projection.Folds to a worker, and read with Projection.Get. See also
// GroupBy for totals, Projection.Rebuild, and Subscribe.
package projection
