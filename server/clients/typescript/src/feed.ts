import { messages } from './sse.js'
import { passes, query, type Transport } from './transport.js'
import type { EventLike, FeedEvent } from './types.js'

/** Options of the feed. */
export interface FeedOptions {
  /** The position after which to begin. Default: 0, the beginning. */
  after?: number
  /** Only events of these types. Default: all. */
  eventTypes?: string[]
  /** Only events of aggregates of these types. Default: all. */
  aggregateTypes?: string[]
  /** Ends the iteration with the signal's reason. */
  signal?: AbortSignal
}

const longestSilence = 45_000 // milliseconds; the server sends a heartbeat every 15 seconds

interface Page<E extends EventLike> {
  events: FeedEvent<E>[] | null
  through: number
  tip: boolean
}

/** Yields the events of the feed up to its end. */
export async function* feedPages<E extends EventLike>(transport: Transport, o: FeedOptions): AsyncGenerator<FeedEvent<E>> {
  for (let after = o.after ?? 0; ;) {
    const path = '/feed' + query({ after, limit: 100, eventType: o.eventTypes, aggregateType: o.aggregateTypes })
    const page = await transport.call<Page<E>>({ method: 'GET', path, repeatable: true, signal: o.signal })
    for (const event of page.events ?? []) {
      o.signal?.throwIfAborted()
      yield event
    }
    if (page.tip) return
    after = page.through
  }
}

/** Yields the events of the feed as they come, without end. A broken connection is opened again, and nothing is missed or repeated. */
export async function* followFeed<E extends EventLike>(transport: Transport, o: FeedOptions): AsyncGenerator<FeedEvent<E>> {
  let after = o.after ?? 0
  const begun = new Set<string>() // events of an append whose end has not come yet
  for (let failures = 0; ;) {
    o.signal?.throwIfAborted()
    const connection = new AbortController()
    const silent = () => connection.abort(new DOMException('the server has sent nothing for too long', 'TimeoutError'))
    let watchdog = setTimeout(silent, longestSilence)
    const signal = o.signal ? AbortSignal.any([o.signal, connection.signal]) : connection.signal
    let failed: unknown
    try {
      const path = '/tail' + query({ after, eventType: o.eventTypes, aggregateType: o.aggregateTypes })
      const response = await transport.open({ method: 'GET', path }, signal)
      for await (const m of messages(response.body ?? new ReadableStream())) {
        failures = 0
        clearTimeout(watchdog) // the reader may be slow
        const event = m.event === 'beat' ? undefined : JSON.parse(m.data) as FeedEvent<E>
        if (event && !begun.has(event.id)) {
          begun.add(event.id)
          yield event
          o.signal?.throwIfAborted()
        }
        if (m.id) {
          after = Number(m.id)
          begun.clear()
        }
        watchdog = setTimeout(silent, longestSilence)
      }
    } catch (error) {
      o.signal?.throwIfAborted()
      if (!passes(error)) throw error
      failed = error
    } finally {
      clearTimeout(watchdog)
      connection.abort()
    }
    await transport.pause(++failures, o.signal, failed)
  }
}
