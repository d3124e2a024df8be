// What somebody without an account sees of a public site: every tab answers, and the figures shown add up.
//   node guests.mjs SERVER [DIRECTORY FOR SCREENSHOTS]
import assert from 'node:assert/strict'
import { join as file } from 'node:path'
import { settled, tabs, withBrowser } from './chromium.mjs'

const [server, shots] = process.argv.slice(2)
const number = text => Number(text.replace(/[^\d.-]/g, '') || 0)

// headline is the figure that the page shows above all breakdowns.
const headline = async (page, label) => number(await page.locator('.figure', { hasText: label }).locator('.value').getAttribute('title')
  ?? await page.locator('.figure', { hasText: label }).locator('.value').textContent())

// columns adds up what a dialog shows, over all of its pages, with the row of the values that are not listed.
async function columns(dialog) {
  await dialog.locator('.scroll:not(.stale)').waitFor()
  const heads = await dialog.locator('thead th').allTextContents()
  const sums = heads.map(() => 0)
  const add = async rows => {
    for (const cells of await rows.evaluateAll(all => all.map(r => [...r.cells].map(c => c.textContent)))) cells.forEach((c, i) => { sums[i] += i ? number(c) : 0 })
  }
  for (;;) {
    await dialog.locator('.scroll:not(.stale)').waitFor()
    await add(dialog.locator('tbody tr'))
    const next = dialog.getByRole('button', { name: 'Next' })
    if (await next.isDisabled()) break
    const before = await dialog.locator('.pages span').textContent()
    await next.click()
    await dialog.page().waitForFunction(was => document.querySelector('dialog .pages span')?.textContent !== was, before)
  }
  await add(dialog.locator('tfoot tr'))
  return Object.fromEntries(heads.map((h, i) => [h, Math.round(sums[i] * 100) / 100]))
}

await withBrowser({}, async context => {
  const page = await context.newPage()
  await page.goto(server + '/sites/blog')
  assert.deepEqual((await tabs(page, server)).includes('Sessions'), false)

  await page.goto(server + '/sites/blog')
  await settled(page)
  const totals = await page.evaluate(async () => (await (await fetch('/api/v1/sites/blog/stats')).json()).totals)
  assert.equal(await headline(page, /^Visits/), totals.visits)
  const checked = []
  for (const panel of ['Pages', 'Sources']) {
    const region = page.getByRole('region', { name: panel, exact: true })
    for (const tab of await region.getByRole('tab').all()) {
      await tab.click()
      await settled(page)
      const more = region.locator('footer .more')
      if (!await more.count()) continue
      if (panel === 'Pages' && await tab.textContent() === (await region.getByRole('tab').first().textContent())) {
        assert.match(await more.textContent(), /listed and others/, 'a table that leaves values out says all')
      }
      await more.click()
      const dialog = page.getByRole('dialog')
      const sums = await columns(dialog)
      const title = `${panel}: ${await tab.textContent()}`
      assert.equal(sums['Page views'], totals.pageViews, title)
      if (await tab.textContent() !== (await page.getByRole('region', { name: 'Pages', exact: true }).getByRole('tab').first().textContent())) {
        assert.equal(sums.Visits, totals.visits, title)
        assert.equal(sums.Revenue, Number(totals.revenue), title)
      }
      if (await dialog.locator('tfoot tr').count()) {
        await dialog.getByRole('button', { name: 'List every value' }).click()
        await dialog.locator('tfoot tr').waitFor({ state: 'detached' })
        const every = await columns(dialog)
        assert.equal(every['Page views'], totals.pageViews, title + ', every value')
        assert.doesNotMatch(await dialog.locator('.pages span').textContent(), /listed/, 'every value is listed')
      }
      checked.push(title)
      if (shots) await page.screenshot({ path: file(shots, `dialog-${checked.length}.png`) })
      await page.keyboard.press('Escape')
    }
  }
  assert.ok(checked.length > 2, `only ${checked} were looked at`)
})
