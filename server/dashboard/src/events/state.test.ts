import { describe, expect, it } from 'vitest'
import type { Fed, Projection, Rebuild } from './api'
import { appends, bars, condition, direction, envelopeIDs, lag, order, outcome, progress } from './state'

const rebuild: Rebuild = { running: true, stage: 'build', aggregates: 1, events: 1200, began: '', same: 0, different: 0, fewer: 0, unserved: 0 }
const served = (version: number) => ({ version, since: '' })
const projection = (p: Partial<Projection>): Projection => ({ name: 'totals', version: 2, parked: 0, ...p })

describe('the state of an event store', () => {
  it('says how far the feed is behind', () => {
    expect([null, 0.2, 7, 125].map((lagSeconds) => lag({ lagSeconds }))).toEqual(['Unknown', '< 1 s', '7 s', '2 m 05 s'])
  })
  it('summarizes projections, the most urgent first', () => {
    expect([projection({ served: served(2) }), projection({ served: served(1) }), projection({}), projection({ served: served(2), parked: 3 }), projection({ parked: 3, rebuild })].map((p) => condition(p).text)).toEqual(['Up to date', 'Version 1 active', 'Not built', '3 parked', 'Rebuilding'])
  })
  it('tells what a rebuild does and did', () => {
    expect(progress(rebuild)).toBe('Building read models: 1 aggregate, 1,200 events so far')
    expect(progress({ ...rebuild, stage: 'later' })).toContain('Starting')
    expect(outcome({ ...rebuild, same: 4, unserved: 2, fewer: 1 })).toBe('7 read models compared: 4 equal, 2 not in the active version before, 1 without the events that cannot be applied.')
    expect(outcome({ ...rebuild, unserved: 1 })).toBe('1 read model built.')
    expect(outcome({ ...rebuild, unserved: 31, fewer: 1 })).toBe('32 read models built, 1 without the events that cannot be applied.')
    expect(outcome(rebuild)).toBe('0 read models built.')
  })
  it('draws counts', () => {
    expect(bars({ from: '1970-01-01T01:00:00Z', step: 3600, appends: [1, 0, 4], through: 9 })).toEqual({ x: [3600, 7200, 10800], y: [1, 0, 4], from: 1800, to: 12600, total: 5 })
  })
  it('shows one event of each append', () => {
    const fed = [9, 9, 9, 8, 7, 7].map((position, i) => ({ position, id: String(i) }) as Fed)
    expect(appends(fed, 10).map((r) => [r.event.id, r.before])).toEqual([['0', 2], ['3', 0], ['4', 1]])
    expect(appends(fed, 1).map((r) => [r.event.id, r.before])).toEqual([['0', 2]])
  })
  it('sorts by a column, and the other way round', () => {
    expect([order('id', 'id'), order('-id', 'id'), order('id', 'events'), order('-events', 'events'), order('events', 'events'), order('-events', 'updated')]).toEqual(['-id', 'id', '-events', 'events', '-events', '-updated'])
    expect([direction('id', 'id'), direction('-id', 'id'), direction('id', 'events')]).toEqual(['ascending', 'descending', 'none'])
  })
  it('names an event and its append once', () => {
    expect(envelopeIDs({ id: 'e', commit: 'e', nth: 0, of: 1 })).toEqual([['Event ID', 'e']])
    expect(envelopeIDs({ id: 'e', commit: 'e', nth: 0, of: 3 })).toEqual([['Event ID', 'e'], ['Append', 'event 1 of 3']])
    expect(envelopeIDs({ id: 'f', commit: 'e', nth: 1, of: 3 })).toEqual([['Event ID', 'f'], ['Append', 'e, event 2 of 3']])
    expect(envelopeIDs({ id: 'e', commit: 'key', nth: 0, of: 1 })).toEqual([['Event ID', 'e'], ['Append', 'key']])
  })
})
