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
export interface State { version: number; at?: string; silent: number; fields: Record<string, unknown> }

const id = encodeURIComponent
const of = (type: string, aggregate: string) => `/events/aggregates/${id(type)}/${id(aggregate)}`
type Abort = AbortSignal | undefined

export const store = {
  types: (s?: Abort) => call<{ types: TypeCounts[] | null }>('GET', '/events/types', undefined, undefined, s),
  aggregates: (q: URLSearchParams, s?: Abort) => call<{ aggregates: Head[] | null; cursor?: string }>('GET', '/events/aggregates', q, undefined, s),
  head: (type: string, aggregate: string, s?: Abort) => call<Head>('GET', of(type, aggregate), undefined, undefined, s),
  events: (type: string, aggregate: string, q: URLSearchParams, s?: Abort) => call<{ version: number; events: Happened[] | null; next?: string }>('GET', of(type, aggregate) + '/events', q, undefined, s),
  state: (type: string, aggregate: string, version: number, s?: Abort) => call<State>('GET', of(type, aggregate) + '/state', new URLSearchParams({ version: String(version) }), undefined, s),
  tail: (type: string, aggregate: string, after: number) => '/api/v1' + of(type, aggregate) + '/tail?after=' + after,
  exportURL: (type: string, aggregate: string) => '/api/v1' + of(type, aggregate) + '/export',
}

export const pageOf = (type: string, aggregate?: string) => '/events/' + id(type) + (aggregate === undefined ? '' : '/' + id(aggregate))
