// Formats figures, days and names. Numbers keep their digits as long as they fit. Where a number is rounded, its tooltip has the
// exact one.

import type { Figures, Imported, Period } from './api'
import { parseDay } from './days'
import { DIMENSIONS } from './dimensions'

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

export const exact = (n: number) => whole.format(n)
export const count = (n: number) => (Math.abs(n) < 100_000 ? whole.format(n) : short.format(n))
export const compact = (n: number) => (Math.abs(n) < 1_000 ? whole.format(n) : short.format(n))
// many formats a count with its noun, given in the singular.
export const many = (n: number, what: string) => `${exact(n)} ${what}${n === 1 ? '' : 's'}`
export const percent = (r: number) => {
  const p = r * 100
  return (p > 0 && p < 9.95 ? p.toFixed(1) : Math.round(p).toString()) + ' %'
}

export function seconds(s: number): string {
  s = Math.round(s)
  if (s < 60) return `${s} s`
  if (s < 3600) return `${Math.floor(s / 60)} m ${String(s % 60).padStart(2, '0')} s`
  return `${Math.floor(s / 3600)} h ${String(Math.floor((s % 3600) / 60)).padStart(2, '0')} m`
}

export function money(amount: string | number | undefined, currency?: string, brief = false): string {
  const n = Number(amount ?? 0)
  const digits = brief && Math.abs(n) >= 1000 ? 0 : 2
  const form: Intl.NumberFormatOptions = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  try {
    return new Intl.NumberFormat('en', currency ? { style: 'currency', currency, ...form } : form).format(n)
  } catch {
    return new Intl.NumberFormat('en', form).format(n) + ' ' + currency
  }
}

export type Metric = 'visitors' | 'visits' | 'pageViews' | 'viewsPerVisit' | 'bounceRate' | 'duration' | 'revenue' | 'conversions' | 'events'

// METRICS are the figures. An average is not the sum of parts, so its change is not explained by values.
export const METRICS: Record<Metric, { label: string; hint: string; lessIsBetter?: boolean; average?: boolean }> = {
  visitors: { label: 'Visitors', hint: 'Unique visitors per day. Days cannot be linked, so a visitor who returns the next day is counted again.' },
  visits: { label: 'Visits', hint: 'Events less than 30 minutes apart form one visit.' },
  pageViews: { label: 'Page views', hint: 'All pages viewed.' },
  viewsPerVisit: { label: 'Views per visit', hint: 'Page views divided by visits.', average: true },
  bounceRate: { label: 'Bounce rate', hint: 'Share of visits with one page view and no custom event.', lessIsBetter: true, average: true },
  duration: { label: 'Visit duration', hint: 'Average time from the first to the last event of a visit. A bounce lasts 0 s.', average: true },
  revenue: { label: 'Revenue', hint: 'Exact sum of the revenue of all events.' },
  conversions: { label: 'Conversions', hint: 'Goals reached.' },
  events: { label: 'Events', hint: 'Custom events.' },
}

export const metricOf = (f: Figures, m: Metric): number => Number(f[m] ?? 0)

export function formatMetric(m: Metric, n: number, currency?: string, brief = false): string {
  switch (m) {
    case 'bounceRate': return percent(n)
    case 'duration': return seconds(n)
    case 'viewsPerVisit': return n.toFixed(n < 10 ? 2 : 1)
    case 'revenue': return money(n, currency, brief)
    default: return brief ? count(n) : exact(n)
  }
}

// vital formats a web vital: a time given in milliseconds, or a layout shift, which has no unit.
export function vital(metric: 'lcp' | 'inp' | 'cls', n: number): string {
  if (metric === 'cls') return n.toFixed(2)
  return n < 1000 ? `${Math.round(n)} ms` : `${(n / 1000).toFixed(1)} s`
}

// change returns the relative difference, or null if there is nothing to compare with.
export function change(now: number, before: number | undefined): number | null {
  if (before === undefined) return null
  if (before === 0) return now === 0 ? 0 : null
  return (now - before) / before
}

export function formatChange(c: number): string {
  const p = Math.abs(c * 100)
  return (p >= 1000 ? short.format(p) : p < 9.95 && p > 0 ? p.toFixed(1) : Math.round(p)) + ' %'
}

