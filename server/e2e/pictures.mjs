// Takes the README's pictures of the dashboard from a demo that it starts, in light and dark.
//   CHROMIUM=PATH node pictures.mjs ONEFOLD DIRECTORY
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join as file } from 'node:path'
import { createInterface } from 'node:readline'
import { settled, withBrowser } from './chromium.mjs'

const [onefold, directory] = process.argv.slice(2)

// demo starts a demo. It returns the process and what it prints last: address, email address and
// password.
async function demo() {
  const process = spawn(onefold, ['demo', '--addr', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const found = {}
  for await (const line of createInterface({ input: process.stdout })) {
    const [, name, value] = /^\s*(dashboard is at|log in as|password)\s+(\S+)/.exec(line.replace(/^The /, '')) ?? []
    if (name) found[name] = value
    if (found.password) break
  }
  assert.ok(found.password, 'the demo ended before it was ready')
  return { process, url: found['dashboard is at'], email: found['log in as'], password: found.password }
}

async function pictures({ url, email, password }, scheme) {
  await withBrowser({ colorScheme: scheme, viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1 }, async (context) => {
    const page = context.pages()[0] ?? await context.newPage()
    await page.goto(url)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
    await page.goto(new URL('/sites/tea-shop', url).href)
    await page.locator('.figure', { hasText: /^Visits/ }).waitFor()
    await settled(page)
    await page.screenshot({ path: file(directory, `dashboard-${scheme}.png`) })
  })
}

const running = await demo()
try {
  for (const scheme of ['light', 'dark']) await pictures(running, scheme)
} finally {
  if (running.process.exitCode === null) {
    const ended = new Promise((done) => { running.process.once('exit', done) })
    running.process.kill('SIGINT')
    await ended
  }
}
