// What people do with the pages of devices, for dashboard_browser_test.go.
//   node devices.mjs SERVER SETUP-TOKEN [DIRECTORY FOR SCREENSHOTS]
// A fleet is made and looked at on the server; what needs ten thousand devices, or alerts of weeks, is on the made-up server of
// server/dashboard/mock.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { handle } from '../dashboard/mock/server.mjs'
import { audited, dismiss, invite, join, looking, promote, setUp, shows, until, walk, wide } from './chromium.mjs'

const [server, setupToken, shots] = process.argv.slice(2)
const mocked = createServer((q, r) => handle(q, r).catch((e) => { console.error(e); r.destroy() })).listen(0, '127.0.0.1')
await once(mocked, 'listening')
const mock = 'http://127.0.0.1:' + mocked.address().port
const look = looking('devices', shots, (page) => !page.url().includes('city')) // a screenshot of all rows would be too high

let token = ''
const send = async (page, body) => {
  const answer = await page.request.post(server + '/api/readings', { data: body, headers: { Authorization: 'Bearer ' + token } })
  assert.equal(answer.status(), 202, await answer.text())
}

// snoozeAndComment snoozes an alert of a region, and comments on it in its dialog, which stays
// open.
async function snoozeAndComment(page, region, comment) {
  const taken = page.getByRole('region', { name: 'Acknowledged or snoozed' })
  await region.getByRole('button', { name: /^Snooze/ }).click()
  await page.getByRole('button', { name: 'For 4 hours' }).click()
  await taken.getByText('snoozed until').waitFor()
  await taken.getByRole('button', { name: 'Too hot', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Comment').fill(comment)
  await dialog.getByRole('button', { name: 'Add comment' }).click()
  await dialog.getByRole('listitem').getByText('The valve was stuck.').waitFor()
  return dialog
}

const steps = {
  async fleet(page) {
    await setUp(page, server, setupToken)
    await page.getByRole('link', { name: 'Devices' }).click()
    await page.getByText('No fleets yet').waitFor()
    await look(page, 'no-fleets')
    await page.getByRole('link', { name: 'Add fleet' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Plant 4')
    await look(page, 'new-fleet')
    await page.getByRole('button', { name: 'Add fleet' }).click()
    await page.getByRole('heading', { name: 'Add your first device' }).waitFor()
    await page.getByRole('button', { name: 'Telegraf' }).click()
    await shows(page.locator('pre'), /bucket = "plant-4"/)
    await look(page, 'empty-fleet')
  },
  async profile(page) {
    await page.goto(server + '/fleets/plant-4/settings/profiles')
    await page.getByRole('button', { name: 'New profile' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('ID').fill('boiler')
    await dialog.getByLabel('Expected interval').fill('60')
    await page.getByRole('button', { name: 'Add metric' }).click()
    await page.getByLabel('Metric 1', { exact: true }).fill('temperature')
    await page.getByLabel('Unit of metric 1').fill('°C')
    await look(page, 'profile')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Edit boiler' }).waitFor()
  },
  // Tags that describe devices are configured; an invalid tag is rejected and nothing is saved.
  async tags(page) {
    await page.goto(server + '/fleets/plant-4/settings')
    const tags = page.getByLabel('Property tags'), save = page.locator('form').filter({ has: tags }).getByRole('button', { name: 'Save' })
    await tags.fill('driver, a#b')
    await save.click()
    await page.getByText(/property tag "a#b"/i).waitFor()
    await look(page, 'refused-tags')
    await tags.fill('driver,  firmware,')
    const saved = page.waitForResponse((r) => r.request().method() === 'PATCH' && r.ok())
    await save.click()
    assert.deepEqual((await (await saved).json()).propertyTags, ['driver', 'firmware'])
    await page.reload()
    await page.waitForFunction(() => [...document.querySelectorAll('input')].some((i) => i.value === 'driver, firmware'))
    await look(page, 'tags')
  },
  // A device is added, its token is shown once, and its page updates with its readings.
  async device(page) {
    await page.goto(server + '/fleets/plant-4/devices/new')
    await page.getByLabel('ID', { exact: true }).fill('boiler-01')
    await page.getByLabel('Name', { exact: true }).fill('Boiler 1')
    await page.getByLabel('Tags').fill('roof, gas')
    await page.getByLabel('Profile').selectOption('boiler')
    await look(page, 'new-device')
    await page.getByRole('button', { name: 'Add device' }).click()
    token = await page.locator('.made code').textContent()
    await look(page, 'token')
    await page.getByRole('link', { name: 'Open device' }).click()
    await page.getByText('No readings yet').waitFor()
    await look(page, 'silent-device')
    const minute = Math.floor(Date.now() / 6e4) * 6e4, readings = []
    for (let i = 300; i > 0; i--) if (i > 120 || i < 90) readings.push({ at: minute - i * 6e4, values: { temperature: 70 + (i % 7), valve: i % 60 < 40 ? 'open' : 'closed' } })
    await send(page, readings)
    await page.reload()
    await page.getByRole('region', { name: 'temperature' }).getByText('1 gap').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await send(page, { values: { temperature: 98.75 } })
    await page.getByRole('cell', { name: '98.75' }).waitFor()
    await look(page, 'device')
    await page.getByRole('application').focus()
    await page.keyboard.press('End')
    await page.locator('.tip').getByText('98.75').waitFor()
    await page.keyboard.press('1')
    await page.waitForFunction(() => location.search.includes('span=1h'))
    await page.getByLabel('Resolution').selectOption('hourly')
    await page.getByRole('region', { name: 'temperature' }).getByText('hourly').waitFor()
    await look(page, 'device-hours')
    const csv = await page.request.get(server + await page.getByRole('link', { name: /CSV/ }).getAttribute('href'))
    assert.match(await csv.text(), /98\.75/)
  },
  // A rule is tested on past readings, with a plot, and saved. Silence rules cannot be tested, and
  // no test is requested.
  async rule(page) {
    await page.goto(server + '/fleets/plant-4/rules')
    await page.getByText('No rules yet').waitFor()
    await look(page, 'no-rules')
    await page.getByRole('link', { name: 'New rule' }).click()
    const asked = []
    page.on('request', (r) => { if (r.url().endsWith('/rules/test')) asked.push(JSON.parse(r.postData()).rule) })
    await page.getByRole('button', { name: 'Silence' }).click()
    await page.getByLabel('Device', { exact: true }).fill('boiler-01')
    await page.getByText('Silence rules cannot be back-tested').waitFor()
    await look(page, 'silence-rule')
    await page.getByRole('button', { name: 'Readings' }).click()
    await page.getByLabel('Name').fill('Too hot')
    await page.getByLabel('Raise at').fill('95')
    await page.getByLabel('End at').fill('90')
    await page.getByLabel('Fires after (minutes)').fill('0')
    await page.getByLabel('Ends after (minutes)').fill('0')
    await page.getByLabel('Severity').selectOption('critical')
    const said = page.getByRole('status')
    await said.getByText('1 alert', { exact: true }).waitFor()
    await shows(said, /1 alert in \d+ readings; 1 was beyond the level/)
    await page.getByRole('region', { name: 'Back-test' }).getByRole('cell', { name: '98.75' }).waitFor()
    await look(page, 'real-rule')
    assert.deepEqual(asked.filter((r) => r.noData), [], 'silence was tried')
    assert.ok(asked.length > 0)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Temperature above 95, until at or below 90').waitFor()
    await look(page, 'real-rules')
  },
  // Readings fire an alert; it is acknowledged, commented on and snoozed; and readings resolve it.
  async alert(page) {
    const alerts = async (state) => (await (await page.request.get(`${server}/api/v1/fleets/plant-4/alerts?state=${state}`)).json()).alerts
    const folded = async (state, n) => {
      try {
        await until(`${n} ${state} alerts`, async () => (await alerts(state)).length === n)
      } catch (e) { // tell what there is instead
        for (const path of ['alerts', 'rules', 'devices']) console.log(path, await (await page.request.get(`${server}/api/v1/fleets/plant-4/${path}`)).text())
        throw e
      }
    }
    await page.goto(server + '/fleets/plant-4/alerts')
    await page.getByText('No open alerts').waitFor()
    await look(page, 'no-alerts')
    const now = Date.now()
    await send(page, { at: now - 20e3, values: { temperature: 96.5 } })
    await send(page, { at: now - 10e3, values: { temperature: 97.25 } })
    await folded('open', 1)
    await page.reload()
    const critical = page.getByRole('region', { name: 'Critical' })
    await critical.getByRole('button', { name: 'Too hot', exact: true }).waitFor()
    await look(page, 'real-alerts')
    await page.getByRole('group', { name: 'Severity' }).getByRole('button', { name: 'Info' }).click()
    await page.getByText('No open info alerts').waitFor()
    await look(page, 'no-such-alerts')
    await page.getByRole('button', { name: 'Any severity' }).click()
    await critical.getByRole('button', { name: 'Acknowledge' }).click()
    const taken = page.getByRole('region', { name: 'Acknowledged or snoozed' })
    await taken.getByText(/^Ada Lovelace, /).waitFor()
    const dialog = await snoozeAndComment(page, taken, 'The valve was stuck.\nIt is not any more.')
    for (const what of ['Began', 'Fired', 'Acknowledged by Ada Lovelace', 'Snoozed by Ada Lovelace', 'Commented by Ada Lovelace']) await dialog.getByRole('listitem').getByText(what).waitFor()
    await look(page, 'real-alert')
    await page.keyboard.press('Escape')
    await send(page, { at: now - 5e3, values: { temperature: 71 } })
    await folded('open', 0)
    await page.reload()
    await page.getByText('No open alerts').waitFor()
    await page.getByRole('button', { name: 'Show past alerts' }).click()
    await page.getByText(/^resolved/).waitFor()
    await look(page, 'real-past-alerts')
    await page.goto(server + '/fleets/plant-4/devices/boiler-01/alerts?state=all')
    await page.getByText(/^resolved/).waitFor()
    await look(page, 'real-device-alerts')
  },
  // The derived figures of the fleet are checked against its readings, for the chosen days.
  async numbers(page) {
    await page.goto(server + '/fleets/plant-4/settings')
    await page.getByRole('link', { name: 'Numbers' }).click()
    await page.getByText('Not checked yet').waitFor()
    await page.getByRole('button', { name: /^Check / }).click()
    await page.getByText('No differences found').waitFor()
    await shows(page.getByRole('region', { name: 'Check' }), /stored items were recounted from \d+ readings/)
    await look(page, 'numbers')
    const day = await page.getByLabel('Last day').inputValue()
    await page.getByLabel('First day').fill(day)
    const asked = page.waitForRequest((r) => r.method() === 'POST' && r.url().endsWith('/fleets/plant-4/verify'))
    await page.getByRole('button', { name: /^Check / }).click()
    assert.deepEqual(JSON.parse((await asked).postData()), { from: day, to: day })
    await page.getByText('No differences found').waitFor()
    await page.getByLabel('First day').fill('')
    await page.getByRole('button', { name: /^Check .* – / }).waitFor()
  },
  // Differences and omissions are listed, on a wide screen and on a phone.
  async differences(page) {
    for (const [how, width] of [['wide', 1440], ['phone', 375]]) {
      await page.setViewportSize({ width, height: 800 })
      await page.goto(mock + '/fleets/plant/settings/numbers')
      await page.getByRole('heading', { name: '104 items differ' }).waitFor()
      await page.getByText('onefold rebuild --fleet plant').waitFor()
      await page.getByRole('button', { name: 'Rebuild…' }).click()
      const confirmation = page.getByRole('dialog')
      await confirmation.getByText('Stored items that differ are recomputed from the raw readings.').waitFor()
      await look(page, `rebuild-${how}`)
      const asked = page.waitForRequest((r) => r.method() === 'POST' && r.url().endsWith('/fleets/plant/rebuild'))
      await confirmation.getByRole('button', { name: 'Rebuild', exact: true }).click()
      assert.deepEqual(Object.keys(JSON.parse((await asked).postData())), ['from', 'to'])
      await confirmation.waitFor({ state: 'detached' })
      await page.getByRole('listitem').filter({ hasText: 'latest boiler-03' }).getByText('temperature 71.5 at 2026-05-13T09:30:00Z').waitFor()
      await page.getByText('The first 4 of 104 items.').waitFor()
      await look(page, `numbers-differ-${how}`)
      assert.ok(await wide(page) <= 0, `differences are ${await wide(page)} px too wide (${how})`)
      await page.goto(mock + '/fleets/city/settings/numbers')
      await page.getByText('1,344 items were left out because raw readings have expired, first air-0001 hourly 2026-04-01T00:00:00Z.').waitFor()
      await page.getByText('1 day was left out because a retraction is still being applied.').waitFor()
      await page.getByText('2 items changed too often to be compared.').waitFor()
      await look(page, `numbers-left-out-${how}`)
      assert.ok(await wide(page) <= 0, `what was left out is ${await wide(page)} px too wide (${how})`)
    }
    await page.goto(mock + '/sites/shop/numbers')
    await page.getByText('3 days were left out because raw events have expired, first 4 Mar 2026.').waitFor()
    await look(page, 'site-numbers-left-out-phone')
    await page.setViewportSize({ width: 1280, height: 800 })
  },
  // Alerts of a fleet are listed device by device: those of the last device are found although the
  // first page is empty.
  async past(page) {
    const { csrf } = await (await page.request.get(server + '/api/v1/me')).json()
    const rows = Array.from({ length: 450 }, (_, i) => `a-${String(i).padStart(4, '0')}`)
    const made = await page.request.post(server + '/api/v1/fleets/plant-4/devices/import', { data: ['id', ...rows].join('\n'), headers: { 'X-CSRF-Token': csrf, 'Content-Type': 'text/csv' } })
    assert.equal(made.status(), 200, await made.text())
    const first = async () => (await page.request.get(server + '/api/v1/fleets/plant-4/alerts?state=all')).json()
    await until('the devices are listed before the one that has an alert', async () => !(await first()).alerts.length)
    assert.ok((await first()).cursor)
    await page.goto(server + '/fleets/plant-4/alerts?state=all')
    await page.getByText(/^resolved/).waitFor()
    await page.getByRole('group', { name: 'Severity' }).getByRole('button', { name: 'Warning' }).click()
    await page.getByText('No warning alerts').waitFor()
  },
  // The same pages with the dark theme, and on a phone.
  async elsewhere(page) {
    const looks = async (how) => {
      for (const path of ['alerts', 'alerts?state=all', 'rules', 'rules/new?device=boiler-01&metric=temperature']) {
        await page.goto(server + '/fleets/plant-4/' + path)
        await page.getByRole('main').waitFor()
        await look(page, how + '-real-' + path.replaceAll(/[/?&=].*/g, path.includes('all') ? '-all' : '-new'))
        assert.ok(await wide(page) <= 0, `${path} is ${await wide(page)} px too wide (${how})`)
      }
      await page.goto(server + '/fleets/plant-4/alerts?state=all')
      await page.getByRole('button', { name: 'Too hot', exact: true }).click()
      await page.getByRole('dialog').getByText('The valve was stuck.').waitFor()
      await look(page, how + '-real-alert')
      await page.keyboard.press('Escape')
    }
    await page.getByRole('button', { name: 'Use the dark theme' }).click()
    await looks('dark')
    await page.getByRole('button', { name: 'Use the light theme' }).click()
    await page.setViewportSize({ width: 375, height: 780 })
    await looks('phone')
    await page.setViewportSize({ width: 1280, height: 800 })
  },
  // A tag that describes the device is a metric of its own; any other tag is part of the metric's
  // name. Both appear with their first reading, without reloading the device.
  async tagged(page) {
    await page.goto(server + '/fleets/plant-4/devices/boiler-01')
    await page.getByText('Live', { exact: true }).waitFor()
    const device = server + '/api/v1/fleets/plant-4/devices/boiler-01'
    await page.route(device, (r) => r.abort())
    await send(page, { values: { load: 3 }, tags: { driver: 'Ada', wheel: 'front' } })
    await page.getByRole('region', { name: 'driver' }).getByText('Ada').first().waitFor()
    await page.getByRole('region', { name: 'load{wheel=front}' }).getByText('3', { exact: true }).first().waitFor()
    await page.unroute(device)
    await look(page, 'tagged')
  },
  // The longest names of metrics, from tags of line protocol, widen no page, and what was measured long ago has its year.
  async longNames(page) {
    const { csrf } = await (await page.request.get(server + '/api/v1/me')).json()
    const post = async (path, data) => {
      const answer = await page.request.post(server + path, { data, headers: { 'X-CSRF-Token': csrf } })
      assert.ok(answer.ok(), await answer.text())
      return answer.json()
    }
    await post('/api/v1/fleets/plant-4/devices', { id: 'truck-0001-of-the-southern-fleet-with-a-very-long-name', name: 'Truck_0001_of_the_southern_fleet_with_a_very_long_name' })
    const tags = { device_version: 'v2.3', driver: 'Albert', fleet: 'South', model: 'H-2' }
    const { outcomes } = await post('/api/v1/fleets/plant-4/import', [0, 1, 2].map((i) => ({ device: 'truck-0001-of-the-southern-fleet-with-a-very-long-name', at: `2024-07-11T18:5${i}:36Z`, tags, values: { 'readings.elevation_above_the_sea': 21.5 + i, 'diagnostics.status_of_the_engine': 'running_at_nominal_power_and_speed' } })))
    assert.deepEqual(outcomes.map((o) => o.status), ['stored', 'stored', 'stored'])
    const at = server + '/fleets/plant-4/devices/truck-0001-of-the-southern-fleet-with-a-very-long-name'
    for (const [how, width] of [['phone', 375], ['wide', 1280]]) {
      await page.setViewportSize({ width, height: 780 })
      for (const query of ['', '?from=2024-07-11T18:00:00Z&to=2024-07-11T19:00:00Z']) {
        await page.goto(at + query)
        await page.getByText(/last reading 11 Jul 2024/).waitFor()
        await page.getByRole('cell', { name: /11 Jul 2024/ }).first().waitFor()
        await look(page, `long-names-${how}${query ? '-range' : ''}`)
        assert.ok(await wide(page) <= 0, `long names are ${await wide(page)} px too wide (${how}${query})`)
      }
      for (const path of ['', '/rules/new?device=boiler-01&metric=' + 'long_name_of_a_metric.'.repeat(5)]) {
        await page.goto(server + '/fleets/plant-4' + path)
        await page.getByRole('main').waitFor()
        await look(page, `long-names-${how}-${path ? 'rule' : 'board'}`)
        assert.ok(await wide(page) <= 0, `${path || 'the board'} is ${await wide(page)} px too wide (${how})`)
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 })
  },
  async data(page) {
    await page.goto(server + '/fleets/plant-4/devices/boiler-01/data')
    await page.getByRole('button', { name: /^Retract a time/ }).click()
    await page.getByLabel('Reason').fill('It was in the sun')
    await look(page, 'retract')
    await page.getByRole('button', { name: 'Retract', exact: true }).click()
    await page.getByText('It was in the sun').waitFor()
    await look(page, 'data')
    await page.goto(server + '/fleets/plant-4/devices/boiler-01/settings')
    await page.getByRole('button', { name: 'Renew token' }).click()
    await page.getByText('Copy it now').waitFor()
    await page.getByRole('button', { name: 'Maintenance' }).click()
    await page.getByRole('heading', { name: 'Status: maintenance' }).waitFor()
    await look(page, 'device-settings')
  },
  // The owner of a fleet invites a person, who starts with that fleet and sees no sites.
  async people(page) {
    await page.goto(server + '/')
    await page.getByRole('region', { name: 'Fleets' }).getByRole('link', { name: /Plant 4/ }).waitFor()
    await look(page, 'start')
    await page.goto(server + '/fleets/plant-4/settings/people')
    const link = await invite(page)
    await look(page, 'people')
    const guest = await join(page, link, (invited) => invited.getByText('Join plant-4').waitFor())
    await guest.getByRole('searchbox').fill('boiler')
    await guest.getByRole('link', { name: /Boiler 1/ }).waitFor()
    assert.equal(await guest.getByRole('link', { name: 'Settings' }).count(), 0)
    await guest.goto(server + '/')
    await guest.getByRole('region', { name: 'Fleets' }).getByRole('link', { name: /Plant 4/ }).waitFor()
    assert.equal(await guest.getByText('No sites yet').count(), 0)
    await guest.context().close()
    await page.reload()
    await promote(page, page)
    await dismiss(page)
  },
  // With ten thousand devices, the page has only a few rows, but search and keyboard reach all of
  // them.
  async board(page) {
    await page.goto(mock + '/fleets/city')
    const rows = page.locator('[role=row].device')
    await page.locator('[role=table][aria-rowcount="10001"]').waitFor()
    await until('only rows that somebody sees', async () => { const n = await rows.count(); return n > 0 && n < 60 })
    await look(page, 'ten-thousand')
    await rows.first().getByRole('link').focus()
    await page.keyboard.press('End')
    await page.waitForFunction(() => document.activeElement?.closest('[data-row="9999"]'))
    await page.keyboard.press('Home')
    await page.waitForFunction(() => document.activeElement?.closest('[data-row="0"]'))
    await page.keyboard.press('/')
    await page.keyboard.type('air-0777')
    await page.getByText('10 of 10,000').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /^Offline/ }).click()
    await page.waitForFunction(() => location.search.includes('connectivity=offline'))
    const offline = Number((await page.getByRole('button', { name: /^Offline/ }).locator('.value').textContent()).replaceAll(',', ''))
    await page.getByRole('searchbox').fill('')
    await page.locator(`[role=table][aria-rowcount="${offline + 1}"]`).waitFor()
  },
  async alerts(page) {
    await page.goto(mock + '/fleets/plant/alerts')
    await page.getByRole('region', { name: 'Critical' }).waitFor()
    await look(page, 'alerts')
    await page.keyboard.press('j')
    await page.keyboard.press('a')
    await page.getByRole('region', { name: 'Acknowledged or snoozed' }).getByText('ada@example.com').waitFor()
    await snoozeAndComment(page, page.getByRole('region', { name: 'Warning' }), 'The valve was stuck.')
    await look(page, 'alert')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'All', exact: true }).click()
    await page.getByText(/^resolved/).first().waitFor()
    assert.equal(await page.getByText(/^withdrawn/).count(), 0)
    await look(page, 'all-alerts')
    await page.getByRole('button', { name: 'Withdrawn', exact: true }).click()
    await page.getByText(/^withdrawn/).first().waitFor()
    assert.equal(await page.getByText(/^resolved/).count(), 0)
    await look(page, 'withdrawn-alerts')
  },
  async rules(page) {
    await page.goto(mock + '/fleets/plant/rules')
    await page.getByText('Temperature above 82 for 15 min, until at or below 78 for 30 min').waitFor()
    await look(page, 'rules')
    await page.getByRole('link', { name: 'New rule' }).click()
    await page.getByLabel('Name').fill('Warm')
    await page.getByLabel('Device', { exact: true }).fill('boiler-03')
    await page.getByLabel('Raise at').fill('75')
    await page.getByLabel('End at').fill('76')
    await page.getByText('would end at 76 while its condition still holds').waitFor()
    await page.getByLabel('End at').fill('73')
    await page.getByRole('status').getByText(/\d alerts/).waitFor()
    await look(page, 'rule')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'Warm', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Delete Warm' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('link', { name: 'Warm', exact: true }).waitFor({ state: 'detached' })
  },
  async dark(page) {
    await page.getByRole('button', { name: 'Use the dark theme' }).click()
    for (const path of ['', '/devices/boiler-03', '/alerts', '/rules/profile/boiler/r1', '/settings/notifications', '/connect']) {
      await page.goto(mock + '/fleets/plant' + path)
      await page.getByRole('main').waitFor()
      await look(page, 'dark' + path.replaceAll('/', '-'))
    }
    await page.getByRole('button', { name: 'Use the light theme' }).click()
  },
  async phone(page) {
    await page.setViewportSize({ width: 375, height: 780 })
    for (const path of ['', '/plant', '/city', '/fresh', '/plant/devices/new', '/plant/devices/boiler-03', '/plant/devices/boiler-03?span=7d', '/plant/devices/boiler-03/alerts', '/plant/devices/boiler-03/data', '/plant/devices/boiler-03/settings', '/plant/alerts', '/plant/rules', '/plant/rules/profile/boiler/r1', '/plant/settings', '/plant/settings/profiles', '/plant/settings/notifications', '/plant/settings/numbers', '/plant/connect']) {
      await page.goto(mock + '/fleets' + path)
      await page.getByRole('main').waitFor()
      await look(page, 'phone' + path.replaceAll(/[/?=]/g, '-'))
      assert.ok(await wide(page) <= 0, `${path} is ${await wide(page)} px wider than a phone`)
    }
  },
}

// Steps on the mock server do not depend on the server of the other steps.
if (audited) for (const name of ['differences', 'board', 'alerts', 'rules', 'dark', 'phone']) delete steps[name]
await walk(steps, shots)
mocked.closeAllConnections()
mocked.close()
