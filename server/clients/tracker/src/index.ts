import { start } from './core.js'

const further: Record<string, () => Promise<unknown>> = { vitals: () => import('./vitals.js'), check: () => import('./check.js') }

/** Settings of the tracker. */
export interface Options {
  /** ID of the site in onefold, 1 to 128 characters. */
  site: string
  /** URL that events are sent to, such as `https://stats.example.com/api/event`, or its path on the page's own host. */
  endpoint: string
  /** Makes the part after `#` part of the path, for routers that use it. Default: false. */
  hash?: boolean | undefined
  /** Counts the page also when it is shown in a frame. Default: false. */
  frames?: boolean | undefined
  /** Measures web vitals, with code that is loaded for it. Default: false. */
  vitals?: boolean | undefined
  /** Signals of browsers that stop all events: Do Not Track, Global Privacy Control. Default: none. */
  respect?: readonly ('dnt' | 'gpc')[] | undefined
}

/** A value of a property. Numbers and booleans become text; null, undefined and '' are omitted. */
export type Value = string | number | boolean | null | undefined

/** What an event has besides its name. */
export interface EventData {
  /** At most 30 properties, with names of at most 64 bytes and values of at most 512. */
  props?: Readonly<Record<string, Value>> | undefined
  /** A decimal. As text, it is stored exactly as written. */
  revenue?: string | number | undefined
  /** The currency of the revenue, a code of ISO 4217. Default: the site's. */
  currency?: string | undefined
}

type Call = [name: string, data?: unknown]

interface Tracker {
  (...call: Call): void
  q?: Call[] // calls before the tracker is started
  v?: unknown // set by the tracker when it is started
  off?: unknown // set if the visitor has opted out
}

declare global {
  interface Window {
    onefold?: Tracker
  }
}

const maxQueued = 30 // calls before init; the tracker queues as many events

// call calls the tracker, or keeps the call until it is started. It does nothing where there is no browser.
function call(...args: Call): void {
  if (typeof window === 'undefined') return
  if (!window.onefold) {
    const queue: Call[] = []
    window.onefold = Object.assign((...early: Call) => { if (queue.length < maxQueued) queue.push(early) }, { q: queue })
  }
  window.onefold(...args)
}

/**
 * Starts the tracker: counts a page view now and whenever the History API changes the path, and
 * measures engagement, scroll depth, outbound links and downloads.
 *
 * It does nothing on a server, in a frame (unless `frames` is set), or if the tracker is already
 * running, whether from this package or from the script. If site or endpoint is empty, it writes a
 * warning to the console and starts nothing, so that a missing setting does not break the page.
 */
export function init(options: Options): void {
  if (typeof window === 'undefined') return
  const { site, endpoint, hash, frames, vitals, respect } = options
  if (!site || !endpoint) {
    console.warn('onefold: init needs a site and an endpoint; nothing is counted')
    return
  }
  const on = (setting: boolean | undefined) => (setting ? '' : undefined)
  start({ site, api: endpoint, hash: on(hash), frames: on(frames), vitals: on(vitals), respect: respect?.join(' '), package: '1' }, endpoint, (name) => {
    further[name]?.().catch(() => {}) // without it, pages and events still count
  })
}

/** Counts a page view that the path does not show. */
export function pageView(): void {
  call('pageview')
}

/** Counts an event. The name has at most 120 bytes. Events before `init` are kept, at most 30. */
export function event(name: string, data: EventData = {}): void {
  call(name, data)
}

/** Counts a page view of a page that says "not found", as event `404`. */
export function notFound(): void {
  call('404')
}

/** Sets the user ID of all events from now on, at most 128 bytes; null clears it. Ask the visitor first. */
export function setUser(id: string | number | null): void {
  call('identify', { id })
}

/**
 * Stops counting this visitor in this browser, from now on and on later visits, until `optIn`. The
 * choice is kept in localStorage, and is the only thing that is stored.
 */
export function optOut(): void {
  choose(true)
}

/** Counts this visitor again, from the next event or page view on. */
export function optIn(): void {
  choose(false)
}

const choice = 'onefold_ignore' // the same that ?onefold=ignore sets

function choose(off: boolean): void {
  if (typeof window === 'undefined') return
  if (window.onefold) window.onefold.off = off
  try {
    if (off) localStorage.setItem(choice, '1')
    else localStorage.removeItem(choice)
  } catch {
    // Without storage, the choice lasts until the page is left.
  }
}

/** Reports whether this visitor has opted out, with `optOut` or with `?onefold=ignore`. */
export function isOptedOut(): boolean {
  if (typeof window === 'undefined') return false
  try {
    return Boolean(window.onefold?.off || localStorage.getItem(choice))
  } catch {
    return Boolean(window.onefold?.off)
  }
}
