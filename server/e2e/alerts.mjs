// Alert rules in the settings of a site, for alerts_browser_test.go.
//   node alerts.mjs SERVER SETUP-TOKEN CLOCK [DIRECTORY FOR SCREENSHOTS]
import assert from 'node:assert/strict'
import { join as file } from 'node:path'
import { accessible, setUp, settled, shows, walk, wide } from './chromium.mjs'

const [server, link, clock, shots] = process.argv.slice(2)
const card = (page, name) => page.getByRole('region', { name, exact: true })
const shot = async (page, name) => { if (shots) await page.screenshot({ path: file(shots, name + '.png'), fullPage: true }) }

await walk({
  async logIn(page) {
    await page.setViewportSize({ width: 1440, height: 900 })
    await setUp(page, server, link)
    await page.goto(server + '/sites/blog/settings/alerts')
    await settled(page)
    await shows(card(page, 'Alerts'), /No alerts yet/)
    await accessible(page, 'empty alerts')
  },
  async preview(page) {
    const rules = card(page, 'Alert rules')
    await rules.getByLabel('Alert on').selectOption('spike')
    await rules.getByLabel('Times more than usual').fill('2')
    await rules.getByRole('button', { name: 'Preview' }).click()
    await shows(rules.getByRole('status'), /would have sent 1 alert\. 33[4-6] hours could be judged, 0 could not\.\s*Spike Resolved\s*400 visitors in the hour until .*; 50 are usual\./)
    await shot(page, 'alerts-preview')
  },
  async invalid(page) {
    const rules = card(page, 'Alert rules')
    await rules.getByLabel('Times more than usual').fill('1')
    await rules.getByRole('button', { name: 'Add rule' }).click()
    await shows(rules.getByRole('alert'), /rule_factor/)
  },
  async add(page) {
    const rules = card(page, 'Alert rules')
    await rules.getByLabel('Alert on').selectOption('drop')
    await rules.getByLabel('Times fewer than usual').fill('')
    await rules.getByLabel('Name').fill('Low traffic')
    await rules.getByRole('button', { name: 'Add rule' }).click()
    await shows(rules.getByRole('listitem'), /Low traffic OK\s*Drop · judged until/)
  },
  async fires(page) {
    await fetch(clock + '/evaluate', { method: 'POST' })
    await page.reload()
    await settled(page)
    await shows(card(page, 'Alert rules').getByRole('listitem'), /Low traffic Firing\s*Drop · since .* · judged until/)
    await shows(card(page, 'Alerts').getByRole('listitem'), /Low traffic Firing\s*No visitors in the hour until .*; 50 are usual\.[^]*still firing/)
    await accessible(page, 'alerts')
    await shot(page, 'alerts')
    await page.setViewportSize({ width: 375, height: 800 })
    assert.ok(await wide(page) <= 0, 'the page is wider than the screen')
    await shot(page, 'alerts-narrow')
    await page.getByRole('button', { name: 'Use the dark theme' }).click()
    await accessible(page, 'dark alerts')
    await shot(page, 'alerts-dark')
  },
  async edit(page) {
    const rules = card(page, 'Alert rules')
    await rules.getByRole('button', { name: 'Edit' }).click()
    await rules.getByLabel('Off').check()
    await rules.getByRole('button', { name: 'Save rule' }).click()
    await shows(rules.getByRole('listitem'), /Low traffic Off/)
    await shows(card(page, 'Alerts').getByRole('listitem'), /Low traffic Resolved/)
    await rules.getByRole('button', { name: 'Remove' }).click()
    await rules.getByRole('listitem').waitFor({ state: 'detached' })
  },
}, shots)
