// Annotations on a chart.

import type { Annotation, Bucket, Period } from './api'
import { todayIn } from './days'

// byBucket groups annotations by the index of the bucket that contains them.
export function byBucket(annotations: Annotation[], buckets: Bucket[], period: Period, timezone: string): Map<number, Annotation[]> {
  const found = new Map<number, Annotation[]>()
  for (const a of annotations) {
    const at = new Date(a.at), day = todayIn(timezone, at)
    const i = buckets.findLastIndex((b) => (period === 'hour' ? new Date(b.start) <= at : day.startsWith(b.start.slice(0, period === 'month' ? 7 : 10))))
    if (i >= 0) found.set(i, [...(found.get(i) ?? []), a])
  }
  return found
}
