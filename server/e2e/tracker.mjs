// One visitor's way through the pages of tracker_browser_test.go. The test counts what arrives.
//   node tracker.mjs PAGES
import { read, until, withBrowser } from './chromium.mjs'

const pages = process.argv[2]

const steps = {
  // Pages loaded one after the other, links that lead away, and the end.
  async walk(page) {
    await page.goto(pages.replace('127.0.0.1', 'localhost') + '/elsewhere') // another host
    await page.click('#back')
    await page.waitForURL(/utm_source/)
    await read(page)
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
    await read(page)
    await page.click('#about')
    await page.waitForURL('**/about')
    await read(page)
    await page.click('#file')
    await page.click('#away')
    await page.waitForURL('**/elsewhere*')
  },
  // An application that changes its URL by itself.
  async application(page) {
    await page.goto(pages + '/app')
    await read(page)
    await page.click('#push')
    await read(page)
    await page.click('#same')
    await page.click('#deep')
    await read(page)
    await page.goBack()
    await read(page)
    await page.goto('about:blank')
  },
  async hashes(page) {
    await page.goto(pages + '/hash#/start')
    await page.click('#next')
    await page.waitForURL(/#.next/)
    await page.goto('about:blank')
  },
  // Calls before the script is loaded, properties that are not text, revenue, users.
  async calls(page) {
    await page.goto(pages + '/calls')
    await page.waitForFunction(() => window.onefold.v)
    await page.evaluate(() => {
      onefold('purchase', { props: { plan: 'pro', seats: 3, trial: false, coupon: null }, revenue: 12.5 })
      onefold('order', { revenue: 8, currency: null, id: 'order-7', site: 'other', url: '/elsewhere', at: 'noon', check: '1' }) // only documented fields are sent
      onefold('identify', { id: 7 })
      onefold('seen', null)
      onefold('identify', { id: null }) // logged out
    })
    await page.goto('about:blank')
  },
  // A query that is longer than the server accepts.
  async long(page) {
    await page.goto(pages + '/long?token=' + 'x'.repeat(6000))
    await read(page)
    await page.goto('about:blank')
  },
  async missing(page) {
    await page.goto(pages + '/missing')
    await page.goto('about:blank')
  },
  // A server that stores an event but returns an error: the same event is sent again, and counts
  // once.
  async lossy(page) {
    const answers = []
    page.on('response', r => r.url().endsWith('/lossy/event') && answers.push(r.status()))
    const seen = (...want) => until(`the answers ${want}`, () => answers.join() == want.join())
    await page.goto(pages + '/lossy')
    await seen(503, 202)
    await page.evaluate(() => onefold('once'))
    await seen(503, 202, 503)
    await page.goto('about:blank') // before the retry: the page sends it as it closes
  },
  async twice(page) {
    await page.goto(pages + '/twice')
    await page.goto('about:blank')
  },
  async inserted(page) {
    await page.goto(pages + '/inserted')
    await read(page)
    await page.goto('about:blank')
  },
  async slow(page) {
    await page.goto(pages + '/slow')
    await read(page)
    await page.goto('about:blank')
  },
  async vitals(page) {
    const loaded = page.waitForEvent('requestfinished', r => r.url().endsWith('.vitals.js'))
    await page.goto(pages + '/vitals')
    await loaded
    await read(page)
    await page.click('#button')
    await read(page)
    await page.goto('about:blank')
  },
  // A clock that is a day ahead: the server rejects the event and returns its own time.
  async clock(page) {
    const told = []
    page.on('response', r => r.url().endsWith('/api/event') && told.push(r.status()))
    await page.goto(pages + '/clock')
    await until('a second answer', () => told.length >= 2)
    await page.goto('about:blank')
  },
  // Visitors who opt out are not counted.
  async own(page) {
    await page.goto(pages + '/own?onefold=ignore')
    await page.goto(pages + '/own')
    await page.goto(pages + '/own?onefold=count')
    await page.evaluate(() => { if (localStorage.length) throw new Error('something is kept in the browser') })
    await page.goto('about:blank')
  },
  async asked(page) {
    await page.addInitScript(() => Object.defineProperty(navigator, 'globalPrivacyControl', { value: true }))
    await page.goto(pages + '/respect')
    await page.goto('about:blank')
  },
}

await withBrowser({}, async context => {
  const page = await context.newPage()
  for (const [name, step] of Object.entries(steps)) {
    try {
      await step(page)
    } catch (e) {
      throw new Error(name + ': ' + e.message)
    }
  }
  await page.goto(pages + '/settled') // responds when everything has arrived
  const kept = await context.cookies()
  if (kept.length) throw new Error('cookies were set: ' + JSON.stringify(kept))
})
