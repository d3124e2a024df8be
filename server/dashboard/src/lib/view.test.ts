import { describe, expect, test } from 'vitest'
import { askView, formatFilter, negate, parseFilter, periodsFor, rangeDays, readView, toggleValue, withView } from './view'

const today = '2026-03-31'

describe('filters', () => {
  test.each([
    ['country:is:DE|FR', 'country', 'is', ['DE', 'FR']],
    ['page:contains_not:/a\\|b', 'page', 'contains_not', ['/a|b']],
    ['prop:plan:is_not:x\\\\', 'prop:plan', 'is_not', ['x\\']],
    ['referrer:is:https://a.example/x:y', 'referrer', 'is', ['https://a.example/x:y']],
    ['source:is:', 'source', 'is', ['']],
  ] as const)('%s', (text, dimension, op, values) => {
    const f = parseFilter(text)
    expect(f).toEqual({ dimension, op, values: [...values] })
    expect(formatFilter(f!)).toBe(text)
  })
  test('what is no filter is none', () => {
    for (const text of ['', 'country', 'country:like:x', ':is:x']) expect(parseFilter(text)).toBeNull()
  })
  test.each([
    ['country:is:DE', 'country:is_not:DE'], ['page:contains:/a', 'page:contains_not:/a'], ['prop:a.did:is:b', 'prop:a.did:is_not:b'],
    ['user.did.2-5.30d:event:is:order', 'user.did_not.2-5.30d:event:is:order'], ['visit.did:page:matches:/a**', 'visit.did_not:page:matches:/a**'],
  ])('%s is the opposite of %s', (one, other) => {
    expect(formatFilter(negate(parseFilter(one)!)!)).toBe(other)
    expect(formatFilter(negate(parseFilter(other)!)!)).toBe(one)
  })
  test('matches has no opposite', () => expect(negate(parseFilter('page:matches:/a')!)).toBeUndefined())
  test('a value is added, then taken away', () => {
    const one = toggleValue([], 'country', 'is', 'DE')
    const two = toggleValue(one, 'country', 'is', 'FR')
    expect(two).toEqual([{ dimension: 'country', op: 'is', values: ['DE', 'FR'] }])
    expect(toggleValue(toggleValue(two, 'country', 'is', 'FR'), 'country', 'is', 'DE')).toEqual([])
    expect(toggleValue(one, 'country', 'is_not', 'DE')).toHaveLength(2)
  })
})

describe('ranges', () => {
  test.each([
    ['today', '2026-03-31', '2026-03-31'], ['7d', '2026-03-25', '2026-03-31'], ['30d', '2026-03-02', '2026-03-31'],
    ['last-week', '2026-03-23', '2026-03-29'], ['month', '2026-03-01', '2026-03-31'], ['last-month', '2026-02-01', '2026-02-28'], ['year', '2026-01-01', '2026-03-31'], ['12m', '2025-04-01', '2026-03-31'],
  ])('%s', (range, from, to) => expect(rangeDays(range, today)).toEqual([from, to]))

  test('steps fit the range', () => {
    expect(periodsFor(today, today)[0]).toBe('hour')
    expect(periodsFor('2026-03-02', today)[0]).toBe('day')
    expect(periodsFor('2025-04-01', today)[0]).toBe('month')
  })
})

describe('address', () => {
  test('the default view leaves nothing in it', () => {
    const q = withView(new URLSearchParams('range=7d&compare=year'), { range: '30d', compare: 'previous' })
    expect(q.toString()).toBe('')
  })
  test('what is written is read', () => {
    const filters = [{ dimension: 'page', op: 'matches' as const, values: ['/a|b/**', 'ü&=?#'] }]
    const q = withView(new URLSearchParams('metric=visits'), { range: 'custom', from: '2026-01-05', to: '2026-02-03', compare: 'none', filters })
    const v = readView(new URLSearchParams(q.toString()), today)
    expect(v).toMatchObject({ range: 'custom', from: '2026-01-05', to: '2026-02-03', compare: 'none', filters })
    expect(q.get('metric')).toBe('visits')
    expect(askView(v, true).toString()).toContain('compare=none&align=weekday')
  })
  test('comparisons match weekdays unless the address says dates', () => {
    expect(readView(new URLSearchParams('align=moon'), today).align).toBe('weekday')
    const q = withView(new URLSearchParams(), { align: 'date' })
    expect(q.toString()).toBe('align=date')
    expect(askView(readView(q, today), true).get('align')).toBe('date')
    expect(withView(q, { align: 'weekday' }).toString()).toBe('')
  })
  test('nonsense is the default', () => {
    const v = readView(new URLSearchParams('range=soon&from=2026-02-30&to=x&compare=maybe&period=minute'), today)
    expect(v).toMatchObject({ range: '30d', from: '2026-03-02', to: today, compare: 'previous', period: 'day' })
  })
})
