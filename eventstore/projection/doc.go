// Package projection makes read models of events: one of each aggregate, in the order of its events and exactly once, and
// totals over all of them. It says how read models are kept up to date by a fold.Worker, read, waited for, made anew while
// appends go on, and exchanged for those of a later version; and how any other store is kept up to date off the feed.
// Programs that use package eventstore may use it.
//
// The way in: Define, Projection.Folds for a worker, Projection.Get; GroupBy for totals, Projection.Rebuild, Follow.
package projection
