// A view is the range, interval, comparison and filters of a statistics page. It is part of the URL, so that every view can be linked
// to and the back button works.

import type { Align, Compare, Period } from './api'
import { dimensionLabel, valueLabel } from './format'
import { addDays, addMonths, daysBetween, isDay, monthStart, weekStart } from './days'

export type Op = 'is' | 'is_not' | 'contains' | 'contains_not' | 'matches'
export const OPS: Record<Op, string> = { is: 'is', is_not: 'is not', contains: 'contains', contains_not: 'does not contain', matches: 'matches' }

export interface Filter { dimension: string; op: Op; values: string[] }

export interface View {
  range: string // a preset's name, or "custom"
  from: string
  to: string
  period: Period
  compare: Compare
  align: Align // of the comparison
  filters: Filter[]
}

export const RANGES: [name: string, label: string, key: string][] = [
  ['today', 'Today', 'd'],
  ['yesterday', 'Yesterday', 'e'],
  ['7d', 'Last 7 days', 'w'],
  ['last-week', 'Last week', 'k'],
  ['30d', 'Last 30 days', 't'],
  ['90d', 'Last 90 days', 'q'],
  ['month', 'This month', 'm'],
  ['last-month', 'Last month', 'n'],
  ['year', 'This year', 'y'],
  ['12m', 'Last 12 months', 'l'],
]
export const DEFAULT_RANGE = '30d'

export function rangeDays(range: string, today: string): [from: string, to: string] {
  switch (range) {
    case 'today': return [today, today]
    case 'yesterday': return [addDays(today, -1), addDays(today, -1)]
    case '7d': return [addDays(today, -6), today]
    case '90d': return [addDays(today, -89), today]
    case 'week': return [weekStart(today), today]
    case 'last-week': return [addDays(weekStart(today), -7), addDays(weekStart(today), -1)]
    case 'month': return [monthStart(today), today]
    case 'last-month': return [addMonths(monthStart(today), -1), addDays(monthStart(today), -1)]
    case 'year': return [today.slice(0, 4) + '-01-01', today]
    case '12m': return [monthStart(addMonths(today, -11)), today]
    default: return [addDays(today, -29), today]
  }
}

// periodsFor returns the intervals that suit a range, with neither one bucket nor thousands. The first is the default.
export function periodsFor(from: string, to: string): Period[] {
  const days = daysBetween(from, to) + 1
  if (days <= 2) return ['hour', 'day']
  if (days <= 14) return ['day', 'hour']
  if (days <= 60) return ['day']
  if (days <= 120) return ['day', 'month']
  return ['month', 'day']
}

export function readView(q: URLSearchParams, today: string): View {
  const from = q.get('from'), to = q.get('to')
  const custom = isDay(from) && isDay(to) && from <= to
  const named = q.get('range') ?? DEFAULT_RANGE
  const range = custom ? 'custom' : RANGES.some(([n]) => n === named) ? named : DEFAULT_RANGE
  const [f, t] = custom ? [from, to] : rangeDays(range, today)
  const periods = periodsFor(f, t)
  const period = periods.find((p) => p === q.get('period')) ?? periods[0]!
  const compare = q.get('compare')
  return {
    range, from: f, to: t, period,
    compare: compare === 'none' || compare === 'year' || compare === 'everything' ? compare : 'previous',
    align: q.get('align') === 'date' ? 'date' : 'weekday',
    filters: q.getAll('filter').map(parseFilter).filter((x) => x !== null),
  }
}

// withView changes the view in a query, and omits defaults.
export function withView(q: URLSearchParams, change: Partial<View>): URLSearchParams {
  const next = new URLSearchParams(q)
  if (change.range !== undefined) {
    for (const k of ['from', 'to', 'range', 'period']) next.delete(k)
    if (change.range === 'custom' && change.from && change.to) {
      next.set('from', change.from)
      next.set('to', change.to)
    } else if (change.range !== DEFAULT_RANGE) next.set('range', change.range)
  }
  if (change.period !== undefined) next.set('period', change.period)
  if (change.compare !== undefined) {
    if (change.compare === 'previous') next.delete('compare')
    else next.set('compare', change.compare)
  }
  if (change.align === 'date') next.set('align', 'date')
  else if (change.align) next.delete('align')
  if (change.filters !== undefined) {
    next.delete('filter')
    for (const f of change.filters) next.append('filter', formatFilter(f))
  }
  return next
}

// askView returns the query parameters of the API for a view.
export function askView(v: View, withSteps = false): URLSearchParams {
  const q = new URLSearchParams({ from: v.from, to: v.to })
  if (withSteps) {
    q.set('period', v.period)
    q.set('compare', v.compare)
    q.set('align', v.align)
  }
  for (const f of v.filters) q.append('filter', formatFilter(f))
  return q
}

const escape = (value: string) => value.replace(/[\\|]/g, '\\$&')

export const formatFilter = (f: Filter) => `${f.dimension}:${f.op}:${f.values.map(escape).join('|')}`

export const describeFilter = (f: Filter) => `${dimensionLabel(f.dimension)} ${OPS[f.op]} ${f.values.map((v) => valueLabel(f.dimension, v)).join(' or ')}`

const OPPOSITES: Partial<Record<Op, Op>> = { is: 'is_not', is_not: 'is', contains: 'contains_not', contains_not: 'contains' }

// negate returns the filter of all other visits. A behavioral filter is negated by did_not, not by its operator.
export function negate(f: Filter): Filter | undefined {
  const did = /^(\w+\.did)(_not)?(.*)$/.exec(f.dimension)
  if (did) return { ...f, dimension: did[1] + (did[2] ? '' : '_not') + did[3] }
  const op = OPPOSITES[f.op]
  return op && { ...f, op }
}

// parseFilter reads dimension:op:value|value. A dimension may hold colons itself, as prop:NAME does.
export function parseFilter(text: string): Filter | null {
  const m = /^(.+?):(is|is_not|contains|contains_not|matches):([^]*)$/.exec(text)
  if (!m) return null
  const values = ['']
  for (let i = 0; i < m[3]!.length; i++) {
    const c = m[3]![i]!
    if (c === '\\' && i + 1 < m[3]!.length) values[values.length - 1] += m[3]![++i]!
    else if (c === '|') values.push('')
    else values[values.length - 1] += c
  }
  return { dimension: m[1]!, op: m[2] as Op, values }
}

// toggleValue adds a value to the filter of its dimension and op, or removes it.
export function toggleValue(filters: Filter[], dimension: string, op: Op, value: string): Filter[] {
  const i = filters.findIndex((f) => f.dimension === dimension && f.op === op)
  if (i < 0) return [...filters, { dimension, op, values: [value] }]
  const old = filters[i]!
  const values = old.values.includes(value) ? old.values.filter((v) => v !== value) : [...old.values, value]
  return values.length ? filters.with(i, { ...old, values }) : filters.toSpliced(i, 1)
}

export const isFiltered = (filters: Filter[], dimension: string, value: string) =>
  filters.some((f) => f.dimension === dimension && f.op === 'is' && f.values.includes(value))
