import { describe, expect, it } from 'vitest'
import type { Site } from './api'
import { findings, pageOf } from './installation'

describe('pageOf', () => {
  it.each([
    ['example.com', 'https://example.com/?onefold=check_1'],
    ['http://localhost:3000/a?b=c#d', 'http://localhost:3000/a?b=c&onefold=check_1#d'],
    ['https://example.com/?onefold=count', 'https://example.com/?onefold=check_1'],
    ['javascript:alert(1)', undefined],
    ['data:text/html,a', undefined],
    ['', undefined],
    ['https://', undefined],
  ])('%s', (page, want) => expect(pageOf(page, 'check_1')).toBe(want))
})

describe('findings', () => {
  const site = { id: 'blog' } as Site
  const good = { at: '', site: 'blog', host: 'example.com', ignored: false, refused: false, package: false, status: 'stored' }
  it('says that page views count', () => {
    expect(findings(site, good).map((f) => f.text)).toEqual(['The tracker runs on example.com, and reaches the server.', 'Page views from this browser are counted.'])
  })
  it.each([
    [{ site: 'shop' }, /“shop”. This site is “blog”/],
    [{ status: 'rejected', reason: 'wrong_domain' }, /not one of the site’s domains/],
    [{ status: 'rejected', reason: 'bad_url', detail: 'a detail' }, /rejected: a detail/],
    [{ ignored: true }, /excluded/],
    [{ refused: true }, /respects/],
  ])('%j', (change, want) => {
    const found = findings(site, { ...good, ...change })
    expect(found.filter((f) => !f.good).map((f) => f.text)).toEqual([expect.stringMatching(want)])
  })
})
