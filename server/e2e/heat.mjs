// What an owner does about a hot key, for heat_browser_test.go.
//   node heat.mjs SERVER SETUP-TOKEN CONTROL [DIRECTORY FOR SCREENSHOTS]
// CONTROL is a server that makes a rush of events to a site (POST /rush), and lets time pass (POST /later).
import assert from 'node:assert/strict'
import { looking, setUp, settled, walk, wide } from './chromium.mjs'

const [server, setupToken, control, shots] = process.argv.slice(2)
const look = looking('heat', shots)
const order = async (page, what) => assert.equal((await page.request.post(control + what)).status(), 200)

const steps = {
  async calm(page) {
    await setUp(page, server, setupToken)
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('link', { name: 'Heat' }).click()
    await page.getByRole('heading', { name: 'Heat' }).waitFor()
    await page.getByText('No key used more than 50').waitFor()
    await look(page, 'calm')
  },
  // A rush of less than a minute is no alarm.
  async brief(page) {
    await order(page, '/rush')
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText('1 key had a peak of less than a minute.').click()
    await page.getByText('If it recurs: multiply the site').waitFor()
    assert.equal(await page.getByRole('region', { name: 'SITE#shop#SHARD#0' }).count(), 0)
    await look(page, 'brief')
  },
  // A second rush makes a key hot. The page names the key, its items and the remedy, which is applied
  // there.
  async hot(page) {
    await order(page, '/rush')
    await page.getByRole('button', { name: 'Refresh' }).click()
    const hot = page.getByRole('region', { name: 'SITE#shop#SHARD#0' })
    await hot.getByText('of a partition’s write limit').waitFor()
    await hot.getByText('analytics.block', { exact: true }).waitFor()
    await hot.getByRole('listitem').getByText(/^W1 /).waitFor()
    await hot.getByText('over 2 partitions instead of 1').waitFor()
    await page.getByText('as a hash after ~').waitFor()
    await look(page, 'hot')
    await page.getByLabel('Hot from').selectOption('0.8')
    await page.waitForFunction(() => location.search.includes('share=0.8'))
    await page.getByLabel('Hot from').selectOption('0.5')
    await hot.getByLabel('Partitions').fill('4')
    await hot.getByRole('button', { name: 'Spread events' }).click()
    await hot.getByText(/events of shop are spread over 4 partitions/).waitFor()
    await look(page, 'spread')
  },
  async cool(page) {
    await order(page, '/later')
    await order(page, '/rush')
    await page.reload()
    const was = page.getByRole('region', { name: 'SITE#shop#SHARD#0' })
    await was.getByText('The key has not been hot since').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Spread events' }).count(), 0)
    assert.equal(await page.getByRole('region', { name: /^SITE#shop#SHARD#[1-9]/ }).count(), 0)
    await look(page, 'cool')
    await page.goto(server + '/sites/shop/settings/partitions')
    await page.getByText('Events of shop are spread over 4 partitions').waitFor()
    await look(page, 'settings')
    await page.getByRole('spinbutton', { name: 'Partitions' }).fill('8')
    await page.getByRole('button', { name: 'Spread events' }).click()
    await page.getByText(/from .* on over 8 partitions/).waitFor()
    await page.goto(server + '/account/audit')
    await page.getByText('site.reshard').first().waitFor()
  },
  async elsewhere(page) {
    await page.goto(server + '/heat')
    await settled(page)
    await page.getByRole('button', { name: 'Use the dark theme' }).click()
    await look(page, 'dark')
    await page.getByRole('button', { name: 'Use the light theme' }).click()
    await page.setViewportSize({ width: 375, height: 780 })
    await page.reload()
    await look(page, 'phone')
    assert.ok(await wide(page) <= 0, `heat is ${await wide(page)} px wider than a phone`)
  },
}

await walk(steps, shots)
