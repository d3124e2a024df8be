// Pages on which a tracker could count wrongly or do harm. tracker_limits_test.go serves them and counts what arrives.
//   node tracker_limits.mjs PAGES
import assert from 'node:assert/strict'
import { until, withBrowser } from './chromium.mjs'

const pages = process.argv[2]

const steps = {
  // The script does not load until the page asks for it: the page must not wait for it.
  async held(page) {
    await page.goto(pages + '/held', { waitUntil: 'domcontentloaded' })
    const arrived = page.waitForResponse('**/js/held.js')
    await page.evaluate(() => fetch('/release'))
    await arrived
    await page.waitForFunction(() => window.onefold?.v)
    await page.goto('about:blank')
  },
  // A page that is rendered by a script is empty at first.
  async rendered(page) {
    await page.goto(pages + '/rendered')
    await page.waitForFunction(() => window.onefold?.v)
    await page.evaluate(() => { document.body.innerHTML = '<div style="height: 8000px"></div>' })
    await page.evaluate(() => scrollTo(0, 7000))
    await page.waitForFunction(() => scrollY > 6000)
    await page.evaluate(() => history.pushState(null, '', '/rendered/next')) // the new page begins at its top
    await page.evaluate(() => scrollTo(0, 0))
    await page.goto('about:blank')
  },
  async frames(page) {
    await page.goto(pages + '/frames', { waitUntil: 'load' })
    await page.goto('about:blank')
  },
  async redirected(page) {
    await page.goto(pages + '/redirected')
    await page.waitForFunction(() => location.pathname === '/redirected/there' && window.onefold?.v)
    await page.goto('about:blank')
  },
  // A server that rejects everything for a while.
  async away(page) {
    await page.goto(pages + '/away')
    await page.waitForFunction(() => window.onefold?.v)
    await page.evaluate(() => { onefold('first'); onefold('second') })
    await until('what was refused', () => page.evaluate(async () => (await fetch('/delivered')).ok))
    await page.goto('about:blank')
  },
}

await withBrowser({}, async context => {
  const page = await context.newPage()
  for (const [name, step] of Object.entries(steps)) {
    try {
      await step(page)
    } catch (e) {
      assert.fail(name + ': ' + e.message)
    }
  }
  await page.goto(pages + '/settled')
})
