import { expect, test } from 'vitest'
import { badgeHTML, badgeMarkdown, badgeOf, frame } from './embed'

const origin = 'https://stats.example.com'

test('a badge links to the statistics', () => {
  const b = badgeOf(origin, { id: 'blog', name: 'My "blog"' })
  expect(badgeHTML(b)).toBe('<a href="https://stats.example.com/sites/blog"><img src="https://stats.example.com/badge/blog.svg" alt="Visitors of My &quot;blog&quot;"></a>')
  expect(badgeMarkdown(b)).toBe('[![Visitors of My "blog"](https://stats.example.com/badge/blog.svg)](https://stats.example.com/sites/blog)')
})

test('names cannot leave their place', () => {
  const b = badgeOf(origin, { id: 'a(b)', name: '<b>]\\' })
  expect(badgeHTML(b)).toContain('alt="Visitors of &lt;b>]\\"')
  expect(badgeMarkdown(b)).toBe('[![Visitors of <b>\\]\\\\](https://stats.example.com/badge/a%28b%29.svg)](https://stats.example.com/sites/a%28b%29)')
  expect(frame(origin + '/share/x', '"><script>')).toContain('title="&quot;>&lt;script>"')
})
