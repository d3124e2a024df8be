// Package eventstore keeps what happened to aggregates as events that are appended and never changed: with an expected
// version, so that no two writers decide on the same past; atomically, one to 98 at a time; and once, however often an
// append is repeated. It says what is stored and what is asked; servers, projections and commands build on it. It imports
// only the kit and leaves.
//
// The way in: New, then Store.Append and Store.Read, or Transact, which loads, decides and appends until nobody was
// quicker.
package eventstore
