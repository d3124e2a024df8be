import { expect, test } from 'vitest'
import type { Bucket, Figures, Stats } from './api'
import { begun, comparable } from './now'

const figures = (visits: number): Figures => ({ visitors: visits, visits, pageViews: visits * 2, events: 0, bounces: 0, bounceRate: 0, seconds: visits * 10, duration: 10, viewsPerVisit: 2, revenue: '0.5', conversions: 0 })
const hours = (day: string): Bucket[] => Array.from({ length: 24 }, (_, i) => ({ start: `${day}T${String(i).padStart(2, '0')}:00:00Z`, ...figures(i + 1) }))
const stats = (change: Partial<Stats> = {}): Stats => ({
  from: '2026-05-12', to: '2026-05-12', period: 'hour', timezone: 'UTC', source: 'statistics', totals: figures(10), previous: figures(300), buckets: hours('2026-05-12'), previousBuckets: hours('2026-05-11'), ...change,
})
const now = new Date('2026-05-12T02:30:00Z')

test('hours that have not begun are future', () => {
  expect(begun(stats(), '2026-05-12', now)).toBe(3)
  expect(begun(stats(), '2026-05-13', new Date('2026-05-13T09:00:00Z'))).toBe(24)
})
test('today is compared with the same hours', () => {
  const p = comparable(stats(), '2026-05-12', now)!
  expect(p).toMatchObject({ visits: 6, pageViews: 12, viewsPerVisit: 2, duration: 10, revenue: 1.5 })
  expect(p.visitors).toBeUndefined()
})
test('a day that is over is compared with the whole other day', () => {
  expect(comparable(stats(), '2026-05-13', now)).toEqual(figures(300))
})
test('nothing is compared with nothing', () => {
  expect(comparable(stats({ previous: figures(0) }), '2026-05-13', now)).toBeUndefined()
})
