import type { EventLike, StoredEvent } from './types.js'

/** Computes a state from events. */
export interface Fold<S, E extends EventLike = EventLike> {
  /** The state before the first event. */
  initial: S
  /** Returns the state after an event. It must not modify the state that it gets. */
  evolve: (state: S, event: StoredEvent<E>) => S
}

/** Decides on commands. */
export interface Decider<S, C, E extends EventLike = EventLike> extends Fold<S, E> {
  /** The type of the aggregates. */
  type: string
  /**
   * Returns the events of a command; none if nothing happens. An error that it throws is passed on. It must have no side effects, because it runs again after a
   * conflict.
   */
  decide: (state: S, command: C) => E[]
}

/** A state with its version. */
export interface Loaded<S> {
  state: S
  /** The number of the last event in the state: the version to expect in an append. */
  version: number
}
