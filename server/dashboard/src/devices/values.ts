// Formats, searches and plots readings.

import { ago } from '../lib/format'
import type { MetricDef, Point, Reading, Row, Severity, Value } from './api'

export const SEVERITIES: Severity[] = ['critical', 'warning', 'info']
export const STATUSES = ['active', 'maintenance', 'inactive', 'provisioned', 'retired'] as const
export const capital = (s: string) => s.slice(0, 1).toUpperCase() + s.slice(1)

// NEXT lists the statuses that may follow each status, as on the server.
export const NEXT: Record<string, (typeof STATUSES)[number][]> = {
  provisioned: ['active', 'retired'], active: ['inactive', 'maintenance', 'retired'], inactive: ['active', 'maintenance', 'retired'],
  maintenance: ['active', 'inactive', 'retired'], retired: [],
}

// brief formats a value to fit a tile, with six significant digits. The exact value is in the tooltip.
export function brief(v: Value | null | undefined, unit = ''): string {
  if (v === null || v === undefined) return '–'
  if (typeof v === 'boolean') return v ? 'yes' : 'no'
  if (typeof v === 'string') return v
  const size = Math.abs(v)
  const text = size !== 0 && (size < 1e-4 || size >= 1e9) ? v.toExponential(2) : new Intl.NumberFormat('en', { maximumSignificantDigits: 6 }).format(v)
  return unit ? `${text} ${unit}` : text
}

// lasting formats a duration in its two largest units.
export function lasting(ms: number): string {
  let s = Math.max(0, Math.round(ms / 1000))
  const parts: string[] = []
  for (const [name, size] of [['d', 86_400], ['h', 3600], ['min', 60], ['s', 1]] as const) {
    const n = Math.floor(s / size)
    s -= n * size
    if (n || parts.length) parts.push(`${n} ${name}`)
    if (parts.length === 2) break
  }
  return parts.filter((p, i) => i === 0 || !p.startsWith('0 ')).join(' ') || '0 s'
}

export interface Wanted { q: string; status: string; type: string; tag: string; firmware: string; connectivity: string; firing: string; sort: string }
const KEYS = ['q', 'status', 'type', 'tag', 'firmware', 'connectivity', 'firing', 'sort'] as const
export const readWanted = (query: URLSearchParams) => Object.fromEntries(KEYS.map((k) => [k, query.get(k) ?? ''])) as unknown as Wanted
export function withWanted(query: URLSearchParams, change: Partial<Wanted>): URLSearchParams {
  const q = new URLSearchParams(query)
  for (const [k, v] of Object.entries(change)) if (v) q.set(k, v); else q.delete(k)
  return q
}

// Listed is a device with the severity of its worst open alert.
export type Listed = Row & { firing?: Severity | undefined }
export const connection = (r: Row) => r.connectivity ?? 'never'

// newest merges streamed readings (newest first) with a list of readings (oldest first), newest first and without duplicates. Of
// readings with the same time, the last of the list counts as the newest.
export function newest(came: Reading[], list: Reading[]): Reading[] {
  const seen = new Set<string>()
  const all = [...came, ...list.toReversed()].filter((r) => { const k = r.at + JSON.stringify(r.values); return seen.has(k) ? false : seen.add(k) })
  return all.sort((a, b) => b.at.localeCompare(a.at))
}

// marked returns the devices with the severities of their worst open alerts.
export function marked(rows: Row[], alerts: { device: string; severity: Severity }[]): Listed[] {
  const worst = new Map<string, Severity>()
  for (const a of alerts) if (rank(a.severity) > rank(worst.get(a.device))) worst.set(a.device, a.severity)
  return rows.map((r) => ({ ...r, firing: worst.get(r.id) }))
}

// metricsOf returns the metrics that a device's profile names, followed by the others that the device has sent.
export function metricsOf(named: MetricDef[], latest: Row['latest']): MetricDef[] {
  const known = new Set(named.map((m) => m.name))
  const heard = Object.entries(latest ?? {}).filter(([name]) => !known.has(name)).sort(([a], [b]) => collator.compare(a, b))
  return [...named, ...heard.map(([name, v]): MetricDef => ({ name, kind: typeof v.value === 'number' ? 'gauge' : 'state' }))]
}

// heard describes the time of a device's last measurement. It adds when the device last sent something if that is APART or more
// from it, as for a device that sends what it kept, or whose clock is wrong. Measurements of more than a week ago have their date.
export function heard(r: Pick<Row, 'lastSeen' | 'lastReading'>, now: number, date: Pick<Intl.DateTimeFormat, 'format'>): string {
  if (!r.lastReading) return 'no reading yet'
  const at = Date.parse(r.lastReading)
  const measured = now - at < WEEK ? ago(r.lastReading, now) : date.format(at)
  return differ(r.lastReading, r.lastSeen) ? `last measured ${measured}, received ${ago(r.lastSeen!, now)}` : `last reading ${measured}`
}
const WEEK = 604_800_000

// differ tells whether a reading arrived at another time than it was measured.
export const differ = (at: string, arrived: string | undefined) => arrived !== undefined && Math.abs(Date.parse(arrived) - Date.parse(at)) >= APART
const APART = 300_000

const rank = (s: Severity | undefined) => (s ? 3 - SEVERITIES.indexOf(s) : 0)
const orders: Record<string, (a: Listed, b: Listed) => number> = {
  '': (a, b) => rank(b.firing) - rank(a.firing) || byName(a, b), // devices with the worst alerts come first
  name: (a, b) => byName(a, b),
  seen: (a, b) => (b.lastSeen ?? '').localeCompare(a.lastSeen ?? ''),
  silent: (a, b) => (a.lastSeen ?? '').localeCompare(b.lastSeen ?? ''),
  firmware: (a, b) => collator.compare(a.firmware ?? '', b.firmware ?? '') || byName(a, b),
}
const collator = new Intl.Collator('en', { numeric: true })
const byName = (a: Row, b: Row) => collator.compare(a.name || a.id, b.name || b.id)

