// The client of the telemetry API. It is separate from lib/api so that web analytics pages do not load it.

import { call, type Role, type Verification } from '../lib/api'
import type { ChannelKind } from '../ui/ChannelForm.svelte'

export type Severity = 'critical' | 'warning' | 'info'
export type Status = 'provisioned' | 'active' | 'inactive' | 'maintenance' | 'retired'
export type Connectivity = 'online' | 'offline' | 'never'
export type Kind = 'gauge' | 'counter' | 'state'
export type Resolution = 'raw' | '10min' | 'hourly' | 'daily'
export type Value = number | string | boolean

export interface Fleet {
  id: string
  name: string
  timezone: string
  role?: Role
  tenMinutes?: boolean
  retention?: { rawDays?: number; fineDays?: number; hourDays?: number; dayDays?: number }
  limits?: { perMinute?: number; metrics?: number }
  propertyTags?: string[]
}

// Board has the device counts of a fleet. silence is set while most of the fleet went silent at once; those devices count as offline, too.
export interface Board { devices: number; byStatus: Partial<Record<Status, number>> | null; byConnectivity: Partial<Record<Connectivity, number>> | null; silence?: { since: string; devices: number; of: number } }
export interface Row {
  id: string
  name?: string
  type?: string
  status: Status
  location?: string
  firmware?: string
  tags?: string[] | null
  profile?: string
  connectivity?: Exclude<Connectivity, 'never'> // absent if the device never connected
  lastSeen?: string // last contact, by the server's clock
  lastReading?: string // time of the last reading, by the device's clock
  latest?: Record<string, { at: string; value: Value }> | null
}
export interface MetricDef { name: string; kind: Kind; unit?: string; min?: string; max?: string }
export interface Device extends Row {
  notes?: Record<string, string> | null
  created: string
  updated: string
  rhythm?: number // seconds between readings, learned from the readings
  tokens?: { created: string; expires?: string }[] | null
}
export type DeviceBody = Partial<Pick<Device, 'name' | 'type' | 'location' | 'firmware' | 'tags' | 'profile' | 'status' | 'notes'>>
export interface Profile { id: string; name?: string; metrics: MetricDef[] | null; every?: number; clock?: { late?: 'accept' | 'correct' | 'reject'; lateAfter?: number; futureWithin?: number } }

// Figures are the aggregate of one metric in one bucket. Numbers are decimals, exact if the server sets exact.
export interface Figures {
  kind: Kind
  count: number
  first: string
  last: string
  sum?: string
  mean?: string
  min?: string
  max?: string
  deviation?: string
  p50?: string
  p95?: string
  exact?: boolean
  increase?: string
  resets?: number
  rate?: string
  lasted?: Record<string, number>
  partial?: boolean
}
export interface Point { at: string; value: Value | null; filled?: boolean; figures?: Figures; coverage?: number }
export interface Series { metric: string; kind?: Kind; resolution: Resolution; thinned?: boolean; points: Point[] | null }
export interface Reading { at: string; arrived?: string; values: Record<string, Value>; late?: boolean }
export interface Quarantined { claimed: string; arrived: string; reason: string; values: Record<string, Value> }
export interface Retraction { id: string; from: string; to: string; metrics?: string[] | null; reason?: string; by?: string; created: string; applied?: string; lifted?: string }

export interface Alert {
  id: string
  device: string
  deviceName?: string
  rule: string
  ruleName?: string
  metric?: string
  severity: Severity
  state: 'pending' | 'firing' | 'resolved'
  message?: string
  since: string
  firedAt?: string
  lastAt?: string
  resolvedAt?: string
  value?: string
  peak?: string
  ended?: string // the reason, unless a reading ended it
  withdrawn?: boolean // late readings showed that the condition never held
  ackedAt?: string
  ackedBy?: string
  snoozedUntil?: string
}
export interface AlertDetail extends Alert { history: { at: string; by?: string; what: string; text?: string }[] | null }

