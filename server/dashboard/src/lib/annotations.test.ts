import { describe, expect, it } from 'vitest'
import { byBucket } from './annotations'
import type { Bucket } from './api'

const buckets = (...starts: string[]) => starts.map((start) => ({ start })) as Bucket[]
const note = (at: string) => ({ id: at, at, text: at })

describe('byBucket', () => {
  it('uses days of the site', () => {
    const found = byBucket([note('2026-05-12T11:59:59.999Z'), note('2026-05-12T12:00:00Z'), note('2026-05-12T13:00:00Z')], buckets('2026-05-12', '2026-05-13'), 'day', 'Pacific/Auckland')
    expect([...found].map(([i, all]) => [i, all.length])).toEqual([[0, 1], [1, 2]])
  })
  it('uses months of the site', () => {
    expect([...byBucket([note('2026-05-31T23:30:00Z')], buckets('2026-05', '2026-06'), 'month', 'Europe/Berlin').keys()]).toEqual([1])
  })
  it('uses the hour that contains a moment', () => {
    expect([...byBucket([note('2026-05-12T10:59:59Z')], buckets('2026-05-12T10:00:00Z', '2026-05-12T11:00:00Z'), 'hour', 'UTC').keys()]).toEqual([0])
  })
  it('leaves out what is outside of the range', () => {
    expect(byBucket([note('2026-05-11T23:00:00Z'), note('2026-05-14T01:00:00Z')], buckets('2026-05-12', '2026-05-13'), 'day', 'UTC').size).toBe(0)
    expect(byBucket([note('2026-05-12T09:00:00Z')], buckets('2026-05-12T10:00:00Z'), 'hour', 'UTC').size).toBe(0)
    expect(byBucket([note('2026-05-12T09:00:00Z')], [], 'day', 'UTC').size).toBe(0)
  })
})
