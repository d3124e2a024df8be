// What the pages say about the feed, projections and lists of aggregates.

import { exact, many, seconds } from '../lib/format'
import type { Activity, Fed, FeedHead, Projection, Rebuild } from './api'

// lag formats how far the feed is behind the appends.
export function lag(h: Pick<FeedHead, 'lagSeconds'>): string {
  if (h.lagSeconds === null) return 'Unknown'
  return h.lagSeconds < 1 ? '< 1 s' : seconds(h.lagSeconds)
}

export type Tone = 'good' | 'busy' | 'bad'

// condition summarizes a projection in a few words.
export function condition(p: Projection): { tone: Tone; text: string } {
  if (p.rebuild?.running) return { tone: 'busy', text: 'Rebuilding' }
  if (p.parked > 0) return { tone: 'bad', text: `${exact(p.parked)} parked` }
  if (!p.served) return { tone: 'bad', text: 'Not built' }
  if (p.served.version !== p.version) return { tone: 'bad', text: `Version ${p.served.version} active` }
  return { tone: 'good', text: 'Up to date' }
}

const STAGES: Record<string, string> = { build: 'Building read models', compare: 'Comparing with the active version', follow: 'Catching up with new events' }

// progress says what a running rebuild does.
export const progress = (r: Rebuild) => `${STAGES[r.stage ?? ''] ?? 'Starting'}: ${many(r.aggregates, 'aggregate')}, ${many(r.events, 'event')} so far`

// outcome says how a rebuild ended. The first one has nothing to compare with.
export function outcome(r: Rebuild): string {
  const all = many(r.same + r.different + r.fewer + r.unserved, 'read model')
  const parts = ([[r.same, 'equal'], [r.different, 'different'], [r.unserved, 'not in the active version before'], [r.fewer, 'without the events that cannot be applied']] as [number, string][])
    .filter(([n]) => n > 0).map(([n, what]) => `${exact(n)} ${what}`)
  if (r.same + r.different > 0) return `${all} compared: ${parts.join(', ')}.`
  return `${all} built${r.fewer ? `, ${parts.at(-1)}` : ''}.`
}

// bars converts counts to points of a chart, in seconds. The last step is not over yet.
export function bars(a: Activity): { x: number[]; y: number[]; from: number; to: number; total: number } {
  const begin = Date.parse(a.from) / 1000
  const x = a.appends.map((_, i) => begin + i * a.step)
  return { x, y: a.appends, from: begin - a.step / 2, to: begin + (a.appends.length - 0.5) * a.step, total: a.appends.reduce((sum, n) => sum + n, 0) }
}

export type Column = 'id' | 'events' | 'updated'

// order returns the order after a click on a column: IDs begin ascending, figures and times descending.
export function order(now: string, column: Column): string {
  const first = column === 'id' ? 'id' : '-' + column
  if (now === first) return first.startsWith('-') ? column : '-' + column
  return first
}

export const direction = (now: string, column: Column) => (now === column ? 'ascending' : now === '-' + column ? 'descending' : 'none')

// envelopeIDs returns the lines of an event that name it and its append. The ID of an append without a commit ID of its own is that
// of its first event, and not repeated.
export function envelopeIDs(e: { id: string; commit: string; nth: number; of: number }): [string, string][] {
  const part = e.of > 1 ? `event ${e.nth + 1} of ${e.of}` : ''
  const own = e.commit !== e.id
  const lines: [string, string][] = [['Event ID', e.id]]
  if (own || part) lines.push(['Append', [own ? e.commit : '', part].filter(Boolean).join(', ')])
  return lines
}

// appends groups events of the feed, newest first, by append: the last event of each, and how many came before it.
export function appends(events: Fed[], most: number): { event: Fed; before: number }[] {
  const rows: { event: Fed; before: number }[] = []
  for (const event of events) {
    const last = rows.at(-1)
    if (last?.event.position === event.position) last.before++
    else if (rows.length === most) break
    else rows.push({ event, before: 0 })
  }
  return rows
}
