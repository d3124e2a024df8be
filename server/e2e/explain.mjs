// Which campaign lost last week? Three clicks on the page of a site, for explain_browser_test.go.
//   node explain.mjs SERVER [DIRECTORY FOR SCREENSHOTS]
import assert from 'node:assert/strict'
import { join as file } from 'node:path'
import { accessible, settled, shows, until, walk, wide } from './chromium.mjs'

const [server, shots] = process.argv.slice(2)
const dialog = (page) => page.getByRole('dialog')
const campaigns = (page) => dialog(page).getByRole('region', { name: 'Campaign', exact: true })
const shot = async (page, name) => { if (shots) await page.screenshot({ path: file(shots, name + '.png') }) }

async function lastWeek(page) {
  await page.getByRole('button', { name: /^Date range/ }).click()
  await page.getByRole('button', { name: 'Last week' }).click()
  await settled(page)
}
const explain = (page, metric) => page.getByRole('button', { name: `explain ${metric}` }).click()

await walk({
  async threeClicks(page) {
    await page.setViewportSize({ width: 1360, height: 900 })
    await page.goto(server + '/sites/blog')
    await settled(page)
    await lastWeek(page) // two
    await explain(page, 'visits') // three
    await shows(campaigns(page).getByRole('row').nth(1), /^\s*spring\s*−18\s*$/)
    await shows(dialog(page).locator('.total'), /−11 visits: 54 → 43/)
    assert.match(await campaigns(page).textContent(), /autumn\s*\+5.*None\s*\+2/)
    assert.equal(await dialog(page).getByRole('region').first().getAttribute('aria-label'), 'Campaign', 'what shifted most is first')
    await accessible(page, 'explanation')
    await shot(page, 'explain')
  },
  async narrowAndDark(page) {
    await page.setViewportSize({ width: 390, height: 844 })
    assert.ok(await wide(page) <= 0, 'the page is wider than the screen')
    await accessible(page, 'narrow explanation')
    await shot(page, 'explain-narrow')
    await page.keyboard.press('Escape')
    await dialog(page).waitFor({ state: 'detached' })
    await until('the focus returns', () => page.evaluate(() => document.activeElement.textContent.includes('explain Visits')))
    await shot(page, 'explain-figures-narrow')
    await page.getByRole('button', { name: 'Use the dark theme' }).click()
    await page.setViewportSize({ width: 1360, height: 900 })
    await accessible(page, 'dark figures')
    await shot(page, 'explain-figures-dark')
    await explain(page, 'visitors')
    await shows(dialog(page).locator('.note').first(), /add up to the change of visits/)
    await accessible(page, 'dark explanation')
    await shot(page, 'explain-dark')
  },
  async filters(page) {
    await campaigns(page).getByRole('button', { name: 'spring' }).click()
    await dialog(page).waitFor({ state: 'detached' })
    await until('the filter', () => page.evaluate(() => new URLSearchParams(location.search).get('filter') === 'utm_campaign:is:spring'))
    await settled(page)
    await explain(page, 'page views')
    await shows(dialog(page).locator('.total'), /−18 page views: 30 → 12/)
    await page.keyboard.press('Escape')
    // Averages have no parts, and a day that is not over has no comparable breakdown.
    assert.ok(await page.getByRole('button', { name: 'explain bounce rate' }).isDisabled())
    await page.keyboard.press('d')
    await settled(page)
    assert.equal(await page.locator('.why:enabled').count(), 0)
  },
}, shots)
