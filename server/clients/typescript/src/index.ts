export { EventStore, type Appended, type AppendOptions, type AppendPart, type Handled, type ReadOptions } from './store.js'
export { OnefoldError, QueryConflict, RefusedTokens, VersionConflict, type ErrorCode } from './errors.js'
export { Delivery, Subscription, type ReceiveOptions } from './subscription.js'
export type { FeedOptions } from './feed.js'
export type { Decider, Fold, Loaded } from './fold.js'
export type { ClientOptions } from './transport.js'
export type {
  Aggregate, AggregateEvent, DeliveredEvent, ErasureReceipt, EventLike, EventSchema, Expected, FeedEvent, Head, NewEvent, QueryItem, ReservedValue, ScopedValue, StoredEvent, Subject, SubscriptionSettings, SubscriptionStatus, Unless,
} from './types.js'
export type { components, operations, paths } from './openapi.js'
