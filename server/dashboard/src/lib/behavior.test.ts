import { expect, test } from 'vitest'
import { formatBehavior, parseBehavior } from './behavior'

test('editing keeps every part of a behavior', () => {
  for (const d of ['page', 'prop:a.did:b', 'visit.did:page', 'visitor.did_not:event', 'user.did.2-:prop:plan', 'user.did.2-5.30d:event', 'visit.did.0-3:page', 'user.did_not.0-0:goal', 'user.did.30d:goal']) {
    expect(formatBehavior(parseBehavior(d))).toBe(d)
  }
  expect(formatBehavior(parseBehavior('user.did.-5:event'))).toBe('user.did.0-5:event')
  expect(formatBehavior(parseBehavior('user.did.30d.2-5:event'))).toBe('user.did.2-5.30d:event')
  expect(formatBehavior({ ...parseBehavior('user.did.30d:event'), who: 'visit.did' })).toBe('visit.did:event')
})
