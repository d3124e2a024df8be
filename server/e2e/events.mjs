// What people do with the pages of the event store, for dashboard_browser_test.go.
//   node events.mjs SERVER SETUP-TOKEN [DIRECTORY FOR SCREENSHOTS]
import assert from 'node:assert/strict'
import { dismiss, invite, join, looking, promote, settled, setUp, until, walk, wide } from './chromium.mjs'

const [server, setupToken, shots] = process.argv.slice(2)
const look = looking('events', shots)

let key = ''
async function append(page, id, events) {
  const answer = await page.request.post(`${server}/api/v1/events/aggregates/order/${encodeURIComponent(id)}/events`, { data: { events }, headers: { Authorization: 'Bearer ' + key } })
  assert.equal(answer.status(), 201, await answer.text())
}

const at = (day, hour) => `2026-05-${String(day).padStart(2, '0')}T${String(hour).padStart(2, '0')}:05:00Z`
const placed = (n) => ({ type: 'OrderPlaced', occurredAt: at(4, 9), actor: 'ada@example.com', correlationId: 'visit-' + n, metadata: { ip: '192.0.2.' + n }, data: {
  total: 71.25, currency: 'EUR', paid: false, customer: { id: 'c-' + n, name: 'Grace Hopper', address: { city: 'Oslo', zip: '0150' } }, lines: [{ sku: 'tea-01', quantity: 2 }, { sku: 'cup-07', quantity: 1 }], note: '' } })

