// Starts the installed Chromium with a profile directory of its own, which is removed at the end.
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join as path } from 'node:path'
import { chromium } from 'playwright-core'

// A browser that identifies itself as headless is a bot and is not counted. Beacons use only the
// user agent from the command line.
const userAgent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

const args = [
  '--no-sandbox', '--headless', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--user-agent=' + userAgent,
]

// patience is how long to wait for a state, in milliseconds. A state that comes at all comes much
// sooner, even on a busy machine.
export const patience = 120_000

// until polls until holds() is true, and fails with a message that says what did not happen.
export async function until(what, holds) {
  for (const end = Date.now() + patience; !(await holds());) {
    assert.ok(Date.now() < end, `it does not come: ${what}`)
    await new Promise((done) => { setTimeout(done, 50) })
  }
}

// shows waits until the text of an element matches. An element that is there already may still have
// the text of a moment ago.
export async function shows(element, pattern) {
  let text
  try {
    await until('', async () => pattern.test(text = await element.textContent()))
  } catch (e) {
    assert.match(text ?? e.message, pattern)
  }
}

// read waits until the tracker has seen the page in the foreground for a moment, so that leaving it
// reports engagement.
export const read = page => page.evaluate(async moment => {
  const seen = () => window.onefold?.v && !document.hidden && document.hasFocus()
  for (let since = performance.now(); performance.now() - since < moment;) {
    await new Promise(requestAnimationFrame)
    if (!seen()) since = performance.now()
  }
}, 150)

// withBrowser runs steps in a fresh browser context.
export async function withBrowser(options, steps) {
  const directory = await mkdtemp(path(tmpdir(), 'onefold-chromium-'))
  try {
    const context = await chromium.launchPersistentContext(directory, {
      executablePath: process.env.CHROMIUM, args, viewport: { width: 1280, height: 800 }, ...options,
    })
    try {
      context.setDefaultTimeout(patience)
      await steps(context)
    } finally {
      await context.close()
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const axe = await readFile(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

// still waits until nothing is loading and no animation is running: half-faded elements have too
// little contrast.
const still = (page) => page.waitForFunction(() => !document.querySelector('[aria-busy="true"], .skeleton') &&
  !document.getAnimations().some((a) => a.playState === 'running' && Number.isFinite(a.effect.getComputedTiming().endTime)))

// audited: another run of the script audits the same pages on one server. This run is about several
// servers.
export const audited = process.env.ONEFOLD_TEST_AUDITED === '1'

// accessible waits until a page is still, and fails if axe finds serious violations. On a busy
// machine, axe takes so long that an animation may start meanwhile. A violation that is gone when
// the page is still again does not count.
export async function accessible(page, where) {
  if (audited) return still(page)
  let serious
  for (let attempt = 0; attempt < 5; attempt++) {
    await still(page)
    await page.evaluate(axe)
    const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }))
    serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
    if (serious.length === 0) return
  }
  assert.deepEqual(serious.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).slice(0, 3).join(' | ')}`), [], where)
}

// settled waits until nothing is loading.
export const settled = (page) => page.waitForFunction(() => !document.querySelector('[aria-busy="true"], .skeleton'))

// wide returns by how many pixels a page is wider than the screen. Charts take a new width of the screen
// in a later frame, so it first waits until the page fits. A page that never does stays too wide.
export const wide = async (page) => {
  const over = () => document.documentElement.scrollWidth - document.documentElement.clientWidth
  await page.waitForFunction(`(${over})() <= 0`).catch(() => {})
  return page.evaluate(over)
}

// looking returns a function that checks accessibility and, if wanted, takes a screenshot: of the
// full page, unless whole says that it is too high.
export const looking = (of, shots, whole = () => true) => async (page, name) => {
  await accessible(page, name)
  if (shots) await page.screenshot({ path: path(shots, `${of}-${name}.png`), fullPage: whole(page) })
}

// setUp creates the first account, and waits until it is logged in: leaving the page earlier cancels that.
export async function setUp(page, server, token, name = 'Ada Lovelace') {
  await page.goto(server + '/setup#' + token)
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password').fill('a sentence that nobody guesses')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.waitForURL((url) => url.pathname !== '/setup')
}

// invite invites bob on a page or dialog of people, and returns his link.
export async function invite(people) {
  await people.getByLabel('Email').fill('bob@example.com')
  await people.getByRole('button', { name: 'Invite' }).click()
  const link = await people.locator('.made code').textContent()
  await people.getByText('invited as viewer').waitFor()
  return link
}

// join opens the link as bob in a new browser and creates an account, after seen has inspected the
// invitation. The caller must close the guest's context.
export async function join(page, link, seen) {
  const other = await page.context().browser().newContext({ reducedMotion: 'reduce' })
  other.setDefaultTimeout(patience)
  const guest = await other.newPage()
  await guest.goto(link)
  await seen(guest)
  await guest.getByLabel('Name').fill('Bob')
  await guest.getByLabel('Password').fill('a long enough password')
  await guest.getByRole('button', { name: 'Create account' }).click()
  return guest
}

const bob = (people) => people.getByLabel('Role of bob@example.com')

// promote makes bob an admin. The list shows that at once; the change is stored when the server has
// responded.
export async function promote(page, people) {
  const stored = page.waitForResponse((r) => r.request().method() === 'PATCH' && r.url().includes('/members/'))
  await bob(people).selectOption('admin')
  assert.ok((await stored).ok(), 'the role is refused')
  await settled(page)
}

// dismiss removes bob's role.
export async function dismiss(people) {
  await people.getByRole('button', { name: 'Remove' }).click()
  await bob(people).waitFor({ state: 'detached' })
}

// walk runs steps in one page. If a step fails, it says which, and takes a screenshot if wanted.
// Errors in the browser's console fail the step in which they occur.
export async function walk(steps, shots) {
  await withBrowser({ reducedMotion: 'reduce' }, async (context) => {
    const page = await context.newPage()
    const refused = []
    page.on('console', (m) => { if (/Content Security Policy|Unhandled|Uncaught/.test(m.text())) refused.push(m.text()) })
    page.on('pageerror', (e) => refused.push(e.stack))
    for (const [name, step] of Object.entries(steps)) {
      const began = Date.now()
      try {
        await step(page)
        assert.deepEqual(refused, [], 'what the browser complained of')
      } catch (e) {
        if (shots) await page.screenshot({ path: path(shots, 'failed-' + name + '.png') })
        throw new Error(`${name}: ${e.message} (at ${page.url()})`)
      }
      console.log(name, Date.now() - began, 'ms')
    }
  })
}

// tabs opens every tab of the current page, each of which must load, and returns their names.
export async function tabs(page, server) {
  const refused = []
  const listen = r => { if (r.url().startsWith(server + '/api/v1/sites/') && r.status() >= 400) refused.push(`${r.status()} ${r.url()}`) }
  page.on('response', listen)
  await page.locator('header nav a').first().waitFor()
  const names = await page.locator('header nav a').allTextContents()
  for (const name of names) {
    await page.locator('header nav').getByRole('link', { name, exact: true }).click()
    await page.locator('header nav a[aria-current=page]', { hasText: name }).waitFor()
    await page.waitForFunction(() => document.querySelector('main h1') && !document.querySelector('main .skeleton, main [aria-busy=true]'))
    assert.equal(await page.getByRole('alert').count(), 0, `${name} shows a failure`)
    assert.deepEqual(refused, [], `${name} asks for what is refused`)
  }
  page.off('response', listen)
  return names
}