export interface Rule {
  id: string
  scope: 'device' | 'profile'
  scopeId: string
  name?: string
  metric?: string
  over?: '10min' | 'hourly' | 'daily'
  function?: string
  below?: boolean
  noData?: boolean
  raise?: string
  clear?: string
  for?: number
  keepFor?: number
  severity: Severity
  off?: boolean
  version?: number
}
export interface Episode { since: string; firedAt: string; last: string; resolvedAt?: string; value: string; peak: string }
export interface Tested { points: number; breaching: number; episodes: Episode[] | null; pendingSince?: string }
// Channel has the settings of its kind, too, under their names.
export type Channel = { id: string; name?: string; kind: string; least?: Severity; off?: boolean } & Record<string, unknown>
export interface Letter { id: string; channel: string; event: string; alert: { device: string; deviceName?: string; message?: string; severity: Severity }; attempts: number; lastError?: string; createdAt: string }

const id = encodeURIComponent
const at = (fleet: string) => '/fleets/' + id(fleet)
const of = (fleet: string, device: string) => at(fleet) + '/devices/' + id(device)
const alertOf = (fleet: string, a: { device: string; id: string }) => of(fleet, a.device) + '/alerts/' + id(a.id)
const ruleOf = (fleet: string, r: Pick<Rule, 'scope' | 'scopeId' | 'id'>) => `${at(fleet)}/rules/${r.scope}/${id(r.scopeId)}/${id(r.id)}`
type Abort = AbortSignal | undefined
type Query = URLSearchParams | undefined