// choose filters and sorts rows. Every word of the search must occur in some property.
export function choose(rows: Listed[], w: Wanted): Listed[] {
  const words = w.q.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = (r: Listed) =>
    (!w.status || r.status === w.status) && (!w.connectivity || connection(r) === w.connectivity) && (!w.type || (r.type ?? '') === w.type) &&
    (!w.firmware || (r.firmware ?? '') === w.firmware) && (!w.tag || !!r.tags?.includes(w.tag)) && (!w.firing || (w.firing === 'any' ? !!r.firing : r.firing === w.firing)) &&
    (words.length === 0 || has(`${r.id} ${r.name ?? ''} ${r.location ?? ''} ${r.type ?? ''} ${r.firmware ?? ''} ${(r.tags ?? []).join(' ')}`.toLowerCase(), words))
  return rows.filter(fits).sort(orders[w.sort] ?? orders['']!)
}
const has = (text: string, words: string[]) => words.every((word) => text.includes(word))

// tallied counts the devices per value of a property, most frequent first.
export function tallied(rows: Row[], of: (r: Row) => string[] | string | null | undefined): [string, number][] {
  const n = new Map<string, number>()
  for (const r of rows) for (const v of [of(r) ?? []].flat()) if (v) n.set(v, (n.get(v) ?? 0) + 1)
  return [...n].sort((a, b) => b[1] - a[1] || collator.compare(a[0], b[0]))
}

// Drawn is the data of a chart: times in seconds, values, the band around them, and the gaps.
export interface Drawn { x: number[]; y: (number | null)[]; low: (number | null)[]; high: (number | null)[]; gaps: [number, number][]; at: (Point | null)[] }

// drawn converts points to a chart. Readings further apart than three times their expected interval leave a gap: the line breaks
// there, and gaps lists it.
export function drawn(points: Point[], every: number | undefined): Drawn {
  const d: Drawn = { x: [], y: [], low: [], high: [], gaps: [], at: [] }
  const beat = every || usual(points)
  const add = (x: number, y: number | null, low: number | null, high: number | null, p: Point | null) => {
    d.x.push(x); d.y.push(y); d.low.push(low); d.high.push(high); d.at.push(p)
  }
  let last: number | undefined // time of the last point with a value
  let missed = false
  for (const p of points) {
    const x = Date.parse(p.at) / 1000
    const y = numeric(p.value)
    if (y === null) {
      add(x, null, null, null, p)
      missed = true
      continue
    }
    const gap = last !== undefined && (missed || (!p.figures && beat > 0 && x - last > 3 * beat))
    if (gap) {
      if (!missed) add((last! + x) / 2, null, null, null, null)
      d.gaps.push([last!, x])
    }
    const band = p.figures?.kind === 'gauge' && !p.filled ? p.figures : undefined // a counter's increase is not between its min and max
    add(x, y, band?.min === undefined ? y : Number(band.min), band?.max === undefined ? y : Number(band.max), p)
    last = x
    missed = false
  }
  return d
}

export const numeric = (v: Value | null | undefined) => (typeof v === 'number' ? v : typeof v === 'boolean' ? Number(v) : null)

// usual returns the median time between points, in seconds.
function usual(points: Point[]): number {
  const between = points.slice(1).map((p, i) => (Date.parse(p.at) - Date.parse(points[i]!.at)) / 1000).filter((s) => s > 0).sort((a, b) => a - b)
  return between[Math.floor(between.length / 2)] ?? 0
}

export const SPANS: [string, string, number][] = [['1h', '1 h', 3600], ['6h', '6 h', 21_600], ['24h', '24 h', 86_400], ['7d', '7 d', 604_800], ['30d', '30 d', 2_592_000], ['365d', '1 y', 31_536_000]]

export interface Span { from: Date; to: Date; open: boolean; name: string } // open: it ends now and moves on with time

// readSpan reads the time range from the URL: ?span=24h, or ?from=…&to=….
export function readSpan(query: URLSearchParams, now: Date): Span {
  const from = new Date(query.get('from') ?? NaN), to = new Date(query.get('to') ?? NaN)
  if (from < to) return { from, to, open: false, name: '' }
  const [name, , seconds] = SPANS.find(([n]) => n === query.get('span')) ?? SPANS[2]!
  return { from: new Date(now.getTime() - seconds * 1000), to: now, open: true, name }
}

// snoozes lists the times until which an alert may be snoozed.
export function snoozes(now: number): [string, Date][] {
  const morning = new Date(now)
  morning.setDate(morning.getDate() + 1)
  morning.setHours(8, 0, 0, 0)
  return [['For an hour', new Date(now + 3.6e6)], ['For 4 hours', new Date(now + 4 * 3.6e6)], ['Until tomorrow, 8:00', morning], ['For a week', new Date(now + 7 * 864e5)]]
}

// ending describes the state of an alert. A resolved alert says why it ended, unless a reading ended it.
export const ending = (a: { state: string; ended?: string; withdrawn?: boolean }) => (a.withdrawn ? 'withdrawn' : (ENDINGS[a.ended ?? ''] ?? a.state))
const ENDINGS: Record<string, string> = { rule_changed: 'ended by a rule change', settled: 'ended after a day of silence' }

// An alert for a whole fleet replaces the alerts of its devices. It is stored under a name that no device can have.
export const wholeFleet = (a: { device: string }) => a.device.startsWith('~')
