// Annotations on a chart.

import type { Annotation, Bucket, Period } from './api'
import { zoned } from './format'

// byBucket groups annotations by the index of the bucket that contains them.
export function byBucket(annotations: Annotation[], buckets: Bucket[], period: Period, timezone: string): Map<number, Annotation[]> {
  const day = zoned(timezone, { year: 'numeric', month: '2-digit', day: '2-digit' })
  const of = (at: Date) => {
    if (period === 'hour') return buckets.findLastIndex((b) => new Date(b.start) <= at)
    const parts = Object.fromEntries(day.formatToParts(at).map((p) => [p.type, p.value]))
    const start = `${parts.year}-${parts.month}-${parts.day}`.slice(0, period === 'month' ? 7 : 10)
    return buckets.findIndex((b) => b.start.slice(0, start.length) === start)
  }
  const found = new Map<number, Annotation[]>()
  for (const a of annotations) {
    const i = of(new Date(a.at))
    if (i >= 0) found.set(i, [...(found.get(i) ?? []), a])
  }
  return found
}