export const devices = {
  fleets: (s?: Abort) => call<{ fleets: Fleet[] | null }>('GET', '/fleets', undefined, undefined, s),
  createFleet: (body: { id: string; name: string; timezone: string }) => call<Fleet>('POST', '/fleets', undefined, body),
  fleet: (fleet: string, s?: Abort) => call<Fleet>('GET', at(fleet), undefined, undefined, s),
  changeFleet: (fleet: string, body: Partial<Fleet>) => call<Fleet>('PATCH', at(fleet), undefined, body),
  deleteFleet: (fleet: string) => call<void>('DELETE', at(fleet)),
  verify: (fleet: string, body: { from: string; to: string }) => call<{ id?: string }>('POST', at(fleet) + '/verify', undefined, body),
  rebuild: (fleet: string, body: { from: string; to: string }) => call<{ id?: string }>('POST', at(fleet) + '/rebuild', undefined, body),
  verification: (fleet: string, s?: Abort) => call<Verification>('GET', at(fleet) + '/verify', undefined, undefined, s),
  board: (fleet: string, s?: Abort) => call<Board>('GET', at(fleet) + '/board', undefined, undefined, s),
  list: (fleet: string, q: Query, s?: Abort) => call<{ devices: Row[] | null; cursor?: string }>('GET', at(fleet) + '/devices', q, undefined, s),

  profiles: (fleet: string, s?: Abort) => call<{ profiles: Profile[] | null }>('GET', at(fleet) + '/profiles', undefined, undefined, s),
  putProfile: (fleet: string, profile: string, body: Omit<Profile, 'id'>) => call<Profile>('PUT', at(fleet) + '/profiles/' + id(profile), undefined, body),
  deleteProfile: (fleet: string, profile: string) => call<void>('DELETE', at(fleet) + '/profiles/' + id(profile)),

  createDevice: (fleet: string, body: DeviceBody & { id: string }) => call<Device>('POST', at(fleet) + '/devices', undefined, body),
  device: (fleet: string, device: string, s?: Abort) => call<Device>('GET', of(fleet, device), undefined, undefined, s),
  changeDevice: (fleet: string, device: string, body: DeviceBody) => call<Device>('PATCH', of(fleet, device), undefined, body),
  deleteDevice: (fleet: string, device: string) => call<void>('DELETE', of(fleet, device)),
  newToken: (fleet: string, device: string) => call<{ token: string }>('POST', of(fleet, device) + '/tokens', undefined, {}),
  claimCode: (fleet: string, device: string) => call<{ code: string }>('POST', of(fleet, device) + '/claim-code', undefined, {}),
  claim: (fleet: string, code: string) => call<{ device: Device; token: string }>('POST', at(fleet) + '/claim', undefined, { code }),
  revokeTokens: (fleet: string, device: string, all: boolean) => call<void>('DELETE', of(fleet, device) + '/tokens', new URLSearchParams({ all: String(all) })),

  series: (fleet: string, device: string, q: Query, s?: Abort) => call<Series>('GET', of(fleet, device) + '/series', q, undefined, s),
  readings: (fleet: string, device: string, q: Query, s?: Abort) => call<{ readings: Reading[] | null; cursor?: string }>('GET', of(fleet, device) + '/readings', q, undefined, s),
  exportURL: (fleet: string, device: string, q: URLSearchParams) => '/api/v1' + of(fleet, device) + '/export?' + q,
  stream: (fleet: string, device: string) => '/api/v1' + of(fleet, device) + '/tail',
  quarantine: (fleet: string, device: string, s?: Abort) => call<{ readings: Quarantined[] | null }>('GET', of(fleet, device) + '/quarantine', undefined, undefined, s),
  retractions: (fleet: string, device: string, s?: Abort) => call<{ retractions: Retraction[] | null }>('GET', of(fleet, device) + '/retractions', undefined, undefined, s),
  retract: (fleet: string, device: string, body: { from: string; to: string; metrics?: string[]; reason?: string }) => call<Retraction>('POST', of(fleet, device) + '/retractions', undefined, body),
  lift: (fleet: string, device: string, retraction: string) => call<void>('DELETE', of(fleet, device) + '/retractions/' + id(retraction)),

  alerts: (fleet: string, q: Query, s?: Abort) => call<{ alerts: Alert[] | null; cursor?: string }>('GET', at(fleet) + '/alerts', q, undefined, s),
  alert: (fleet: string, a: { device: string; id: string }, s?: Abort) => call<AlertDetail>('GET', alertOf(fleet, a), undefined, undefined, s),
  acknowledge: (fleet: string, a: Alert) => call<Alert>('POST', alertOf(fleet, a) + '/ack', undefined, {}),
  snooze: (fleet: string, a: Alert, until: string | undefined) => call<Alert>('POST', alertOf(fleet, a) + '/snooze', undefined, { until }), // without a time, the snooze ends
  comment: (fleet: string, a: Alert, text: string) => call<Alert>('POST', alertOf(fleet, a) + '/comments', undefined, { text }),

  rules: (fleet: string, s?: Abort) => call<{ rules: Rule[] | null }>('GET', at(fleet) + '/rules', undefined, undefined, s),
  putRule: (fleet: string, { id, scope, scopeId, version: _, ...body }: Rule) => call<Rule>('PUT', ruleOf(fleet, { id, scope, scopeId }), undefined, body),
  deleteRule: (fleet: string, rule: Rule) => call<void>('DELETE', ruleOf(fleet, rule)),
  testRule: (fleet: string, body: { rule: Omit<Rule, 'id'>; device: string; from: string; to: string }, s?: Abort) => call<Tested>('POST', at(fleet) + '/rules/test', undefined, body, s),

  channels: (fleet: string, s?: Abort) => call<{ channels: Channel[] | null; kinds: ChannelKind[] }>('GET', at(fleet) + '/channels', undefined, undefined, s),
  putChannel: (fleet: string, { id: channel, ...body }: Channel) => call<{ channel: Channel; secret?: string }>('PUT', at(fleet) + '/channels/' + id(channel), undefined, body),
  deadLetters: (fleet: string, s?: Abort) => call<{ notifications: Letter[] | null }>('GET', at(fleet) + '/notifications', new URLSearchParams({ state: 'dead' }), undefined, s),
  resend: (fleet: string, letter: string) => call<void>('POST', at(fleet) + '/notifications/' + id(letter) + '/resend', undefined, {}),
  deleteChannel: (fleet: string, channel: string) => call<void>('DELETE', at(fleet) + '/channels/' + id(channel)),
}
