import { describe, expect, it } from 'vitest'
import { brief, difference, lines } from './fields'

describe('what events say', () => {
  it('is lines, the inner ones after what they are in', () => {
    expect(lines({ a: 1, b: { c: 'x', d: [] }, e: [true, null] }).map((l) => [l.depth, l.name, l.kind, l.value])).toEqual([
      [0, 'a', 'number', '1'], [0, 'b', 'group', ''], [1, 'c', 'text', 'x'], [1, 'd', 'empty', 'empty list'], [0, 'e', 'group', ''], [1, '1', 'truth', 'true'], [1, '2', 'nothing', 'null'],
    ])
    expect(lines('text')).toEqual([{ path: '', name: '', depth: 0, kind: 'text', value: 'text' }])
    expect(lines({})[0]!.value).toBe('no fields')
    expect(lines(undefined)[0]!.kind).toBe('empty')
    expect(lines(Array.from({ length: 5000 }, (_, i) => i)).length).toBe(2000)
  })
  it('is compared field by field', () => {
    expect(difference({ a: 1, b: { c: 'x' }, gone: '' }, { a: '1', b: { c: 'y' }, fresh: null })).toEqual([
      { name: 'a', sign: '~', before: '1', after: '1' }, { name: 'b › c', sign: '~', before: 'x', after: 'y' }, { name: 'fresh', sign: '+', after: 'null' }, { name: 'gone', sign: '−', before: 'empty text' },
    ])
    expect(difference({}, {})).toEqual([])
    expect(difference({ a: { b: 1 } }, { a: { b: 1 } })).toEqual([])
  })
  it('fits into a line', () => {
    expect(brief({ total: 3, to: { city: 'Oslo' } })).toBe('total 3, city Oslo')
    expect(brief(7)).toBe('7')
  })
})
