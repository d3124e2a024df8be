// The client of the event store's API. It is separate from lib/api so that other pages do not load it.

import { call } from '../lib/api'

export interface TypeCounts { type: string; aggregates: number; closed: number; deleted: number; events: number; lastAt?: string }
export interface Head { type: string; id: string; version: number; state?: 'closed' | 'deleted'; created: string; updated: string; lastTypes?: string[] }
export interface Happened {
  seq: number
  id: string
  type: string
  schema: number
  occurredAt: string
  recordedAt: string
  data?: unknown
  binary?: string
  commit: string
  nth: number
  of: number
  correlationId?: string
  causationId?: string
  actor?: string
  tenant?: string
  metadata?: Record<string, string>
}
// Fed is an event in the feed of all aggregates.
export interface Fed extends Happened { position: number; aggregateType: string; aggregateId: string }
export interface FeedHead { position: number; updated?: string; lagSeconds: number | null; lagReason?: string }
export interface Activity { from: string; step: number; appends: number[]; through: number }
export interface Rebuild { running: boolean; stage?: string; aggregates: number; events: number; began: string; ended?: string; error?: string; same: number; different: number; fewer: number; unserved: number }
export interface Projection { name: string; version: number; served?: { version: number; previous?: number; since: string }; parked: number; rebuild?: Rebuild }
export interface Parked { aggregateType: string; aggregateId: string; applied: number; version: number; reason: string; since: string }
export interface PartitionProgress { partition: number; position: number; consumer?: string; parked: number; failures: number; error?: string; updated: string }
export interface Subscription { name: string; position: number; lag: number; handled: number; parked: number; pulled?: boolean; inFlight?: number; created: string; updated?: string; partitions: PartitionProgress[] | null }
export interface ParkedEvent { aggregateType: string; aggregateId: string; seq: number; id: string; type: string; position: number; partition: number; reason?: string; attempts: number; parked: string }
export interface Correlated { events: Fed[] | null; from: number; to: number; end: number; skipped?: number }
export interface Heads { aggregates: Head[] | null; cursor?: string; scanned: number; partial?: boolean }
export interface State { version: number; at?: string; silent: number; fields: Record<string, unknown> }

const id = encodeURIComponent
const of = (type: string, aggregate: string) => `/events/aggregates/${id(type)}/${id(aggregate)}`
type Abort = AbortSignal | undefined

export const store = {
  types: (s?: Abort) => call<{ types: TypeCounts[] | null }>('GET', '/events/types', undefined, undefined, s),
  aggregates: (q: URLSearchParams, s?: Abort) => call<Heads>('GET', '/events/aggregates', q, undefined, s),
  head: (type: string, aggregate: string, s?: Abort) => call<Head>('GET', of(type, aggregate), undefined, undefined, s),
  events: (type: string, aggregate: string, q: URLSearchParams, s?: Abort) => call<{ version: number; events: Happened[] | null; next?: string }>('GET', of(type, aggregate) + '/events', q, undefined, s),
  state: (type: string, aggregate: string, version: number, s?: Abort) => call<State>('GET', of(type, aggregate) + '/state', new URLSearchParams({ version: String(version) }), undefined, s),
  feed: (after: number, limit: number, s?: Abort) => call<{ events: Fed[] | null; through: number }>('GET', '/events/feed', new URLSearchParams({ after: String(after), limit: String(limit) }), undefined, s),
  feedHead: (s?: Abort) => call<FeedHead>('GET', '/events/feed/head', undefined, undefined, s),
  feedTail: (after: number) => '/api/v1/events/tail?after=' + after,
  activity: (range: string, s?: Abort) => call<Activity>('GET', '/events/feed/activity', new URLSearchParams({ range }), undefined, s),
  correlated: (q: URLSearchParams, s?: Abort) => call<Correlated>('GET', '/events/correlated', q, undefined, s),
  projections: (s?: Abort) => call<{ feed: number; projections: Projection[] | null }>('GET', '/events/projections', undefined, undefined, s),
  parked: (projection: string, s?: Abort) => call<{ parked: Parked[] | null }>('GET', `/events/projections/${id(projection)}/parked`, undefined, undefined, s),
  retry: (projection: string) => call<{ parked: Parked[] | null }>('POST', `/events/projections/${id(projection)}/retry`),
  rebuild: (projection: string) => call<void>('POST', `/events/projections/${id(projection)}/rebuild`),
  subscriptions: (s?: Abort) => call<{ head: number; subscriptions: Subscription[] | null }>('GET', '/events/subscriptions', undefined, undefined, s),
  parkedEvents: (subscription: string, s?: Abort) => call<{ parked: ParkedEvent[] | null; more: boolean }>('GET', `/events/subscriptions/${id(subscription)}/parked`, undefined, undefined, s),
  retryEvents: (subscription: string) => call<{ aggregates: number }>('POST', `/events/subscriptions/${id(subscription)}/retry`),
  discardEvents: (subscription: string) => call<{ events: number }>('POST', `/events/subscriptions/${id(subscription)}/discard`),
  tail: (type: string, aggregate: string, after: number) => '/api/v1' + of(type, aggregate) + '/tail?after=' + after,
  exportURL: (type: string, aggregate: string) => '/api/v1' + of(type, aggregate) + '/export',
}

export const pageOf = (type: string, aggregate?: string) => '/events/' + id(type) + (aggregate === undefined ? '' : '/' + id(aggregate))

// correlationPage is the page of the events with a correlation ID, or those caused by an event. It searches the feed around a time.
export const correlationPage = (of: string, around?: string) => '/correlations?' + new URLSearchParams({ id: of, ...(around ? { around } : {}) })
