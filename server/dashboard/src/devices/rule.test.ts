import { describe, expect, it } from 'vitest'
import type { Rule } from './api'
import { draftOf, means, ruleOf, wrong } from './rule'

const rule: Rule = { id: 'r', scope: 'device', scopeId: 'd', name: 'Hot', metric: 't', raise: '100', clear: '97', for: 900, keepFor: 1800, severity: 'critical' }

describe('rules', () => {
  it('are said in words', () => {
    expect(means(rule)).toBe('T above 100 for 15 min, until at or below 97 for 30 min')
    expect(means({ ...rule, noData: true, for: 3600 })).toBe('No reading for 1 h')
    expect(means({ ...rule, below: true, clear: '', for: 0, keepFor: 60, over: 'hourly', function: 'max' })).toBe('Max of t over an hour below 100, until normal for 1 min')
  })
  it('come out of a form as they went in', () => {
    const { id: _, ...rest } = rule
    expect(ruleOf(draftOf(rule, 'device', '', ''))).toEqual(rest)
    const silence: Rule = { id: 's', scope: 'profile', scopeId: 'p', noData: true, for: 90, severity: 'info', off: true }
    const { id: __, ...other } = silence
    expect(ruleOf(draftOf(silence, 'device', '', ''))).toEqual(other)
  })
  it('that cannot be are refused with a word', () => {
    const d = draftOf(rule, 'device', '', '')
    expect(wrong(d)).toBe('')
    expect([{ scopeId: '' }, { metric: '' }, { raise: '' }, { raise: '1e3' }, { clear: 'x' }, { clear: '101' }, { below: true }, { kind: 'silence' as const, forMinutes: '0' }].map((c) => wrong({ ...d, ...c }) !== '')).toEqual(Array(8).fill(true))
    expect(wrong({ ...d, below: true, clear: '103' })).toBe('')
  })
})
