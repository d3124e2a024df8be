import { describe, expect, it } from 'vitest'
import type { Fed } from './api'
import { causation, DEEPEST, elapsed, merge } from './causation'

const event = (id: string, causationId?: string, position = 1, seq = 1) => ({ id, position, seq, type: id, ...(causationId ? { causationId } : {}) }) as Fed
const drawn = (events: Fed[]) => causation(events).map((n) => `${n.through.map((t) => (t ? '|' : ' ')).join('')}${n.depth ? (n.last ? 'L' : 'T') : ''}${n.event.id}${n.outside ? '<' + n.outside : ''}`)

describe('causation', () => {
  it('puts each event below its cause', () => {
    expect(drawn([event('a', 'command'), event('b', 'a'), event('c', 'a'), event('d', 'b'), event('e', 'b'), event('f')])).toEqual(['a<command', 'Tb', '|Td', '|Le', 'Lc', 'f'])
    expect(drawn([event('b', 'a'), event('c', 'b'), event('a')])).toEqual(['a', 'Lb', ' Lc'])
    expect(drawn([])).toEqual([])
  })
  it('survives circles, events that caused themselves, and repeats', () => {
    expect(drawn([event('a', 'b'), event('b', 'a'), event('c', 'c')])).toEqual(['c', 'a', 'Lb'])
    expect(drawn([event('a'), event('a')])).toEqual(['a'])
  })
  it('has long chains', () => {
    const nodes = causation(Array.from({ length: 5000 }, (_, i) => event(String(i), i ? String(i - 1) : undefined)))
    expect(nodes.length).toBe(5000)
    expect(nodes.at(-1)!.depth).toBe(4999)
    expect(nodes.at(-1)!.through.length).toBe(DEEPEST - 1)
  })
  it('merges parts of the feed', () => {
    expect(merge([event('c', undefined, 3), event('b', undefined, 2)], [event('b', undefined, 2), event('a', undefined, 1), event('d', undefined, 3, 2)]).map((e) => e.id)).toEqual(['a', 'b', 'c', 'd'])
  })
  it('tells the time between events', () => {
    const at = (ms: number) => new Date(ms).toISOString()
    expect([0, 12, 1234, 120_000, 7_200_000, 86_400_000 * 3].map((ms) => elapsed(at(0), at(ms)))).toEqual(['+0 ms', '+12 ms', '+1.2 s', '+2 min', '+2 h', '+3 d'])
    expect(elapsed(at(500), at(0))).toBe('−500 ms')
  })
})
