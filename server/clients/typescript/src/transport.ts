import { errorOf, OnefoldError } from './errors.js'

/** Options of a client. */
export interface ClientOptions {
  /** URL of the server, such as `https://events.example.com`. */
  url: string
  /** API key for the event store. */
  key: string
  /** Attempts of a request that failed without an answer, or because the server was busy. Default: 5. */
  attempts?: number
  /** Wait before the first retry in milliseconds, which doubles with each. Half of it is random. Default: 100. */
  retryDelay?: number
  /** How long to wait for an answer in milliseconds. Default: 30,000. */
  timeout?: number
  /** Default: the global fetch. */
  fetch?: typeof fetch
}

/** A request below /api/v1/events. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  body?: unknown
  signal?: AbortSignal | undefined
  /** Whether a repetition is harmless. */
  repeatable?: boolean
  /** Added to the time to wait for an answer, in milliseconds. */
  wait?: number
}

const root = '/api/v1/events'
const longest = 10_000

/** Sends requests, and repeats those that may be. */
export class Transport {
  readonly #base: string
  readonly #headers: Record<string, string>
  readonly #attempts: number
  readonly #delay: number
  readonly #timeout: number
  readonly #fetch: typeof fetch

  constructor(o: ClientOptions) {
    this.#base = baseOf(o.url)
    this.#headers = { Authorization: `Bearer ${keyOf(o.key)}`, Accept: 'application/json' }
    this.#attempts = Math.max(o.attempts ?? 5, 1)
    this.#delay = o.retryDelay ?? 100
    this.#timeout = o.timeout ?? 30_000
    this.#fetch = o.fetch ?? fetch
  }

  /** Sends a request and returns the body of the response. */
  async call<T>(c: Call): Promise<T> {
    for (let n = 1; ; n++) {
      c.signal?.throwIfAborted()
      try {
        return await this.#once<T>(c)
      } catch (error) {
        c.signal?.throwIfAborted()
        if (!c.repeatable || n >= this.#attempts || !passes(error)) throw error
        await this.pause(n, c.signal, error)
      }
    }
  }

  async #once<T>(c: Call): Promise<T> {
    const late = AbortSignal.timeout(this.#timeout + (c.wait ?? 0))
    const response = await this.open(c, c.signal ? AbortSignal.any([c.signal, late]) : late)
    if (response.status === 204) return undefined as T
    return await response.json() as T
  }

  /** Sends a request and returns the response once its headers are there. Throws for an error status. */
  async open(c: Call, signal?: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { ...this.#headers }
    const init: RequestInit = { method: c.method, headers, redirect: 'error' }
    if (c.body !== undefined) {
      headers['Content-Type'] = 'application/json'
      init.body = JSON.stringify(c.body)
    }
    if (signal) init.signal = signal
    const path = c.path.startsWith(root) ? c.path : root + c.path
    const send = this.#fetch // not called as a method: the fetch of browsers refuses another this
    const response = await send(this.#base + path, init)
    if (response.ok) return response
    const text = await response.text()
    throw errorOf(response.status, parsed(text), seconds(response.headers.get('Retry-After')) * 1000)
  }

  /** Waits before attempt n + 1, at least as long as the error of the last attempt says, but at most 10 seconds. */
  async pause(n: number, signal?: AbortSignal, error?: unknown): Promise<void> {
    const most = Math.min(this.#delay * 2 ** (n - 1), longest)
    const asked = error instanceof OnefoldError ? Math.min(error.retryAfter, longest) : 0
    await sleep(Math.max(most / 2, asked) + Math.random() * most / 2, signal)
  }
}

// A mistake here would look like a server without an answer, and be repeated forever.
function baseOf(url: string): string {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new TypeError(`${JSON.stringify(url)} is not the URL of a server, such as https://events.example.com`)
  return url.replace(/\/+$/, '')
}

function keyOf(key: string): string {
  if (!/^[!-~]+$/.test(key)) throw new TypeError('the API key is empty, or has spaces or other characters that no key has')
  return key
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value as Record<string, unknown> : {}
  } catch {
    return {} // of a proxy, for example
  }
}

/** Returns the number of seconds in a header; 0 if there is none. */
function seconds(header: string | null): number {
  return header !== null && /^\d{1,9}$/.test(header) ? Number(header) : 0
}

/** Reports whether a repetition of the request may succeed: there was no answer, or the server was busy. */
export function passes(error: unknown): boolean {
  if (error instanceof OnefoldError) return error.status === 429 || error.status === 408 || error.status >= 500 && error.status !== 501 && error.code !== 'damaged'
  return error instanceof TypeError || error instanceof SyntaxError || error instanceof DOMException && (error.name === 'TimeoutError' || error.name === 'NetworkError')
}

/** Resolves after a time, or rejects as soon as the signal is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
}

/** Encodes a part of a path. */
export function segment(text: string): string {
  if (text === '.' || text === '..') throw new TypeError(`${JSON.stringify(text)} cannot be used as an ID over HTTP`)
  return encodeURIComponent(text)
}

/** Encodes parameters of a query; those without a value are omitted. */
export function query(parameters: Record<string, string | number | boolean | string[] | undefined>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) search.set(name, String(value))
  }
  const text = search.toString()
  return text && '?' + text
}
