import { call, type Abort } from './api'

// Settings of an alert rule. Empty ones have the default of the kind.
export type Settings = { kind: string; goal?: string; vital?: string; factor?: number; atLeast?: number; hours?: number; limit?: number; for?: number; keepFor?: number }
export type Alert = { alertId: string; ruleId: string; ruleName?: string; kind: string; status: 'firing' | 'resolved'; firedAt: string; endedAt?: string; summary: string; cause?: Cause }
export type Cause = { label: string; value: string; before: number; after: number }
export type Rule = Settings & { id: string; name?: string; channels?: string[]; off?: boolean; state: 'ok' | 'pending' | 'firing' | 'off'; since?: string; judgedUntil: string }
export type RuleKind = { kind: string; label: string; help: string; fields: string[]; factor?: number; atLeast: number; hours?: number }
export type Preview = { hours: number; unjudged: number; alerts: Alert[] | null }

const at = (site: string, ...rest: string[]) => '/sites/' + [site, ...rest].map(encodeURIComponent).join('/')

// The alerts of a site and their rules.
export const alerts = {
  rules: (site: string, s?: Abort) => call<{ rules: Rule[] | null; kinds: RuleKind[] }>('GET', at(site, 'alert-rules'), undefined, undefined, s),
  put: (site: string, id: string, body: object) => call<Rule>('PUT', at(site, 'alert-rules', id), undefined, body),
  remove: (site: string, id: string) => call<void>('DELETE', at(site, 'alert-rules', id)),
  history: (site: string, s?: Abort) => call<{ alerts: Alert[] | null }>('GET', at(site, 'alerts'), new URLSearchParams({ limit: '20' }), undefined, s),
  preview: (site: string, days: number, body: Settings) => call<Preview>('POST', at(site, 'alerts', 'preview'), new URLSearchParams({ days: String(days) }), body),
}
