import { VersionConflict } from './errors.js'
import { feedPages, followFeed, type FeedOptions } from './feed.js'
import type { Decider, Fold, Loaded } from './fold.js'
import { Subscription } from './subscription.js'
import { query, segment, Transport, type ClientOptions } from './transport.js'
import type {
  Aggregate, AggregateEvent, ErasureReceipt, EventLike, EventSchema, Expected, FeedEvent, Head, NewEvent, QueryItem, ReservedValue, ScopedValue, StoredEvent, Subject, SubscriptionStatus, Unless,
} from './types.js'

/** Options of an append. */
export interface AppendOptions {
  /** The expected version of the stream. Default: any. */
  expected?: Expected
  /** Idempotency key. Default: a random one, so that the client can repeat the request. */
  commitId?: string
  /** Values that no other aggregate may have. */
  reserve?: ReservedValue[]
  /** Values of the aggregate that others may have from now on. */
  release?: ScopedValue[]
  /** A condition over tags. */
  unless?: Unless
  signal?: AbortSignal
}

/** The result of an append. */
export interface Appended {
  commit: string
  /** The number of the first event. */
  first: number
  /** The version of the stream after the append. */
  version: number
  /** The commit was stored already, by an earlier call or by a try of this one whose answer was lost. */
  again: boolean
}

/** A part of an append to several streams. */
export interface AppendPart extends Aggregate {
  events: NewEvent[]
  expected?: Expected
  reserve?: ReservedValue[]
  release?: ScopedValue[]
}

/** Options of a read. */
export interface ReadOptions {
  /** The number of the first event. */
  from?: number
  /** The number of the last event. */
  to?: number
  /** Newest first. */
  backwards?: boolean
  /** Events of a page, at most 1,000. Default: 500. */
  pageSize?: number
  signal?: AbortSignal
}

/** What became of a command. */
export interface Handled<S> extends Loaded<S> {
  /** The commit was stored already, by an earlier call or by a try of this one whose answer was lost. The state is the one after it. */
  again: boolean
}

/** How often a command is decided again after a conflict. */
const maxConflicts = 20

