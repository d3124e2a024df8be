import type { AggregateEvent, StoredEvent } from './types.js'

/** Stable codes of errors that applications react to. There are more, and later servers may add some. */
export type ErrorCode =
  | 'version_conflict' | 'query_conflict' | 'stream_closed' | 'reserved' | 'not_reserved' | 'commit_reused' | 'personal_fields' | 'write_mode' | 'truncated' | 'deleted'
  | 'no_such_aggregate' | 'no_such_subscription' | 'subscription_exists' | 'not_pulled' | 'delivery_lost' | 'earlier_unacknowledged' | 'invalid_token'
  | 'schema_violation' | 'schema_incompatible' | 'invalid_schema' | 'no_such_schema' | 'no_such_subject' | 'no_subject' | 'subject_erased' | 'no_master_key' | 'personal_data' | 'key_limited' | 'invalid_request' | 'too_large' | 'body_too_large' | 'unauthorized' | 'forbidden' | 'rate_limited' | 'busy' | 'unavailable' | 'too_many_streams'
  | 'internal' | (string & {})

const prefix = 'urn:onefold:error:'

/** An error that the server answered with (RFC 9457). */
export class OnefoldError extends Error {
  override readonly name: string = 'OnefoldError'
  /** The stable code, such as `version_conflict`. */
  readonly code: ErrorCode
  /** The status of the response. */
  readonly status: number
  /** The whole body of the response. */
  readonly problem: Readonly<Record<string, unknown>>

  /** How long the server asks to wait before another attempt, in milliseconds; 0 if it does not say. */
  readonly retryAfter: number

  constructor(status: number, problem: Record<string, unknown>, retryAfter = 0) {
    const type = typeof problem.type === 'string' ? problem.type : ''
    const code = type.startsWith(prefix) ? type.slice(prefix.length) : `status_${status}`
    super(`${code}: ${typeof problem.detail === 'string' ? problem.detail : `the server answered ${status}`}`)
    this.code = code
    this.status = status
    this.problem = problem
    this.retryAfter = retryAfter
  }
}

/** The stream has another version than the append expects. Decide again. */
export class VersionConflict extends OnefoldError {
  override readonly name = 'VersionConflict'
  /** The version of the stream. */
  get actual(): number { return Number(this.problem.actual) }
  /** The events after the expected version, as many as fit into a response. */
  get since(): StoredEvent[] { return (this.problem.since ?? []) as StoredEvent[] }
}

/** Events that match the query of `unless` were appended in the meantime. Decide again. */
export class QueryConflict extends OnefoldError {
  override readonly name = 'QueryConflict'
  /** Those events, as many as fit into a response. */
  get since(): AggregateEvent[] { return (this.problem.since ?? []) as AggregateEvent[] }
  /** The position after all of them. */
  get position(): string { return String(this.problem.position) }
}

/** Tokens of deliveries were refused. The others have had their effect. */
export class RefusedTokens extends OnefoldError {
  override readonly name = 'RefusedTokens'
  get refused(): { token: string; code: ErrorCode; detail: string }[] {
    return (this.problem.refused ?? []) as { token: string; code: ErrorCode; detail: string }[]
  }
}

/** Returns the error for a response. */
export function errorOf(status: number, problem: Record<string, unknown>, retryAfter: number): OnefoldError {
  const error = new OnefoldError(status, problem, retryAfter)
  if (error.code === 'version_conflict') return new VersionConflict(status, problem)
  if (error.code === 'query_conflict') return new QueryConflict(status, problem)
  if (Array.isArray(problem.refused)) return new RefusedTokens(status, problem)
  return error
}