const steps = {
  async empty(page) {
    await setUp(page, server, setupToken)
    await page.getByRole('link', { name: 'Events' }).click()
    await page.getByText('No events yet').waitFor()
    await look(page, 'none')
    await page.goto(server + '/account/keys')
    await page.getByLabel('Name').fill('Shop')
    await page.getByLabel('Scope').selectOption('ingest')
    await page.getByLabel('Access to').selectOption('The event store')
    await page.getByRole('button', { name: 'Create key' }).click()
    key = await page.locator('.made code').textContent()
    await page.getByText('ingest · the event store').waitFor()
    for (let n = 1; n <= 30; n++) await append(page, String(1000 + n), [placed(n)])
    await append(page, '1001', [
      { type: 'OrderPaid', occurredAt: at(4, 10), actor: 'bank', data: { paid: true, method: 'card' } },
      { type: 'InvoiceSent', occurredAt: at(4, 10), data: { invoice: 'I-88' } },
    ])
    await append(page, '1001', [{ type: 'AddressChanged', occurredAt: at(5, 8), actor: 'grace@example.com', data: { customer: { address: { city: 'Bergen', zip: '5003' } } } }])
    await append(page, '1001', [{ type: 'OrderShipped', occurredAt: at(6, 15), actor: 'warehouse', data: { carrier: 'Post', tracking: 'NO' + '0123456789'.repeat(8) } }])
    await append(page, '<script>x()</script>/ü', [{ type: '<img src=x onerror=x()>', data: { '<b>bold</b>': '<script>window.hacked = true</script>' } }])
  },
  // The owner of the event store invites a person, who starts with its events.
  async people(page) {
    await page.goto(server + '/events')
    await page.getByRole('button', { name: 'People' }).click()
    const dialog = page.getByRole('dialog')
    const link = await invite(dialog)
    await look(page, 'people')
    const guest = await join(page, link, (invited) => invited.getByText('Join the event store').waitFor())
    await guest.getByRole('heading', { name: 'Events' }).waitFor()
    assert.equal(await guest.getByRole('button', { name: 'People' }).count(), 0)
    await guest.context().close()
    await page.reload()
    await page.getByRole('button', { name: 'People' }).click()
    await promote(page, dialog)
    await dismiss(dialog)
    await page.keyboard.press('Escape')
  },
  async types(page) {
    const types = async () => (await (await page.request.get(server + '/api/v1/events/types')).json()).types
    await until('the figures of 35 events', async () => (await types())[0]?.events === 35) // the counts follow appends
    await page.goto(server + '/events')
    await page.getByText('35', { exact: true }).waitFor()
    await look(page, 'types')
    await page.getByRole('link', { name: /^order/ }).click()
    await page.getByRole('link', { name: '1001', exact: true }).waitFor()
    await look(page, 'aggregates')
    await page.keyboard.press('/')
    await page.keyboard.type('1001')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/events/order/1001')
  },
  // Read a stream, its state at a version, and the difference between two versions.
  async stream(page) {
    await page.goto(server + '/events/order/1001')
    await page.getByText('5 events').waitFor()
    await page.getByRole('heading', { name: 'OrderShipped' }).waitFor()
    await look(page, 'stream')
    await page.getByRole('link', { name: /AddressChanged/ }).click()
    await page.waitForURL('**?at=4')
    await page.keyboard.press('s')
    await page.getByRole('heading', { name: 'After event 4' }).waitFor()
    await page.getByText('Bergen').first().waitFor()
    await look(page, 'state')
    await page.keyboard.press('c')
    const changes = page.getByRole('region', { name: 'Changed fields' })
    await changes.getByRole('row', { name: /changed.*city.*Oslo.*Bergen/ }).waitFor()
    await until('three rows of changes', async () => await changes.getByRole('row').count() === 3)
    await page.getByLabel('Compare with version').fill('1')
    await page.keyboard.press('Tab')
    await changes.getByRole('row', { name: /added.*invoice.*I-88/ }).waitFor()
    await look(page, 'changes')
    await page.keyboard.press('e')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.waitForURL('**?at=1')
    await page.getByText('Grace Hopper').first().waitFor()
    await page.getByText('192.0.2.1').waitFor()
    await look(page, 'event')
    const file = await page.request.get(server + await page.getByRole('link', { name: 'JSON Lines' }).getAttribute('href'))
    assert.equal((await file.text()).trim().split('\n').length, 5)
  },
  // New events appear live, and the selected event stays selected.
  async live(page) {
    await page.goto(server + '/events/order/1002')
    await page.getByText('Live', { exact: true }).waitFor()
    await append(page, '1002', [{ type: 'OrderCancelled', data: { reason: 'too late' } }])
    await page.getByRole('heading', { name: 'OrderCancelled' }).waitFor()
    await page.getByText('2 events').waitFor()
    await page.getByRole('link', { name: /OrderPlaced/ }).click()
    await append(page, '1002', [{ type: 'OrderRefunded', data: { amount: 71.25 } }])
    await page.getByRole('link', { name: /OrderRefunded/ }).waitFor()
    await page.getByRole('heading', { name: 'OrderPlaced' }).waitFor()
    await look(page, 'live')
  },
  // A long stream is loaded in parts, and a URL can lead into the middle of it.
  async long(page) {
    for (let i = 0; i < 3; i++) await append(page, 'long', Array.from({ length: 98 }, (_, n) => ({ type: 'Counted', data: { n: i * 98 + n + 1 } })))
    await page.goto(server + '/events/order/long')
    await page.getByText('294 events').waitFor()
    const rows = (n) => page.waitForFunction((n) => document.querySelectorAll('.timeline li').length === n, n)
    await rows(100)
    await page.getByRole('button', { name: 'Show older events' }).click()
    await rows(200)
    await page.goto(server + '/events/order/long?at=42&show=state')
    await page.getByRole('heading', { name: 'After event 42' }).waitFor()
    await rows(294)
  },
  async hostile(page) {
    await page.goto(server + '/events/order/' + encodeURIComponent('<script>x()</script>/ü'))
    await page.getByRole('heading', { name: '<img src=x onerror=x()>' }).waitFor()
    await look(page, 'hostile')
    assert.equal(await page.evaluate(() => window.hacked), undefined)
    await page.goto(server + '/events/order/none')
    await page.getByText('There is no aggregate with this type and ID').waitFor()
    await look(page, 'missing')
  },
  async small(page) {
    for (const theme of ['light', 'dark']) {
      await page.setViewportSize(theme === 'light' ? { width: 375, height: 740 } : { width: 1280, height: 860 })
      await page.goto(server + '/events')
      await settled(page)
      const dark = await page.evaluate(() => document.documentElement.dataset.theme === 'dark')
      if (dark !== (theme === 'dark')) await page.getByRole('button', { name: new RegExp(`${theme} theme`) }).click()
      for (const [name, path] of [['types', '/events'], ['aggregates', '/events/order'], ['stream', '/events/order/1001'], ['state', '/events/order/1001?at=4&show=state'], ['changes', '/events/order/1001?show=changes&since=1']]) {
        await page.goto(server + path)
        await settled(page)
        assert.ok(await wide(page) <= 0, `${name} is ${await wide(page)} px wider than the screen (${theme})`)
        await look(page, `${theme}-${name}`)
      }
    }
  },
}

await walk(steps, shots)
