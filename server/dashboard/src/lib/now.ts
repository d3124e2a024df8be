// Separates the past from the future in a report, so that an unfinished day does not look like a collapse.

import type { Figures, Stats } from './api'

// begun returns how many buckets have begun; the rest are in the future.
export function begun(stats: Stats, today: string, now: Date): number {
  const has = (start: string) => (stats.period === 'hour' ? new Date(start) <= now : stats.period === 'day' ? start <= today : start <= today.slice(0, 7))
  return stats.buckets.filter((b) => has(b.start)).length
}

const derive = (f: Figures): Figures => ({ ...f, bounceRate: f.visits ? f.bounces / f.visits : 0, duration: f.visits ? f.seconds / f.visits : 0, viewsPerVisit: f.visits ? f.pageViews / f.visits : 0 })

// comparable returns the figures to compare totals with. Today is compared with the same hours of the other day. Visitors do not add
// up over hours, so they are omitted then. A range without data is not compared with.
export function comparable(stats: Stats, today: string, now: Date): Partial<Figures> | undefined {
  const before = stats.previous
  if (!before || before.pageViews + before.events === 0) return undefined
  if (stats.from !== stats.to || stats.to !== today) return before
  if (stats.period !== 'hour' || !stats.previousBuckets) return undefined
  const sum: Figures = { visitors: 0, visits: 0, pageViews: 0, events: 0, bounces: 0, bounceRate: 0, seconds: 0, duration: 0, viewsPerVisit: 0, revenue: 0, conversions: 0 }
  for (const b of stats.previousBuckets.slice(0, begun(stats, today, now))) {
    for (const k of ['visits', 'pageViews', 'events', 'bounces', 'seconds', 'revenue', 'conversions'] as const) (sum[k] as number) += Number(b[k] ?? 0)
  }
  const { visitors: _, ...rest } = derive(sum)
  return rest
}