const utc = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options })
const dayOnly = utc({ day: 'numeric', month: 'short' })
const dayYear = utc({ day: 'numeric', month: 'short', year: 'numeric' })
const dayLong = utc({ weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
const monthOnly = utc({ month: 'short' })
const monthYear = utc({ month: 'long', year: 'numeric' })

export const shortDay = (day: string) => dayOnly.format(parseDay(day))
export const longDay = (day: string) => dayLong.format(parseDay(day))

export function dayRange(from: string, to: string): string {
  if (from === to) return dayYear.format(parseDay(from))
  const sameYear = from.slice(0, 4) === to.slice(0, 4)
  return `${(sameYear ? dayOnly : dayYear).format(parseDay(from))} – ${dayYear.format(parseDay(to))}`
}

// importedNote is the server's note on imported days, with dates formatted as elsewhere on the page.
export const importedNote = (i: Imported) => (i.from === i.to ? i.note.replace(' include ', ' includes ') : i.note).replace(`${i.from} to ${i.to}`, dayRange(i.from, i.to))

export function zoned(timezone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone: timezone, ...options })
  } catch {
    return new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options })
  }
}

// dated formats like zoned, and adds the year to dates of other years than that of now.
export function dated(timezone: string, options: Intl.DateTimeFormatOptions, now?: number): Pick<Intl.DateTimeFormat, 'format'> {
  const year = zoned(timezone, { year: 'numeric' }), near = zoned(timezone, options), far = zoned(timezone, { ...options, year: 'numeric' })
  return { format: (at) => (year.format(at) === year.format(now ?? Date.now()) ? near : far).format(at) }
}

// bucketLabel formats the start of a bucket: short for an axis, long for a tooltip.
export function bucketLabel(start: string, period: Period, timezone: string, long: boolean): string {
  if (period === 'month') return (long ? monthYear : monthOnly).format(parseDay(start.slice(0, 7) + '-01'))
  if (period === 'day') return (long ? dayLong : dayOnly).format(parseDay(start.slice(0, 10)))
  const options: Intl.DateTimeFormatOptions = long
    ? { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }
    : { hour: '2-digit', minute: '2-digit' }
  return zoned(timezone, options).format(new Date(start))
}

const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' })
const languages = new Intl.DisplayNames('en', { type: 'language', fallback: 'code' })

// dimensionLabel returns the label of a dimension of filters, such as user.did_not.2-.30d:event.
export function dimensionLabel(d: string): string {
  const m = /^(visit|visitor|user)\.(did|did_not)((?:\.[\d-]+d?)*):(.+)$/.exec(d)
  if (m) return `${m[1]![0]!.toUpperCase()}${m[1]!.slice(1)} ${m[2]!.replace('_', ' ')}${m[3]!.replace(/\.(\d+)d/, ' in $1 days').replace(/\.(\d+)-(?!\d)/, ' $1+ times').replace(/\.(\d*)-(\d+)/, ' $1–$2 times')}: ${dimensionLabel(m[4]!)}`
  return d.startsWith('prop:') ? d.slice(5) : (DIMENSIONS[d] ?? (d === 'segment' ? 'Segment' : d))
}

// missing says why a dimension has no values although there were visits.
export const missing = (dimension: string) =>
  ['country', 'region', 'city'].includes(dimension) ? 'No locations known. They come from a location database: start the server with --geo FILE.' : 'No values in this range.'

// valueLabel returns the label of a dimension's value. Filters use the value itself.
export function valueLabel(dimension: string, value: string): string {
  dimension = dimension.replace(/^\w+\.did[^:]*:/, '')
  if (value === '(none)') return dimension === 'source' || dimension === 'referrer' ? 'Direct or none' : 'None'
  if (value === '(other)') return 'Everything else'
  if (value === '') return 'None'
  try {
    if (dimension === 'country' && /^[A-Z]{2}$/.test(value)) return regions.of(value) ?? value
    if (dimension === 'language') return languages.of(value) ?? value
  } catch { /* not a code: show it as it is */ }
  return value
}

export function ago(at: string, now: number): string {
  const s = Math.max(0, (now - new Date(at).getTime()) / 1000)
  if (s < 60) return 'just now'
  if (s < 3600) return `${Math.floor(s / 60)} min ago`
  if (s < 86_400) return `${Math.floor(s / 3600)} h ago`
  return `${Math.floor(s / 86_400)} d ago`
}
