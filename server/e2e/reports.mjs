// Channels and reports in the settings of a site, for reports_browser_test.go.
//   node reports.mjs SERVER SETUP-TOKEN CHAT [DIRECTORY FOR SCREENSHOTS]
import assert from 'node:assert/strict'
import { join as file } from 'node:path'
import { accessible, setUp, settled, shows, walk, wide } from './chromium.mjs'

const [server, link, chat, shots] = process.argv.slice(2)
const card = (page, name) => page.getByRole('region', { name, exact: true })
const shot = async (page, name) => { if (shots) await page.screenshot({ path: file(shots, name + '.png'), fullPage: true }) }
const events = async () => (await fetch(chat + '/events')).json()

await walk({
  async logIn(page) {
    await page.setViewportSize({ width: 1440, height: 900 })
    await setUp(page, server, link)
    await page.goto(server + '/sites/blog/settings/reports')
    await settled(page)
    await accessible(page, 'empty reports')
  },
  async channel(page) {
    const channels = card(page, 'Channels')
    await channels.getByLabel('Type').selectOption('webhook')
    await channels.getByLabel('URL').fill(chat + '/chat')
    await channels.getByLabel('Name').fill('Chat')
    await channels.getByRole('button', { name: 'Add channel' }).click()
    await shows(channels, /whsec_/)
    await channels.getByRole('button', { name: 'Send test' }).click()
    await shows(page.getByRole('status').filter({ hasText: 'accepted' }), /The test message to Chat was accepted/)
    assert.deepEqual(await events(), ['test'])
  },
  async report(page) {
    const reports = card(page, 'Reports')
    await reports.getByLabel('Send').selectOption('daily')
    await reports.getByLabel('At').selectOption('7')
    await reports.getByRole('button', { name: 'Add report' }).click()
    await shows(reports.getByRole('listitem'), /Every day at 07:00\s*next /)
    await reports.getByRole('button', { name: 'Send now' }).click()
    await shows(page.getByRole('status').filter({ hasText: 'way' }), /One message is on its way/)
    await fetch(chat + '/deliver', { method: 'POST' })
    assert.deepEqual(await events(), ['test', 'report.daily'])
  },
  async failure(page) {
    const channels = card(page, 'Channels')
    await channels.getByLabel('Type').selectOption('email')
    await channels.getByLabel('Recipients').fill('ada@example.com, bob@example.com')
    await channels.getByRole('button', { name: 'Add channel' }).click()
    await shows(channels, /ada@example.com, bob@example.com\s*Email/)
    await card(page, 'Reports').getByRole('button', { name: 'Send now' }).click()
    await shows(page.getByRole('status').filter({ hasText: 'way' }), /3 messages are on their way/)
    await fetch(chat + '/deliver', { method: 'POST' })
    await page.reload()
    await settled(page)
    await shows(card(page, 'Failed messages').getByRole('listitem').first(), /Daily report for .*(ada|bob)@example.com · 1 attempt · this server is not configured to send notifications by email/)
    await accessible(page, 'reports')
    await shot(page, 'reports')
    await page.setViewportSize({ width: 375, height: 800 })
    assert.ok(await wide(page) <= 0, 'the page is wider than the screen')
    await shot(page, 'reports-narrow')
    await page.getByRole('button', { name: 'Use the dark theme' }).click()
    await accessible(page, 'dark reports')
    await shot(page, 'reports-dark')
  },
  async remove(page) {
    await card(page, 'Reports').getByRole('button', { name: 'Remove' }).click()
    await card(page, 'Reports').getByRole('listitem').waitFor({ state: 'detached' })
  },
}, shots)
