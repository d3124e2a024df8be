// Opens every page of the dashboard on a site whose visitors sent scripts, for hostile_browser_test.go. None may run.
//   node hostile.mjs SERVER SETUP-TOKEN
import assert from 'node:assert/strict'
import { setUp, settled, withBrowser } from './chromium.mjs'

const [server, setupToken] = process.argv.slice(2)
const day = 'range=today&'
const dimensions = {
  pages: ['page', 'entry_page', 'exit_page'], sources: ['source', 'channel', 'utm_campaign', 'referrer'], places: ['country', 'language'], devices: ['browser', 'os', 'device', 'screen'],
  behaviour: ['event', 'goal', 'outbound', 'download', 'not_found', 'prop:plan', 'prop:<img src=x onerror=window.hacked=1>'],
}

await withBrowser({ reducedMotion: 'reduce' }, async context => {
  const page = await context.newPage()
  const complaints = []
  page.on('console', m => { if (/Content Security Policy|Unhandled|Uncaught/.test(m.text())) complaints.push(m.text()) })
  page.on('pageerror', e => complaints.push(e.stack))
  page.on('dialog', d => { complaints.push('a dialog: ' + d.message()); d.dismiss() })
  let shown = 0

  // harmless fails if any value that was sent became more than text.
  async function harmless(where) {
    await page.getByRole('main').first().waitFor()
    await settled(page)
    for (const e of (await page.locator('main button.value, main td a').all()).slice(0, 10)) await e.hover({ force: true, timeout: 10_000 }).catch(() => {}) // some are covered, or replaced meanwhile
    const found = await page.evaluate(() => ({
      hacked: window.hacked,
      elements: [...document.querySelectorAll('script:not([src]), img[src="x"], iframe, [onerror], [onload], [onmouseover], a[href^="javascript:" i]')].map(e => e.outerHTML.slice(0, 200)),
      text: document.body.innerText.includes('window.hacked'),
    }))
    assert.deepEqual([found.hacked, found.elements, complaints], [undefined, [], []], where)
    if (found.text) shown++
  }

  await setUp(page, server, setupToken, '<img src=x onerror=window.hacked=1>')
  await page.getByRole('heading', { name: 'Sites' }).waitFor()
  await harmless('sites')
  const widest = Math.max(...Object.values(dimensions).map(d => d.length))
  for (let i = 0; i < widest; i++) {
    const q = new URLSearchParams(Object.entries(dimensions).map(([panel, all]) => [panel, all[i % all.length]]))
    await page.goto(`${server}/sites/blog?${day}${q}`)
    await harmless(`panels ${q}`)
  }
  await page.goto(`${server}/sites/blog?${day}filter=${encodeURIComponent('page:contains:hacked')}`)
  await harmless('filtered')
  await page.goto(`${server}/sites/blog?${day}`)
  await settled(page)
  await page.getByRole('region', { name: 'Pages', exact: true }).getByRole('button', { name: /^All / }).click()
  await page.getByRole('dialog').getByRole('row').nth(1).waitFor()
  await harmless('details')
  for (const path of ['sessions', 'journeys', 'journeys?page=' + encodeURIComponent('/<script>window.hacked=1</script>'), 'realtime', 'goals', 'funnels', 'retention', 'numbers', 'settings', 'settings/people', 'settings/sharing']) {
    await page.goto(`${server}/sites/blog/${path}`)
    await harmless(path)
  }
  await page.goto(`${server}/sites/blog/sessions`)
  await settled(page)
  for (const href of await page.locator('td.time a').evaluateAll(all => all.map(a => a.getAttribute('href')))) {
    await page.goto(server + href)
    await harmless('timeline ' + href)
  }
  await page.goto(server + '/account')
  await harmless('account')
  assert.ok(shown > 10, `only ${shown} pages showed what was sent: the test looks in the wrong places`)
  console.log(`${shown} pages showed what was sent, as text`)
})
