// What people do with the pages of the event store, for browser_test.go of package events.
//   node events.mjs SERVER SETUP-TOKEN [DIRECTORY FOR SCREENSHOTS]
import assert from 'node:assert/strict'
import { dismiss, invite, join, looking, promote, settled, setUp, shows, until, walk, wide } from './chromium.mjs'

const [server, setupToken, shots] = process.argv.slice(2)
const look = looking('events', shots)

let key = ''
async function append(page, id, events) {
  const answer = await page.request.post(`${server}/api/v1/events/aggregates/order/${encodeURIComponent(id)}/events`, { data: { events }, headers: { Authorization: 'Bearer ' + key } })
  assert.equal(answer.status(), 201, await answer.text())
}

// pulls creates a subscription whose consumer rejects one event and has two more.
async function pulls(page, name) {
  const { csrf } = await (await page.request.get(server + '/api/v1/me')).json()
  const post = async (method, path, data) => {
    const answer = await page.request[method](`${server}/api/v1/events/subscriptions/${name}${path}`, { data, headers: { 'X-CSRF-Token': csrf } })
    assert.ok(answer.ok(), await answer.text())
    return await answer.json()
  }
  await post('put', '', { aggregateTypes: ['order'] })
  const [first] = (await post('post', '/receive', { events: 1, wait: 20 })).events
  await post('post', '/reject', { tokens: [first.token], reason: 'printer is out of paper', park: true })
  let received = 0
  while (received < 2) received += (await post('post', '/receive', { events: 2 - received, wait: 20, visible: 600 })).events.length
}

const at = (day, hour) => `2026-05-${String(day).padStart(2, '0')}T${String(hour).padStart(2, '0')}:05:00Z`
const projections = async (page) => (await (await page.request.get(server + '/api/v1/events/projections')).json()).projections

