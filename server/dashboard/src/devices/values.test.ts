import { describe, expect, it } from 'vitest'
import { dated } from '../lib/format'
import type { Point } from './api'
import { brief, choose, drawn, heard, lasting, marked, metricsOf, newest, readSpan, readWanted, tallied, withWanted, type Listed } from './values'

const row = (id: string, more: Partial<Listed> = {}): Listed => ({ id, status: 'active', connectivity: 'online', ...more })
const wanted = (query: string) => readWanted(new URLSearchParams(query))
const minute = (n: number, value: Point['value']): Point => ({ at: new Date(n * 60_000).toISOString(), value })

describe('values', () => {
  it('are short, and keep the digits that matter', () => {
    expect([0, 21.5, -0.00012, 1e-7, 123456.789, 4.2e12, true, 'open', null].map((v) => brief(v))).toEqual(['0', '21.5', '-0.00012', '1.00e-7', '123,457', '4.20e+12', 'yes', 'open', '–'])
    expect(brief(21.5, '°C')).toBe('21.5 °C')
  })
  it('tell how long something lasts', () => {
    expect([0, 59_000, 60_000, 3_600_000, 5_430_000, 90_000_000, -5].map(lasting)).toEqual(['0 s', '59 s', '1 min', '1 h', '1 h 30 min', '1 d 1 h', '0 s'])
  })
})

describe('readings', () => {
  it('come the latest first, those of one time as the list has them', () => {
    const reading = (at: number, t: number) => ({ at: new Date(at * 1000).toISOString(), values: { t } })
    const list = [reading(1, 1), reading(2, 2), reading(2, 3), reading(2, 4)]
    expect(newest([], list).map((r) => r.values['t'])).toEqual([4, 3, 2, 1])
    expect(newest([reading(3, 5), reading(2, 4)], list).map((r) => r.values['t'])).toEqual([5, 4, 3, 2, 1])
  })
})

describe('the board', () => {
  const rows = [row('b10', { type: 'boiler', tags: ['roof'] }), row('b9', { connectivity: 'offline', name: 'Attic', tags: ['roof', 'old'] }), row('z', { firing: 'warning' }), row('y', { firing: 'critical', firmware: '1.2' })]
  const ids = (query: string) => choose(rows, wanted(query)).map((r) => r.id).join(' ')
  it('puts first what needs somebody', () => expect(ids('')).toBe('y z b9 b10'))
  it('finds every word anywhere', () => expect([ids('q=roof+b10'), ids('q=ATTIC'), ids('q=1.2'), ids('q=nothing')]).toEqual(['b10', 'b9', 'y', '']))
  it('filters', () => expect([ids('connectivity=offline'), ids('tag=old'), ids('type=boiler'), ids('firing=any'), ids('firing=warning'), ids('firmware=1.2&status=retired')]).toEqual(['b9', 'b9', 'b10', 'y z', 'z', '']))
  it('keeps the order of the list it was given', () => { ids('sort=name'); expect(rows[0]!.id).toBe('b10') })
  it('says when a device measured, and when it was heard of if that is another time', () => {
    const now = Date.parse('2026-05-12T14:00:00Z')
    const date = dated('Europe/Berlin', { day: 'numeric', month: 'short' }, now)
    const of = (lastReading?: string, lastSeen?: string) => heard({ ...(lastReading ? { lastReading } : {}), ...(lastSeen ? { lastSeen } : {}) }, now, date)
    expect([of(), of('2024-07-11T22:53:36Z'), of('2026-05-12T13:57:00Z', '2026-05-12T13:57:01Z'), of('2026-05-12T13:52:00Z', '2026-05-12T13:57:00Z'), of('2026-05-02T14:00:00Z', '2026-05-12T13:57:00Z'), of('2024-07-11T18:53:36Z', '2026-05-12T13:57:00Z')]).toEqual(
      ['no reading yet', 'last reading 12 Jul 2024', 'last reading 3 min ago', 'last measured 8 min ago, received 3 min ago', 'last measured 2 May, received 3 min ago', 'last measured 11 Jul 2024, received 3 min ago'])
  })
  it('knows who never connected', () => {
    const { connectivity: _, ...quiet } = row('quiet')
    expect(choose([quiet, row('b')], wanted('connectivity=never')).map((r) => r.id)).toEqual(['quiet'])
  })
  it('marks devices with the worst of their alerts', () => expect(marked(rows, [{ device: 'z', severity: 'info' }, { device: 'z', severity: 'critical' }, { device: 'z', severity: 'warning' }]).map((r) => r.firing)).toEqual([undefined, undefined, 'critical', undefined]))
  it('knows metrics of the profile first, then what was heard', () => {
    const at = '2026-05-12T14:00:00Z'
    expect(metricsOf([{ name: 't', kind: 'gauge', unit: '°C' }], { x10: { at, value: 1 }, x9: { at, value: 'on' }, t: { at, value: 2 } })).toEqual([{ name: 't', kind: 'gauge', unit: '°C' }, { name: 'x9', kind: 'state' }, { name: 'x10', kind: 'gauge' }])
  })
  it('counts properties', () => expect(tallied(rows, (r) => r.tags)).toEqual([['roof', 2], ['old', 1]]))
  it('is in the address', () => expect(withWanted(new URLSearchParams('q=a&sort=name'), { q: '', tag: 'x y' }).toString()).toBe('sort=name&tag=x+y'))
})

