// Starts the Chromium of this machine, with a directory of its own that is removed at the end.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

// A browser that says it is headless is a bot, and not counted. Beacons heed only what the browser was started with.
const userAgent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

const args = [
  '--no-sandbox', '--headless', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--user-agent=' + userAgent,
]

// withBrowser runs steps in a fresh browser context.
export async function withBrowser(options, steps) {
  const directory = await mkdtemp(join(tmpdir(), 'onefold-chromium-'))
  try {
    const context = await chromium.launchPersistentContext(directory, {
      executablePath: process.env.CHROMIUM, args, viewport: { width: 1280, height: 800 }, ...options,
    })
    try {
      context.setDefaultTimeout(30_000)
      await steps(context)
    } finally {
      await context.close()
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
