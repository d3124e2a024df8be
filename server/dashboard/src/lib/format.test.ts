import { describe, expect, test } from 'vitest'
import { addDays, addMonths, isDay, todayIn, weekStart } from './days'
import { bucketLabel, change, count, dayRange, formatChange, many, money, percent, seconds, valueLabel } from './format'

describe('figures', () => {
  test('numbers keep their digits as long as they fit', () => {
    expect(count(99_999)).toBe('99,999')
    expect(count(1_234_567)).toBe('1.2M')
  })
  test('shares', () => {
    expect([0, 0.004, 0.0994, 0.425, 1].map(percent)).toEqual(['0 %', '0.4 %', '9.9 %', '43 %', '100 %'])
  })
  test('times', () => {
    expect([0, 59.4, 61, 3_725].map(seconds)).toEqual(['0 s', '59 s', '1 m 01 s', '1 h 02 m'])
  })
  test('money', () => {
    expect(money('1234.5', 'EUR')).toBe('€1,234.50')
    expect(money('3', 'not one')).toContain('3.00')
  })
  test('changes', () => {
    expect(change(5, undefined)).toBeNull()
    expect(change(5, 0)).toBeNull()
    expect(change(0, 0)).toBe(0)
    expect(formatChange(change(150, 100)!)).toBe('50 %')
    expect(formatChange(change(99, 100)!)).toBe('1.0 %')
  })
})

describe('days', () => {
  test('months have ends', () => {
    expect(addMonths('2026-03-31', -1)).toBe('2026-02-28')
    expect(addMonths('2024-03-31', -1)).toBe('2024-02-29')
    expect(addDays('2026-03-29', 1)).toBe('2026-03-30')
    expect(weekStart('2026-11-22')).toBe('2026-11-16')
    expect(isDay('2026-02-29')).toBe(false)
  })
  test('today is the site’s', () => {
    const at = new Date('2026-05-12T23:30:00Z')
    expect(todayIn('Europe/Berlin', at)).toBe('2026-05-13')
    expect(todayIn('America/New_York', at)).toBe('2026-05-12')
    expect(todayIn('Nowhere/At-all', at)).toBe('2026-05-12')
  })
  test('ranges and buckets have names', () => {
    expect(dayRange('2026-05-12', '2026-05-12')).toBe('12 May 2026')
    expect(dayRange('2025-12-30', '2026-01-02')).toBe('30 Dec 2025 – 2 Jan 2026')
    expect(bucketLabel('2026-10-25T00:00:00Z', 'hour', 'Europe/Berlin', false)).toBe('02:00')
    expect(bucketLabel('2026-10-25T01:00:00Z', 'hour', 'Europe/Berlin', false)).toBe('02:00') // the night that has it twice
    expect(bucketLabel('2026-05', 'month', 'UTC', true)).toBe('May 2026')
  })
})

test('one of what is counted is not many', () => {
  expect([0, 1, 2, 1234].map((n) => many(n, 'event'))).toEqual(['0 events', '1 event', '2 events', '1,234 events'])
})

test('names of values', () => {
  expect(valueLabel('country', 'DE')).toBe('Germany')
  expect(valueLabel('country', '<b>')).toBe('<b>')
  expect(valueLabel('source', '(none)')).toBe('Direct or none')
  expect(valueLabel('user.did_not.2-5.30d:country', 'DE')).toBe('Germany')
})
