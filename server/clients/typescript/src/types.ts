import type { components } from './openapi.js'

type Schemas = components['schemas']

/** The type and the data of an event. Declare the events of an application as a union of such types. */
export interface EventLike {
  type: string
  data?: unknown
}

type Replace<T, E> = E extends EventLike ? Omit<T, 'type' | 'data'> & E : never

/** An event to append. */
export type NewEvent<E extends EventLike = EventLike> = Replace<Schemas['EventStoreNew'], E>

/** An event of a stream. */
export type StoredEvent<E extends EventLike = EventLike> = Replace<Schemas['EventStoreEvent'], E>

/** An event with its aggregate. */
export type AggregateEvent<E extends EventLike = EventLike> = Replace<Schemas['EventStoreAggregateEvent'], E>

/** An event with its position in the feed. */
export type FeedEvent<E extends EventLike = EventLike> = Replace<Schemas['EventStoreFeedEvent'], E>

/** The end of a stream: its version and state. */
export type Head = Schemas['EventStoreHeadBody']

/** A value that an append reserves for its aggregate, or releases. */
export type ReservedValue = Schemas['EventStoreReservedValue']
export type ScopedValue = Schemas['EventStoreScopedValue']

/** Events of one of the types, or of any type, that have all of the tags. */
export interface QueryItem {
  types?: string[]
  tags: string[]
}

/** A condition of an append: that no event which matches the query came after a position. */
export interface Unless {
  query: QueryItem[]
  /** The position of the query's result. Default: the beginning. */
  after?: string
}

/** The expected version of a stream. */
export type Expected = number | 'none' | 'exists' | 'any'

/** The name of an aggregate: its type, such as order, and its ID. */
export interface Aggregate {
  type: string
  id: string
}

/** The settings of a subscription. */
export type SubscriptionSettings = Schemas['CreateSubscriptionRequestBody']

/** The progress of a subscription. */
export type SubscriptionStatus = Schemas['EventStoreSubscriptionBody']

/** An event as it was delivered to a consumer. */
export type DeliveredEvent<E extends EventLike = EventLike> = Replace<Schemas['EventStoreDelivery'], E>

/** The JSON Schema of a version of an event type. */
export type EventSchema = Schemas['EventStoreSchemaBody']

/** A person whom events have personal data of. */
export type Subject = Schemas['EventStoreSubjectBody']

/** What was done to erase a person. */
export type ErasureReceipt = Schemas['EventStoreErasureReceipt']
