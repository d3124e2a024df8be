// What somebody without an account sees of a public site: every tab answers, and the figures shown add up.
//   node guests.mjs SERVER [DIRECTORY FOR SCREENSHOTS]
import assert from 'node:assert/strict'
import { join as file } from 'node:path'
import { settled, tabs, until, withBrowser } from './chromium.mjs'

const [server, shots] = process.argv.slice(2)
const number = text => Number(text.replace(/[^\d.-]/g, '') || 0)

// Ranges and filters for which all figures on the page are added up.
const views = ['', 'range=today', 'range=7d&filter=' + encodeURIComponent('country:is_not:DE')]

// headline is a figure above the breakdowns.
const headline = async (page, label) => number(await page.locator('.figure', { hasText: label }).locator('.value').getAttribute('title')
  ?? await page.locator('.figure', { hasText: label }).locator('.value').textContent())

// answered waits until everything is loaded. Networks without an account are rate-limited: requests
// that were rejected are retried, as people would.
const answered = page => until('all answers', async () => {
  await settled(page)
  const again = page.getByRole('button', { name: 'Try again' }).first()
  if (!await again.count()) return true
  await again.click()
  return false
})

// columns adds up the columns of a dialog, over all of its pages, including the rows of unlisted
// values and of none.
async function columns(dialog) {
  const shown = async () => {
    await answered(dialog.page())
    await dialog.locator('.scroll:not(.stale)').waitFor()
  }
  await shown()
  const heads = await dialog.locator('thead th').allTextContents()
  const sums = heads.map(() => 0)
  const add = async rows => {
    for (const cells of await rows.evaluateAll(all => all.map(r => [...r.cells].map(c => c.textContent)))) cells.forEach((c, i) => { sums[i] += i ? number(c) : 0 })
  }
  for (;;) {
    await shown()
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

// bars adds up a panel without its dialog, under the heading of its last column.
async function bars(region) {
  const heads = await region.locator('.body thead th').allTextContents()
  const cells = await region.locator('.body tbody tr').evaluateAll(rows => rows.map(r => r.cells[r.cells.length - 1].title))
  return { [heads.at(-1)]: cells.reduce((sum, text) => sum + number(text), 0) }
}

// asked returns the figures of the API for the view of the page.
async function asked(page, query) {
  const get = async (what, more = '') => {
    let answer
    await until(what, async () => (answer = await page.request.get(`${server}/api/v1/sites/blog/${what}?${query}${more}`)).status() !== 429)
    return answer.json()
  }
  const { totals } = await get('stats')
  const named = Object.fromEntries((await get('breakdown', '&by=event')).rows.map(r => [r.value, r.events]))
  return { ...totals, named }
}

// due returns the expected sums of a tab's columns: a visit has one value of most dimensions.
function due(panel, tab, totals) {
  if (panel === 'Pages' && tab === 'Pages') return { 'Page views': totals.pageViews }
  const counted = { Events: totals.events, Goals: totals.conversions, Outbound: totals.named.outbound, Downloads: totals.named.download, 'Not found': totals.named[404] }
  if (panel === 'Behaviour') return counted[tab] === undefined ? {} : { Events: counted[tab], Conversions: counted[tab] }
  return { 'Page views': totals.pageViews, Visits: totals.visits, Revenue: Number(totals.revenue) }
}

// comesTo compares the columns with their expected sums. A column of zeros is not shown.
function comesTo(sums, want, totals, where) {
  for (const [head, sum] of Object.entries(sums)) {
    if (head in want) assert.equal(sum, want[head], `${where}: ${head}`)
    if (head === 'Visitors' && 'Visits' in want) assert.ok(sum >= totals.visitors, `${where}: ${sum} visitors, there are ${totals.visitors}`)
  }
}

// figures compares the figures above the breakdowns.
async function figures(page, totals, where) {
  const revenue = Number(totals.revenue)
  const want = [[/^Visitors/, totals.visitors], [/^Visits/, totals.visits], [/^Page views/, totals.pageViews], [/^Conversions/, totals.conversions],
    [/^Revenue/, revenue >= 1000 ? Math.round(revenue) : revenue]]
  for (const [label, figure] of want) if (figure) assert.equal(await headline(page, label), figure, `${where}: ${label}`)
}

// dialogOf checks all values of a tab, including those that are not listed at first.
async function dialogOf(page, more, want, totals, where) {
  await more.click()
  const dialog = page.getByRole('dialog')
  const sums = await columns(dialog)
  assert.ok(Object.keys(want).some(head => head in sums) || !Object.keys(want).length, `${where} shows ${Object.keys(sums)}`)
  comesTo(sums, want, totals, where)
  if (await dialog.locator('tfoot tr.other').count()) {
    await dialog.getByRole('button', { name: 'List all values' }).click()
    await answered(page)
    await dialog.locator('tfoot tr.other').waitFor({ state: 'detached' })
    comesTo(await columns(dialog), want, totals, where + ', every value')
    assert.doesNotMatch(await dialog.locator('.pages span').textContent(), /listed/, 'every value is listed')
  }
  if (shots) await page.screenshot({ path: file(shots, `dialog-${where.replaceAll(/\W+/g, '-')}.png`) })
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
}

// panels checks every tab of every panel against the totals, and returns those that had a dialog.
async function panels(page, totals, where) {
  const dialogs = []
  for (const panel of ['Pages', 'Sources', 'Places', 'Devices', 'Behaviour']) {
    const region = page.getByRole('region', { name: panel, exact: true })
    for (const tab of await region.getByRole('tab').all()) {
      const name = await tab.textContent()
      if (await tab.getAttribute('aria-selected') !== 'true') {
        const answer = page.waitForResponse(r => r.url().includes('/breakdown?')) // until then, another tab is shown
        await tab.click()
        await answer
      }
      await answered(page)
      const title = `${where} ${panel}: ${name}`
      const want = due(panel, name, totals)
      const more = region.locator('footer .more')
      if (await more.count()) {
        await dialogOf(page, more, want, totals, title)
        dialogs.push(name)
      } else comesTo(await bars(region), want, totals, title)
    }
  }
  return dialogs
}

await withBrowser({}, async context => {
  const page = await context.newPage()
  await page.goto(server + '/sites/blog')
  assert.deepEqual((await tabs(page, server)).includes('Sessions'), false)

  for (const [i, view] of views.entries()) {
    // Each view has a network of its own, because together they exceed the rate limit of one
    // network.
    await context.setExtraHTTPHeaders({ 'X-Forwarded-For': `198.51.${i}.1` })
    const answer = page.waitForResponse(r => r.url().includes('/sites/blog/stats?'))
    await page.goto(server + '/sites/blog?' + view)
    const query = new URL((await answer).url()).searchParams
    for (const steps of ['period', 'compare', 'align']) query.delete(steps)
    await answered(page)
    const totals = await asked(page, query)
    assert.ok(totals.visits > 0 && totals.conversions > 0 && totals.named.outbound > 0, `${view} has something of everything`)
    await figures(page, totals, view)
    if (!view) assert.match(await page.getByRole('region', { name: 'Pages', exact: true }).locator('footer .more').textContent(), /listed and others/, 'a table that leaves values out says all')
    const dialogs = await panels(page, totals, view)
    assert.ok(dialogs.length >= 12, `${view}: only ${dialogs} had more values than a panel shows`)
  }
})