/** A client of an event store. It keeps no state: one may serve a whole application. */
export class EventStore {
  readonly #transport: Transport

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options)
  }

  /** Appends 1 to 97 events to a stream, all or none. It is repeated with the same commit ID until there is an answer. */
  async append<E extends EventLike>(to: Aggregate, events: NewEvent<E>[], o: AppendOptions = {}): Promise<Appended> {
    const { signal, ...body } = o
    return await this.#transport.call({
      method: 'POST', path: `${pathOf(to)}/events`, signal, repeatable: true, body: { ...body, commitId: o.commitId ?? crypto.randomUUID(), events },
    })
  }

  /** Appends events to several streams, all or none. It is repeated like append. */
  async appendAll(appends: AppendPart[], o: Pick<AppendOptions, 'commitId' | 'unless' | 'signal'> = {}): Promise<{ commit: string; again: boolean; appends: (Aggregate & { first: number; version: number })[] }> {
    const { signal, ...body } = o
    return await this.#transport.call({ method: 'POST', path: '/appends', signal, repeatable: true, body: { ...body, commitId: o.commitId ?? crypto.randomUUID(), appends } })
  }

  /** Yields the events of a stream, page by page. A stream that does not exist has none. */
  async *read<E extends EventLike = EventLike>(of: Aggregate, o: ReadOptions = {}): AsyncGenerator<StoredEvent<E>> {
    let path: string | undefined = `${pathOf(of)}/events` + query({ from: o.from, to: o.to, backwards: o.backwards, limit: o.pageSize ?? 500 })
    while (path) {
      let page: { events: StoredEvent<E>[] | null; next?: string }
      try {
        page = await this.#transport.call({ method: 'GET', path, repeatable: true, signal: o.signal })
      } catch (error) {
        if (isMissing(error)) return
        throw error
      }
      for (const event of page.events ?? []) {
        o.signal?.throwIfAborted()
        yield event
      }
      path = page.next
    }
  }

  /** Returns the version and the state of an aggregate; undefined if it does not exist. */
  async head(of: Aggregate, signal?: AbortSignal): Promise<Head | undefined> {
    try {
      return await this.#transport.call({ method: 'GET', path: pathOf(of), repeatable: true, signal })
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  /** Closes a stream permanently: it can be read, but not appended to. */
  async close(of: Aggregate): Promise<void> {
    await this.#transport.call({ method: 'POST', path: `${pathOf(of)}/close` })
  }

  /** Returns the events that match a query, and the position for `unless`. With after, only later events. */
  async query<E extends EventLike = EventLike>(items: QueryItem[], after?: string): Promise<{ events: AggregateEvent<E>[]; position: string }> {
    return await this.#transport.call({ method: 'POST', path: '/query', repeatable: true, body: after ? { query: items, after } : { query: items } })
  }

  /** Returns the aggregate that has reserved a value, as type/id; undefined if none has. */
  async ownerOf(value: ScopedValue): Promise<string | undefined> {
    try {
      return (await this.#transport.call<{ owner: string }>({ method: 'POST', path: '/reservations/owner', repeatable: true, body: value })).owner
    } catch (error) {
      if (hasCode(error, 'not_reserved')) return undefined
      throw error
    }
  }

  /** Yields the events of all aggregates in one stable order, up to the end of the feed. */
  feed<E extends EventLike = EventLike>(o: FeedOptions = {}): AsyncGenerator<FeedEvent<E>> {
    return feedPages(this.#transport, o)
  }

  /** Yields the events of all aggregates as they come, without end. It continues after a broken connection. */
  follow<E extends EventLike = EventLike>(o: FeedOptions = {}): AsyncGenerator<FeedEvent<E>> {
    return followFeed(this.#transport, o)
  }

  /** Returns the state of an aggregate. One without events has the initial state and version 0. */
  async load<S, E extends EventLike>(of: Aggregate, fold: Fold<S, E>, signal?: AbortSignal): Promise<Loaded<S>> {
    const loading = new Loading(fold)
    await loading.catchUp(this, of, signal)
    return loading.at
  }

  /**
   * Loads the state, decides on a command, and appends its events. If another writer was faster, it decides again. With a commit ID, a command that is repeated
   * has the result of the first time. Errors: those of decide, and OnefoldError.
   */
  async handle<S, C, E extends EventLike>(decider: Decider<S, C, E>, id: string, command: C, o: Omit<AppendOptions, 'expected'> & { envelope?: Omit<NewEvent, 'type' | 'data'> } = {}): Promise<Handled<S>> {
    const { envelope, ...options } = o
    const of = { type: decider.type, id }
    const commitId = o.commitId ?? crypto.randomUUID()
    const loading = new Loading<S, E>(decider, o.commitId)
    for (let conflicts = 0; ; conflicts++) {
      await loading.catchUp(this, of, o.signal)
      if (loading.commit) return { ...loading.commit, again: true }
      const { state, version } = loading.at
      const events = decider.decide(state, command)
      if (events.length === 0) return { state, version, again: false }
      try {
        const { again } = await this.append(of, events.map((e) => ({ ...envelope, ...e }) as unknown as NewEvent<E>), { ...options, commitId, expected: version })
        loading.wanted = commitId
        await loading.catchUp(this, of, o.signal)
        return { ...(loading.commit ?? loading.at), again }
      } catch (error) {
        if (!(error instanceof VersionConflict) || conflicts >= maxConflicts) throw error
      }
    }
  }

  /** Returns the JSON Schema of a version of an event type, by default the latest; undefined if it has none. */
  async schema(eventType: string, version?: number): Promise<EventSchema | undefined> {
    try {
      return await this.#transport.call({ method: 'GET', path: `/event-types/${segment(eventType)}/schema` + query({ version }), repeatable: true })
    } catch (error) {
      if (hasCode(error, 'no_such_schema')) return undefined
      throw error
    }
  }

  /** Sets the JSON Schema of a version of an event type. Throws `schema_incompatible` if it may refuse events that the stored one accepts. */
  async putSchema(eventType: string, version: number, schema: object): Promise<EventSchema> {
    return await this.#transport.call({ method: 'PUT', path: `/event-types/${segment(eventType)}/schema` + query({ version }), body: { schema }, repeatable: true })
  }

  /** Deletes the JSON Schema of a version of an event type. Repeating it has no effect. */
  async deleteSchema(eventType: string, version: number): Promise<void> {
    try {
      await this.#transport.call({ method: 'DELETE', path: `/event-types/${segment(eventType)}/schema` + query({ version }), repeatable: true })
    } catch (error) {
      if (!hasCode(error, 'no_such_schema')) throw error
    }
  }

  /** Returns a person whom events have personal data of, with the first 1,000 aggregates; undefined if there is none. */
  async subject(id: string): Promise<Subject | undefined> {
    try {
      return await this.#transport.call({ method: 'GET', path: `/subjects/${segment(id)}` + query({ limit: 1000 }), repeatable: true })
    } catch (error) {
      if (hasCode(error, 'no_such_subject')) return undefined
      throw error
    }
  }

  /** Erases a person: deletes the key of the person's data in events, forever. Repeating it has no further effect. Throws `no_such_subject`. */
  async eraseSubject(id: string): Promise<ErasureReceipt> {
    return await this.#transport.call({ method: 'POST', path: `/subjects/${segment(id)}/erase`, repeatable: true, wait: erasureWait })
  }

  /** Returns a subscription by name, whether it exists or not. */
  subscription<E extends EventLike = EventLike>(name: string): Subscription<E> {
    return new Subscription(this.#transport, name)
  }

  /** Returns all subscriptions with their progress. */
  async subscriptions(): Promise<SubscriptionStatus[]> {
    return (await this.#transport.call<{ subscriptions: SubscriptionStatus[] | null }>({ method: 'GET', path: '/subscriptions', repeatable: true })).subscriptions ?? []
  }
}

/** A state that is being loaded. It notices the events of a commit. */
class Loading<S, E extends EventLike> {
  at: Loaded<S>
  commit: Loaded<S> | undefined

  constructor(private readonly fold: Fold<S, E>, public wanted?: string) {
    this.at = { state: fold.initial, version: 0 }
  }

  async catchUp(store: EventStore, of: Aggregate, signal?: AbortSignal): Promise<void> {
    const o: ReadOptions = { from: this.at.version + 1 }
    if (signal) o.signal = signal
    for await (const event of store.read<E>(of, o)) {
      this.at = { state: this.fold.evolve(this.at.state, event), version: event.seq }
      if (this.wanted !== undefined && event.commit === this.wanted) this.commit = this.at
    }
  }
}

/** How long the server works on an erasure before it answers, in milliseconds. */
const erasureWait = 45_000

function pathOf(a: Aggregate): string {
  return `/aggregates/${segment(a.type)}/${segment(a.id)}`
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

function isMissing(error: unknown): boolean {
  return hasCode(error, 'no_such_aggregate')
}
