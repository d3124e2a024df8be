// One visitor's way through the applications of server/clients/tracker/test/pages, which count with the npm
// package. The test counts what arrives.
//   node package.mjs PAGES
import assert from 'node:assert/strict'
import { read, until, withBrowser } from './chromium.mjs'

const pages = process.argv[2]

const press = (page, name) => page.getByRole('button', { name, exact: true }).click()

const steps = {
  // Calls before init, all functions, opting out and in.
  async plain(page) {
    const warned = page.waitForEvent('console', (m) => m.type() === 'warning')
    await page.goto(pages + '/plain')
    assert.match((await warned).text(), /^onefold: init needs a site and an endpoint/)
    await read(page)
    for (const name of ['Buy', 'Log out']) await press(page, name)
    for (const name of ['Next', 'Turn']) {
      const viewed = page.waitForRequest((r) => r.method() === 'POST' && !r.postData().includes('"name"'))
      await press(page, name)
      await viewed // a page view is sent after a moment, and is not if the visitor has opted out by then
      await read(page)
    }
    for (const name of ['Opt out', 'Choice']) await press(page, name)
    assert.equal(await page.title(), 'opted out')
    assert.deepEqual(await page.evaluate(() => ({ ...localStorage })), { onefold_ignore: '1' })
    await page.goto(pages + '/plain') // the choice outlives the page
    await page.waitForFunction(() => window.onefold?.v)
    await press(page, 'Buy')
    for (const name of ['Opt in', 'Choice']) await press(page, name)
    assert.equal(await page.title(), 'counted')
    assert.equal(await page.evaluate(() => localStorage.length), 0)
    await read(page)
    await page.goto('about:blank')
  },
  // The page has the script as well.
  async both(page) {
    await page.goto(pages + '/both')
    await page.waitForFunction(() => document.querySelector('script[src$="onefold.js"]') && performance.getEntriesByType('resource').some((r) => r.name.endsWith('onefold.js')))
    await read(page)
    await page.goto('about:blank')
  },
  async react(page) {
    const vitals = page.waitForEvent('requestfinished', (r) => /vitals/.test(r.url()))
    await page.goto(pages + '/react')
    await vitals
    await read(page)
    for (const name of ['Sign up', 'Log out']) await press(page, name)
    await read(page)
    await page.goto('about:blank')
  },
  vue: (page) => directives(page, '/vue'),
  svelte: (page) => directives(page, '/svelte'),
}

// directives presses the buttons of a page whose framework counts clicks, before and after the framework has
// changed what a click counts.
async function directives(page, path) {
  await page.goto(pages + path)
  await read(page)
  for (const name of ['Sign up', 'Change', 'Sign up', 'Next']) await press(page, name)
  await read(page)
  await page.goto('about:blank')
}

await withBrowser({}, async (context) => {
  const page = await context.newPage()
  const failed = []
  page.on('pageerror', (e) => failed.push(e.stack))
  for (const [name, step] of Object.entries(steps)) {
    try {
      await step(page)
      assert.deepEqual(failed, [])
    } catch (e) {
      throw new Error(name + ': ' + e.message)
    }
  }
  await page.goto(pages + '/settled') // responds when everything has arrived
  await until('all events', async () => (await page.textContent('body')) === 'settled')
})
