import { RefusedTokens } from './errors.js'
import { passes, segment, type Transport } from './transport.js'
import type { DeliveredEvent, EventLike, SubscriptionSettings, SubscriptionStatus } from './types.js'

/** Bounds of a delivery. */
export interface ReceiveOptions {
  /** Maximum number of events, 1 to 100. Default: 10. */
  events?: number
  /** Maximum size of their data in bytes. Default: 4 MB. */
  bytes?: number
  /** Seconds until events that were not acknowledged are delivered again. Default: 30. */
  visible?: number
  /** Seconds to wait for events, 0 to 20. */
  wait?: number
  /** Name of the consumer, for the list of subscriptions. */
  consumer?: string
  /** Ends with the signal's reason. */
  signal?: AbortSignal
}

/** An event that was delivered, and what to do with it. */
export class Delivery<E extends EventLike = EventLike> {
  /** Whether it was acknowledged or rejected. */
  settled = false
  /** Whether it was rejected. */
  rejected = false

  constructor(private readonly of: Subscription<E>, readonly event: DeliveredEvent<E>) {}

  /** Says that the event is handled. Throws RefusedTokens with the code `delivery_lost` if it came too late, and the event was delivered again. */
  async acknowledge(): Promise<void> {
    await this.of.acknowledge([this.event.token])
    this.settled = true
  }

  /**
   * Extends the visibility time: it ends in so many seconds, 1 to 43,200, or later. Throws RefusedTokens with the code `delivery_lost` if the event was delivered
   * again.
   */
  async extend(visible: number): Promise<void> {
    await this.of.extend([this.event.token], visible)
  }

  /** Says that the event cannot be handled. It is retried, or parked after the last attempt, or with park at once. */
  async reject(reason: string, o: { park?: boolean } = {}): Promise<void> {
    await this.of.reject([this.event.token], reason, o)
    this.settled = this.rejected = true
  }
}

/** A subscription whose events consumers receive. */
export class Subscription<E extends EventLike = EventLike> {
  readonly #transport: Transport
  readonly #path: string

  constructor(transport: Transport, readonly name: string) {
    this.#transport = transport
    this.#path = `/subscriptions/${segment(name)}`
  }

  /** Creates the subscription, unless it exists with the same settings. Throws `subscription_exists` if it has others. */
  async create(settings: SubscriptionSettings = {}): Promise<SubscriptionStatus> {
    return await this.#transport.call({ method: 'PUT', path: this.#path, body: settings, repeatable: true })
  }

  /** Deletes the subscription with its parked events. */
  async delete(): Promise<void> {
    await this.#transport.call({ method: 'DELETE', path: this.#path })
  }

  /** Retries the parked events: the first of each aggregate, then the others in order. */
  async retry(): Promise<void> {
    await this.#transport.call({ method: 'POST', path: `${this.#path}/retry`, repeatable: true })
  }

  /** Receives events, those of an aggregate in order. Returns none if there are none in time. */
  async receive(o: ReceiveOptions = {}): Promise<Delivery<E>[]> {
    const { signal, ...body } = o
    const answer = await this.#transport.call<{ events: DeliveredEvent<E>[] | null }>({
      method: 'POST', path: `${this.#path}/receive`, body, signal, wait: (o.wait ?? 0) * 1000,
    })
    return (answer.events ?? []).map((event) => new Delivery(this, event))
  }

  /** Acknowledges deliveries by their tokens. */
  async acknowledge(tokens: string[]): Promise<void> {
    await this.#transport.call({ method: 'POST', path: `${this.#path}/acknowledge`, body: { tokens }, repeatable: true })
  }

  /** Extends the visibility time of deliveries by their tokens, and of all deliveries of the same partitions. It ends in so many seconds, 1 to 43,200, or later. */
  async extend(tokens: string[], visible: number): Promise<void> {
    await this.#transport.call({ method: 'POST', path: `${this.#path}/extend`, body: { tokens, visible }, repeatable: true })
  }

  /** Rejects deliveries by their tokens. */
  async reject(tokens: string[], reason: string, o: { park?: boolean } = {}): Promise<void> {
    await this.#transport.call({ method: 'POST', path: `${this.#path}/reject`, body: { tokens, reason: shortened(reason), park: o.park ?? false }, repeatable: true })
  }

  /**
   * Yields deliveries without end. Acknowledge or reject each. Later events of an aggregate whose event was rejected are skipped: they are delivered again. A
   * broken connection is opened again.
   */
  async *deliveries(o: ReceiveOptions = {}): AsyncGenerator<Delivery<E>> {
    for (let failures = 0, idle = 0; ;) {
      o.signal?.throwIfAborted()
      const begun = performance.now()
      let batch: Delivery<E>[]
      try {
        batch = await this.receive({ wait: 20, ...o })
        failures = 0
      } catch (error) {
        o.signal?.throwIfAborted()
        if (!passes(error)) throw error
        await this.#transport.pause(++failures, o.signal, error)
        continue
      }
      if (batch.length === 0 && performance.now() - begun < shortestWait) await this.#transport.pause(Math.min(++idle, mostIdle), o.signal)
      else idle = 0
      const rejected = new Set<string>()
      for (const delivery of batch) {
        const aggregate = JSON.stringify([delivery.event.aggregateType, delivery.event.aggregateId])
        if (rejected.has(aggregate)) continue
        o.signal?.throwIfAborted()
        yield delivery
        if (delivery.rejected || !delivery.settled) rejected.add(aggregate)
      }
    }
  }

  /**
   * Handles events until the signal is aborted. An event is acknowledged when the handler is done; if it throws, the event is rejected with the error's message.
   * A delivery whose visibility time has ended is left to the consumer that has it now.
   */
  async run(handle: (event: DeliveredEvent<E>) => Promise<void>, o: ReceiveOptions = {}): Promise<void> {
    try {
      for await (const delivery of this.deliveries(o)) await settle(delivery, handle)
    } catch (error) {
      if (!o.signal?.aborted) throw error
    }
  }
}

async function settle<E extends EventLike>(delivery: Delivery<E>, handle: (event: DeliveredEvent<E>) => Promise<void>): Promise<void> {
  let failed: unknown
  try {
    await handle(delivery.event)
  } catch (error) {
    failed = error ?? new Error('the handler failed')
  }
  try {
    if (failed === undefined) await delivery.acknowledge()
    else await delivery.reject(failed instanceof Error ? failed.message : String(failed))
  } catch (error) {
    if (!(error instanceof RefusedTokens)) throw error
  }
}

const shortestWait = 1000 // milliseconds: a server that answers faster without events does not wait, because it shuts down or was told not to
const mostIdle = 4 // the pause doubles up to here

const maxReason = 400 // characters: the server takes 500

function shortened(reason: string): string {
  return reason.length > maxReason ? reason.slice(0, maxReason) + '…' : reason || 'rejected'
}
