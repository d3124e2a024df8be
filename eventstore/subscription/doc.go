// Package subscription passes the events of the feed to handlers: durably, by name, and in the order
// of each aggregate.
//
// A subscription remembers up to which position its events are handled. An event whose handler
// fails is retried, and then parked with the later events of its aggregate, so that the others go
// on. Any number of processes may run a subscription: they divide its partitions among themselves.
//
// Events are handled at least once. After a crash, the events since the last checkpoint are handled
// again; their IDs stay the same.
package subscription
