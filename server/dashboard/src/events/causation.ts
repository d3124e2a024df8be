// Arranges events by what caused them.

import type { Fed } from './api'

// DEEPEST is the number of levels that are indented. Deeper events are shown at the last one.
export const DEEPEST = 8

export interface Node {
  event: Fed
  depth: number
  through: boolean[] // for each indented level above the event's own: whether its line continues below this row
  last: boolean // the last effect of its cause
  effects: number
  outside?: string // ID of a cause that is not among the events
}

// causation returns the events as a forest, each event below its cause, effects in the given order. An event has at most one
// cause. Events that caused each other in a circle begin with the first of them.
export function causation(events: Fed[]): Node[] {
  const known = new Map(events.map((e) => [e.id, e]))
  const effects = new Map<string, Fed[]>()
  const roots: Fed[] = []
  for (const e of known.values()) {
    const cause = e.causationId
    if (cause && cause !== e.id && known.has(cause)) effects.has(cause) ? effects.get(cause)!.push(e) : effects.set(cause, [e])
    else roots.push(e)
  }
  const nodes: Node[] = []
  const seen = new Set<string>()
  const walk = (root: Fed) => {
    const stack: Omit<Node, 'effects'>[] = [{ event: root, depth: 0, through: [], last: true }]
    for (let next = stack.pop(); next; next = stack.pop()) {
      const { event, depth, through, last } = next
      if (seen.has(event.id)) continue
      seen.add(event.id)
      const below = (effects.get(event.id) ?? []).filter((e) => !seen.has(e.id))
      const outside = depth === 0 && event.causationId && event.causationId !== event.id && !known.has(event.causationId) ? { outside: event.causationId } : {}
      nodes.push({ event, depth, through, last, effects: below.length, ...outside })
      const lines = depth && depth < DEEPEST ? [...through, !last] : through
      for (let i = below.length - 1; i >= 0; i--) stack.push({ event: below[i]!, depth: depth + 1, through: lines, last: i === below.length - 1 })
    }
  }
  for (const r of roots) walk(r)
  for (const e of known.values()) if (!seen.has(e.id)) walk(e)
  return nodes
}

// merge adds found events to those known already, in the order of the feed.
export function merge(known: Fed[], found: Fed[]): Fed[] {
  const all = new Map([...known, ...found].map((e) => [e.id, e]))
  return [...all.values()].sort((a, b) => a.position - b.position || a.seq - b.seq)
}

// elapsed formats the time from one event to another: "+1.2 s".
export function elapsed(from: string, to: string): string {
  const ms = Date.parse(to) - Date.parse(from)
  const sign = ms < 0 ? '−' : '+', n = Math.abs(ms)
  if (n < 1000) return `${sign}${n} ms`
  if (n < 60_000) return `${sign}${(n / 1000).toFixed(1)} s`
  if (n < 3_600_000) return `${sign}${Math.round(n / 60_000)} min`
  if (n < 86_400_000 * 2) return `${sign}${Math.round(n / 3_600_000)} h`
  return `${sign}${Math.round(n / 86_400_000)} d`
}