// narrow looks at a page at 390 px, where nothing may be cut off, and returns to the usual size.
async function narrow(page, name) {
  const usual = page.viewportSize()
  await page.setViewportSize({ width: 390, height: 844 })
  await settled(page)
  assert.ok(await wide(page) <= 0, `${name} is ${await wide(page)} px wider than the screen`)
  const cut = await page.evaluate(() => [...document.querySelectorAll('main th, main td, main dd, main h1, main h2, main button, main a.button')]
    .filter((e) => e.checkVisibility() && !e.closest('.unseen, .plot') && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80)))
  assert.deepEqual(cut, [], `${name}: what is cut off`)
  await look(page, name + '-390')
  await page.setViewportSize(usual)
}

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
    await guest.getByRole('heading', { name: 'Events', exact: true }).waitFor()
    assert.equal(await guest.getByRole('button', { name: 'People' }).count(), 0)
    await guest.context().close()
    await page.reload()
    await page.getByRole('button', { name: 'People' }).click()
    await promote(page, dialog)
    await dismiss(dialog)
    await page.keyboard.press('Escape')
  },
  // The overview has the types, the appends over time, the latest events and the state of the feed.
  async overview(page) {
    const types = async () => (await (await page.request.get(server + '/api/v1/events/types')).json()).types
    await until('the figures of 35 events', async () => (await types())[0]?.events === 35) // the counts follow appends
    await until('the feed has all appends', async () => (await (await page.request.get(server + '/api/v1/events/feed/head')).json()).position === 34)
    await page.setViewportSize({ width: 1360, height: 900 })
    await page.goto(server + '/events')
    const figure = (name) => page.getByLabel('Totals').locator('div', { hasText: name }).locator('dd').first()
    await shows(figure('Aggregates'), /^31$/)
    await shows(figure('Events'), /^35$/)
    await shows(figure('Feed position'), /^34$/)
    await shows(figure('Feed lag'), /\d+ s|^Unknown$/)
    await shows(figure('Projections'), new RegExp(`^${(await projections(page)).length}$`))
    await page.getByText('34 in the last 24 hours').waitFor()
    await page.getByRole('button', { name: '7 days' }).click()
    await page.waitForURL('**?range=7d')
    await page.getByText('34 in the last 7 days').waitFor()
    await page.getByRole('application', { name: /Appends/ }).focus()
    await page.keyboard.press('End')
    await shows(page.locator('.tip'), /Appends/)
    const latest = page.getByRole('region', { name: 'Latest events' })
    await latest.getByText('Live', { exact: true }).waitFor()
    await append(page, 'fresh', [{ type: 'OrderDrafted', data: { total: 1 } }])
    await latest.getByRole('link', { name: /OrderDrafted.*order fresh/ }).waitFor()
    await shows(figure('Feed position'), /^35$/)
    await page.locator('main').press('Escape')
    await page.evaluate(() => scrollTo(0, 0))
    await look(page, 'overview')
    await narrow(page, 'overview')
    await latest.getByRole('link', { name: /OrderDrafted/ }).click()
    await page.waitForURL('**/events/order/fresh?at=1')
    await page.goBack()
    await page.getByRole('region', { name: 'Types' }).getByRole('link', { name: 'order' }).click()
    await page.waitForURL('**/events/order')
  },
  // The list is sorted, filtered and searched by the server; the URL keeps all of it.
  async aggregates(page) {
    const { csrf } = await (await page.request.get(server + '/api/v1/me')).json()
    assert.equal((await page.request.post(server + '/api/v1/events/aggregates/order/1030/close', { headers: { 'X-CSRF-Token': csrf } })).status(), 204)
    await page.goto(server + '/events/order')
    await page.getByRole('link', { name: '1001', exact: true }).waitFor()
    const ids = () => page.locator('tbody td:first-child a').allTextContents()
    const list = (what, want) => until(what, async () => (await ids()).join() === want)
    await look(page, 'aggregates')
    await narrow(page, 'aggregates')
    await page.getByRole('button', { name: 'Events' }).click()
    await page.waitForURL('**?sort=-events')
    await until('the longest stream first', async () => (await ids())[0] === '1001')
    await page.locator('th[aria-sort=descending]', { hasText: 'Events' }).waitFor()
    await page.getByRole('button', { name: 'Last append' }).click()
    await until('the latest stream first', async () => (await ids())[0] === '1030')
    await page.getByRole('button', { name: 'ID' }).click()
    await until('the first ID first', async () => (await ids())[0] !== '1030')
    await page.getByRole('button', { name: 'ID' }).click()
    await until('the last ID first', async () => (await ids())[0] === 'fresh')
    await page.getByLabel('State').selectOption('Closed')
    await list('the closed one', '1030')
    await page.waitForURL('**?sort=-id&state=closed')
    await page.keyboard.press('/')
    await page.keyboard.type('Knuth')
    await page.getByText('No matching aggregates').waitFor()
    await page.getByText('No ID of the type order in the state closed begins with “Knuth”').waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    await look(page, 'no-match')
    await page.keyboard.press('Enter')
    await page.waitForURL('**prefix=Knuth**')
    assert.equal(new URL(page.url()).pathname, '/events/order')
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.getByRole('link', { name: '1001', exact: true }).waitFor()
    await page.keyboard.type('100') // the search has the focus
    await list('those that begin with 100', '1009,1008,1007,1006,1005,1004,1003,1002,1001')
    await page.keyboard.type('1')
    await list('the one', '1001')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/events/order/1001')
  },
  // A list of more than a page.
  async pages(page) {
    for (let i = 0; i < 120; i++) {
      const answer = await page.request.post(`${server}/api/v1/events/aggregates/parcel/p${String(i).padStart(3, '0')}/events`, { data: { events: [{ type: 'Packed' }] }, headers: { Authorization: 'Bearer ' + key } })
      assert.equal(answer.status(), 201)
    }
    await page.goto(server + '/events/parcel')
    const rows = (n) => page.waitForFunction((n) => document.querySelectorAll('tbody tr').length === n, n)
    await rows(100)
    await page.getByRole('button', { name: 'Show more' }).click()
    await rows(120)
    await page.getByRole('button', { name: 'Show more' }).waitFor({ state: 'detached' })
    await until('both types', async () => (await (await page.request.get(server + '/api/v1/events/types')).json()).types.length === 2)
    await page.goto(server + '/events/parcel')
    await page.getByLabel('Type').selectOption('order')
    await page.waitForURL('**/events/order')
    await page.goto(server + '/events/nothing')
    await page.getByText('No aggregates of the type nothing').waitFor()
    await page.getByRole('link', { name: 'All types' }).click()
    await page.waitForURL('**/events')
  },
  // Events with a correlation ID are shown below what caused them, as far as the feed was searched.
  async correlation(page) {
    const send = async (type, id, event) => {
      const answer = await page.request.post(`${server}/api/v1/events/aggregates/${type}/${id}/events`, { data: { events: [event] }, headers: { Authorization: 'Bearer ' + key } })
      assert.equal(answer.status(), 201)
      const { events } = await (await page.request.get(`${server}/api/v1/events/aggregates/${type}/${id}/events?backwards=true&limit=1`)).json()
      return events[0].id
    }
    const one = await send('checkout', 'c-1', { type: 'CheckoutStarted', correlationId: 'buy-1', causationId: 'command-7', data: { cart: 3 } })
    const two = await send('order', 'o-1', { type: 'OrderPlaced', correlationId: 'buy-1', causationId: one, data: { total: 71.25, currency: 'EUR' } })
    const three = await send('payment', 'pay-1', { type: 'PaymentRequested', correlationId: 'buy-1', causationId: two, data: { amount: 71.25 } })
    await send('payment', 'pay-1', { type: 'PaymentReceived', correlationId: 'buy-1', causationId: three, data: { method: 'card' } })
    await send('stock', 'tea-01', { type: 'StockReserved', correlationId: 'buy-1', causationId: two, data: { quantity: 2 } })
    await send('customer', 'c-9', { type: 'CustomerCounted', correlationId: 'buy-1', causationId: one })
    await until('all of it is in the feed', async () => (await (await page.request.get(server + '/api/v1/events/correlated?id=buy-1')).json()).events.length === 6)
    await page.goto(server + '/events/order/o-1')
    await page.getByRole('link', { name: 'buy-1' }).click()
    await page.waitForURL('**/correlations?id=buy-1**')
    const card = page.getByRole('region', { name: 'Causation' })
    await until('six events', async () => await card.locator('a.event').count() === 6)
    assert.deepEqual(await card.locator('a.event b').allTextContents(), ['CheckoutStarted', 'OrderPlaced', 'PaymentRequested', 'PaymentReceived', 'StockReserved', 'CustomerCounted'])
    await card.getByText('Caused by command-7').waitFor()
    await page.getByText('6 events of 5 aggregates, from').waitFor()
    await card.getByText(/Searched the whole feed: \d+ appends/).waitFor()
    await look(page, 'correlation')
    await narrow(page, 'correlation')
    await card.getByRole('link', { name: /PaymentReceived/ }).click()
    await page.waitForURL('**/events/payment/pay-1?at=2')
    await page.goto(server + '/correlations?id=nothing')
    await page.getByText('No events with this ID').waitFor()
    await look(page, 'correlation-none')
    // After five hundred other appends the beginning is out of reach, and the page says so.
    for (let i = 0; i < 10; i++) {
      await Promise.all(Array.from({ length: 55 }, async (_, n) => {
        const answer = await page.request.post(`${server}/api/v1/events/aggregates/noise/n-${n}/events`, { data: { events: [{ type: 'Heard' }] }, headers: { Authorization: 'Bearer ' + key } })
        assert.equal(answer.status(), 201)
      }))
    }
    const { position } = await (await page.request.get(server + '/api/v1/events/feed/head')).json()
    assert.ok(position > 0)
    await until('the noise is in the feed', async () => (await (await page.request.get(server + '/api/v1/events/correlated?id=buy-1')).json()).events.length === 0)
    await page.goto(server + '/correlations?id=buy-1')
    await page.getByText('No events with this ID here').waitFor()
    await page.getByText(/Searched appends [\d,]+ to [\d,]+ of/).waitFor()
    await look(page, 'correlation-part')
    await page.getByRole('button', { name: 'Look further back' }).click()
    await until('six events again', async () => await card.locator('a.event').count() === 6)
    // From an event, the search begins around it.
    await page.goto(server + '/events/order/1001?at=1')
    await page.getByRole('link', { name: 'visit-1', exact: true }).click()
    await until('its event', async () => await card.locator('a.event').count() === 1)
    await card.getByText(/Searched appends 1 to \d+ of/).waitFor()
    await look(page, 'correlation-ahead')
    await page.getByRole('button', { name: 'Look further ahead' }).click()
    await card.getByText(/Searched the whole feed/).waitFor()
    assert.equal(await card.getByRole('button').count(), 0)
  },
  // Projections are rebuilt, and what they cannot apply is retried. The onefold program has none.
  async projections(page) {
    if (!(await projections(page)).length) {
      await page.goto(server + '/projections')
      await page.getByText('No projections').waitFor()
      return
    }
    await append(page, '1003', [{ type: 'OrderLost', data: { where: 'at sea' } }])
    await page.goto(server + '/events')
    await page.getByRole('region', { name: 'Projections' }).getByText('Not built').first().waitFor()
    await page.getByRole('navigation', { name: 'Event store' }).getByRole('link', { name: 'Projections' }).click()
    await page.waitForURL('**/projections')
    const card = (name) => page.getByRole('region', { name, exact: true })
    await card('totals').getByText('No version is active').waitFor()
    await look(page, 'projections-none')
    for (const name of ['totals', 'shipments']) {
      await card(name).getByRole('button', { name: 'Rebuild' }).click()
      if (name === 'totals') await look(page, 'projections-ask')
      await page.getByRole('dialog').getByRole('button', { name: 'Rebuild' }).click()
    }
    await card('totals').getByText('Up to date').waitFor()
    await card('totals').getByText(/Rebuilt just now\. \d+ read models built\./).waitFor()
    await card('shipments').getByText('1 parked').waitFor()
    await card('shipments').getByText('1 without the events that cannot be applied').waitFor()
    await card('shipments').getByText(/an order is lost before it is shipped/).waitFor()
    await card('shipments').getByRole('button', { name: 'Retry', exact: true }).click()
    await card('shipments').getByText('1 aggregate still cannot be applied').waitFor()
    await look(page, 'projections')
    await narrow(page, 'projections')
    await card('shipments').getByRole('link', { name: 'order 1003' }).click()
    await page.waitForURL('**/events/order/1003?at=2')
    await page.getByRole('heading', { name: 'OrderLost' }).waitFor()
  },
  // A subscription's failing event is parked, tried again, and discarded.
  async subscriptions(page) {
    await page.goto(server + '/events')
    await page.getByRole('navigation', { name: 'Event store' }).getByRole('link', { name: 'Subscriptions' }).click()
    await page.waitForURL('**/subscriptions')
    const listed = (await (await page.request.get(server + '/api/v1/events/subscriptions')).json()).subscriptions
    if (!listed.length) {
      await page.getByText('No subscriptions').waitFor()
      await look(page, 'subscriptions-none')
      return
    }
    await append(page, '1004', [{ type: 'OrderLost', data: { where: 'in the desert' } }])
    await pulls(page, 'labels')
    const card = page.getByRole('region', { name: 'mails', exact: true })
    await card.getByText('mailbox unavailable').first().waitFor()
    const labels = page.getByRole('region', { name: 'labels', exact: true })
    await labels.getByText('Pulled over HTTP').waitFor()
    await labels.getByText('2 events').waitFor() // in flight
    await labels.getByText('printer is out of paper').waitFor()
    await card.getByText('Run by a program').waitFor()
    await look(page, 'subscriptions')
    await narrow(page, 'subscriptions')
    await card.getByRole('button', { name: 'Retry', exact: true }).click()
    await card.getByText(/Asked to retry \d aggregates?\./).waitFor()
    await card.getByText('2 attempts').first().waitFor()
    await card.getByRole('button', { name: 'Discard…' }).click()
    await look(page, 'subscriptions-discard')
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await card.getByText(/Discarded \d events?\./).waitFor()
    await card.getByText('Up to date').waitFor()
  },
  // Read a stream, its state at a version, and the difference between two versions.
  async stream(page) {
    await page.goto(server + '/events/order/1001')
    await page.getByText('5 events').waitFor()
    await page.getByRole('heading', { name: 'order 1001', exact: true }).waitFor()
    await page.waitForFunction(() => document.title.startsWith('order 1001'))
    await page.getByRole('heading', { name: 'OrderShipped' }).waitFor()
    const named = page.locator('.envelope')
    await named.getByText('Event ID').waitFor()
    assert.equal(await named.getByText(/^(Commit|Append)$/).count(), 0) // the append has no ID of its own
    await look(page, 'stream')
    await narrow(page, 'stream')
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
    await page.getByText('No such aggregate').waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    await look(page, 'missing')
    await narrow(page, 'missing')
    await page.getByRole('link', { name: 'Search IDs that begin like this' }).click()
    await page.getByText('No matching aggregates').waitFor()
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.getByRole('link', { name: '1001', exact: true }).waitFor()
  },
  async small(page) {
    for (const theme of ['light', 'dark']) {
      await page.setViewportSize(theme === 'light' ? { width: 390, height: 844 } : { width: 1360, height: 900 })
      await page.goto(server + '/events')
      await settled(page)
      const dark = await page.evaluate(() => document.documentElement.dataset.theme === 'dark')
      if (dark !== (theme === 'dark')) await page.getByRole('button', { name: new RegExp(`${theme} theme`) }).click()
      for (const [name, path] of [['overview', '/events'], ['projections', '/projections'], ['subscriptions', '/subscriptions'], ['correlation', '/correlations?id=visit-1'], ['aggregates', '/events/order'], ['stream', '/events/order/1001'], ['state', '/events/order/1001?at=4&show=state'], ['changes', '/events/order/1001?show=changes&since=1']]) {
        await page.goto(server + path)
        await settled(page)
        assert.ok(await wide(page) <= 0, `${name} is ${await wide(page)} px wider than the screen (${theme})`)
        await look(page, `${theme}-${name}`)
      }
    }
  },
}

await walk(steps, shots)
