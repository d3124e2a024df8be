// Describes rules in words, and converts between rules and the editor's form.

import type { Rule } from './api'
import { capital, lasting } from './values'

export const ruleAddress = (base: string, r: Rule) => `${base}/rules/${r.scope}/${encodeURIComponent(r.scopeId)}/${encodeURIComponent(r.id)}`

const OVERS: Record<string, string> = { '10min': '10 minutes', hourly: 'an hour', daily: 'a day' }

// means describes when a rule raises an alert and when the alert ends.
export function means(r: Rule): string {
  if (r.noData) return `No reading for ${lasting((r.for ?? 0) * 1000)}`
  const what = r.over ? `${r.function || 'mean'} of ${r.metric} over ${OVERS[r.over] ?? r.over}` : r.metric
  const until = r.clear && r.clear !== r.raise ? `, until ${r.below ? 'at or above' : 'at or below'} ${r.clear}` : ''
  const keep = r.keepFor ? `${until ? '' : ', until normal'} for ${lasting(r.keepFor * 1000)}` : ''
  return capital(`${what ?? ''} ${r.below ? 'below' : 'above'} ${r.raise}${r.for ? ` for ${lasting(r.for * 1000)}` : ''}${until}${keep}`)
}

export const FUNCTIONS = ['mean', 'min', 'max', 'sum', 'count', 'increase', 'rate', 'first', 'last', 'deviation', 'p50', 'p90', 'p95', 'p99']

// Draft is a rule as edited in the form: texts, with times in minutes.
export interface Draft {
  name: string; scope: Rule['scope']; scopeId: string; kind: 'readings' | 'aggregate' | 'silence'; metric: string; over: NonNullable<Rule['over']>; function: string
  below: boolean; raise: string; clear: string; forMinutes: string; keepMinutes: string; severity: Rule['severity']; off: boolean
}

export const draftOf = (r: Rule | undefined, scope: Rule['scope'], scopeId: string, metric: string): Draft => ({
  name: r?.name ?? '', scope: r?.scope ?? scope, scopeId: r?.scopeId ?? scopeId, kind: r?.noData ? 'silence' : r?.over ? 'aggregate' : 'readings',
  metric: r?.metric ?? metric, over: r?.over ?? 'hourly', function: r?.function ?? 'mean', below: r?.below ?? false, raise: r?.raise ?? '', clear: r?.clear ?? '',
  forMinutes: minutes(r?.for ?? (r ? 0 : 900)), keepMinutes: minutes(r?.keepFor ?? (r ? 0 : 1800)), severity: r?.severity ?? 'warning', off: r?.off ?? false,
})

const minutes = (s: number) => String(+(s / 60).toFixed(4))
const seconds = (text: string) => Math.round(Number(text || 0) * 60)

// ruleOf returns the rule to save, without fields that its kind does not have.
export function ruleOf(d: Draft): Omit<Rule, 'id'> {
  const r: Omit<Rule, 'id'> = { scope: d.scope, scopeId: d.scopeId, severity: d.severity }
  if (d.name.trim()) r.name = d.name.trim()
  if (d.off) r.off = true
  if (seconds(d.forMinutes)) r.for = seconds(d.forMinutes)
  if (d.kind === 'silence') return { ...r, noData: true }
  if (seconds(d.keepMinutes)) r.keepFor = seconds(d.keepMinutes)
  Object.assign(r, { metric: d.metric, raise: d.raise.trim() })
  if (d.clear.trim()) r.clear = d.clear.trim()
  if (d.below) r.below = true
  if (d.kind === 'aggregate') Object.assign(r, { over: d.over, function: d.function })
  return r
}

const DECIMAL = /^-?\d+(\.\d+)?$/

// wrong returns the first problem of a draft, or an empty string.
export function wrong(d: Draft): string {
  if (!d.scopeId) return d.scope === 'device' ? 'Choose a device.' : 'Choose a profile.'
  if (d.kind === 'silence') return seconds(d.forMinutes) > 0 ? '' : 'Enter how long the device must be silent.'
  if (!d.metric) return 'Choose a metric.'
  if (!DECIMAL.test(d.raise.trim())) return '“Raise at” must be a number, such as 80 or 0.5.'
  if (d.clear.trim() && !DECIMAL.test(d.clear.trim())) return '“End at” must be a number.'
  if (d.clear.trim() && (d.below ? Number(d.clear) < Number(d.raise) : Number(d.clear) > Number(d.raise))) return `The alert would end at ${d.clear.trim()} while its condition still holds. Choose ${d.raise.trim()} or ${d.below ? 'more' : 'less'}.`
  return ''
}