describe('curves', () => {
  it('break where readings are missing', () => {
    const d = drawn([minute(0, 1), minute(1, 2), minute(2, 3), minute(30, 4), minute(31, 5)], undefined)
    expect(d.gaps).toEqual([[120, 1800]])
    expect(d.y).toEqual([1, 2, 3, null, 4, 5])
  })
  it('believe the rhythm of the device', () => {
    expect(drawn([minute(0, 1), minute(30, 2)], 1800).gaps).toEqual([])
    expect(drawn([minute(0, 1), minute(30, 2)], 60).gaps).toHaveLength(1)
  })
  it('have the least and the greatest of a bucket around the mean, and break at empty buckets', () => {
    const bucket = (n: number, mean: number): Point => ({ ...minute(n * 60, mean), figures: { kind: 'gauge', count: 3, first: '1', last: '1', min: String(mean - 1), max: String(mean + 1) } })
    const d = drawn([bucket(0, 5), minute(60, null), bucket(2, 6), bucket(40, 7)], 60)
    expect([d.low, d.high]).toEqual([[4, null, 5, 6], [6, null, 7, 8]])
    expect(d.gaps).toEqual([[0, 7200]])
  })
  it('of counters are what they grew by, not what they stood at', () => {
    const grew: Point = { ...minute(0, 5), figures: { kind: 'counter', count: 3, first: '1000', last: '1005', min: '1000', max: '1005', increase: '5' } }
    expect([drawn([grew], 60).low, drawn([grew], 60).high]).toEqual([[5], [5]])
  })
  it('of nothing are empty', () => expect(drawn([], undefined).x).toEqual([]))
})

describe('spans', () => {
  const now = new Date('2026-05-12T14:00:00Z')
  const span = (q: string) => { const s = readSpan(new URLSearchParams(q), now); return [s.from.toISOString(), s.to.toISOString(), s.open] }
  it('end now unless they say else', () => {
    expect(span('span=1h')).toEqual(['2026-05-12T13:00:00.000Z', '2026-05-12T14:00:00.000Z', true])
    expect(span('from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z')).toEqual(['2026-05-01T00:00:00.000Z', '2026-05-02T00:00:00.000Z', false])
    expect(span('from=2026-05-03T00:00:00Z&to=2026-05-02T00:00:00Z&span=x')).toEqual(['2026-05-11T14:00:00.000Z', '2026-05-12T14:00:00.000Z', true])
  })
})
