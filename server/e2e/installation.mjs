// Checks of the installation in the settings of a site, for installation_browser_test.go.
//   node installation.mjs SERVER SETUP-TOKEN PAGES [DIRECTORY FOR SCREENSHOTS]
import { join as file } from 'node:path'
import { accessible, setUp, settled, shows, walk } from './chromium.mjs'

const [server, link, pages, shots] = process.argv.slice(2)
const local = pages.replace('127.0.0.1', 'localhost') // the site's domain

// check checks a page, waits until the report says something, and closes the page.
async function check(page, address, says) {
  const form = page.getByRole('form', { name: 'Check the installation' })
  await form.getByRole('textbox').fill(address)
  const opened = page.context().waitForEvent('page')
  await form.getByRole('button', { name: 'Check' }).click()
  await shows(form.getByRole('status'), says)
  await (await opened).close()
}

await walk({
  async logIn(page) {
    await page.setViewportSize({ width: 1440, height: 900 })
    await setUp(page, server, link)
    await page.goto(server + '/sites/blog/settings/tracking')
    await settled(page)
  },
  good: (page) => check(page, local + '/', /The tracker runs on localhost.*and reaches the server\.\s*Page views from this browser are counted/),
  strict: (page) => check(page, local + '/strict', /Page views from this browser are counted/),
  async shown(page) {
    await accessible(page, 'installation')
    if (shots) await page.screenshot({ path: file(shots, 'installation.png'), fullPage: true })
  },
  domain: (page) => check(page, pages + '/', /The host is not one of the site’s domains/),
  otherSite: (page) => check(page, local + '/other', /The tag has the site ID “shop”\. This site is “blog”\.\s*The server has no site with this ID/),
  none: (page) => check(page, local + '/none', /Waiting for the report/),
  async ignored(page) {
    const other = await page.context().newPage()
    await other.goto(local + '/?onefold=ignore')
    await other.waitForFunction(() => window.onefold?.v)
    await other.close()
    await check(page, local + '/', /This browser is excluded/)
    if (shots) await page.screenshot({ path: file(shots, 'installation-ignored.png'), fullPage: true })
  },
}, shots)
