// How people log in, with codes of an authenticator app, recovery codes and passkeys, and end sessions elsewhere, for
// signin_browser_test.go.
//   node signin.mjs SERVER SETUP-TOKEN [DIRECTORY FOR SCREENSHOTS]
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { looking, patience, setUp, until, walk } from './chromium.mjs'

const [server, token, shots] = process.argv.slice(2)
const password = 'a sentence that nobody guesses'
const look = looking('signin', shots)

// code returns the code of an app, the given number of 30-second steps from now (RFC 6238).
function code(secret, steps = 0) {
  const bits = [...secret.replaceAll('=', '')].map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps))
  const sum = createHmac('sha1', key).update(counter).digest()
  return String((sum.readUInt32BE(sum[19] & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

async function security(page) {
  await page.goto(server + '/account/security')
  await page.getByRole('region', { name: 'Sessions' }).getByText('this session').waitFor()
}

async function logOut(page) {
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
}

async function logIn(page) {
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in', exact: true }).click()
}

const confirm = async (page, button) => {
  await page.getByRole('dialog').getByLabel('Your password').fill(password)
  await page.getByRole('dialog').getByRole('button', { name: button }).click()
}

let secret, recovery

await walk({
  async setUp(page) {
    await setUp(page, server, token)
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
    await security(page)
    await look(page, 'security')
  },
  async authenticatorApp(page) {
    const app = page.getByRole('region', { name: 'Authenticator app' })
    await app.getByRole('button', { name: 'Set up' }).click()
    await page.getByRole('dialog').getByLabel('Your password').fill('not the password')
    await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('alert').getByText('The password is wrong.').waitFor()
    await look(page, 'confirm-it-is-you')
    await confirm(page, 'Continue')
    await app.getByRole('img', { name: /QR code/ }).waitFor()
    await until('the QR code', () => app.getByRole('img').evaluate((i) => i.complete && i.naturalWidth > 0))
    secret = await app.locator('code').textContent()
    await look(page, 'enrol')
    await app.getByLabel('Code from the app').fill('000000')
    await app.getByRole('button', { name: 'Turn on' }).click()
    await app.getByRole('alert').getByText('The code is wrong').waitFor()
    await app.getByLabel('Code from the app').fill(code(secret))
    await app.getByRole('button', { name: 'Turn on' }).click()
    await app.getByText('10 of 10 recovery codes are left').waitFor()
    recovery = (await app.locator('.codes').textContent()).split('\n')
    assert.equal(recovery.length, 10)
    await look(page, 'recovery-codes')
  },
  async codes(page) {
    await logOut(page)
    await logIn(page)
    await page.getByRole('heading', { name: 'Enter a code' }).waitFor()
    await look(page, 'code')
    await page.getByLabel('Code').fill('000000')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').getByText('The code is wrong').waitFor()
    await page.getByLabel('Code').fill(code(secret, 1)) // the current step may be the one that turned it on
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
    await logOut(page)
    await logIn(page)
    await page.getByLabel('Code').fill(recovery[4])
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
    await security(page)
    await page.getByText('9 of 10 recovery codes are left').waitFor()
  },
  async passkeys(page) {
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options: {
      protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true,
    } })
    const passkeys = page.getByRole('region', { name: 'Passkeys' })
    const add = async (name) => {
      await passkeys.getByRole('button', { name: 'Add a passkey' }).click()
      await page.getByRole('dialog').getByLabel('Name').fill(name)
      await confirm(page, 'Continue')
    }
    await add('Laptop')
    await passkeys.getByRole('listitem').getByText('Laptop').waitFor()
    await add('Laptop again')
    await page.getByRole('alert').getByText('This device already has a passkey for this account.').waitFor()
    await page.keyboard.press('Escape')
    await passkeys.getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Work laptop')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await passkeys.getByRole('listitem').getByText('Work laptop').waitFor()
    await look(page, 'passkeys')
    await page.getByRole('button', { name: 'Use the dark theme' }).click()
    await look(page, 'passkeys-dark')
    await logOut(page)
    await look(page, 'login-dark')
    const enter = page.getByRole('button', { name: 'Log in with a passkey' })
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
    await enter.click()
    await page.getByRole('alert').waitFor()
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
    await enter.click()
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
    await page.getByRole('button', { name: 'Use the light theme' }).click()
    await security(page)
    await page.getByText('by passkey').waitFor()
    await passkeys.getByText('last used').waitFor()
    await passkeys.getByRole('button', { name: 'Remove' }).click()
    await passkeys.getByRole('listitem').waitFor({ state: 'detached' })
  },
  async sessions(page) {
    const context = await page.context().browser().newContext({ reducedMotion: 'reduce' })
    context.setDefaultTimeout(patience)
    const other = await context.newPage()
    await other.goto(server + '/')
    await logIn(other)
    await other.getByLabel('Code').fill(recovery[7])
    await other.getByRole('button', { name: 'Log in' }).click()
    await other.getByRole('heading', { name: 'Sites' }).waitFor()
    await security(page)
    const sessions = page.getByRole('region', { name: 'Sessions' })
    await sessions.getByRole('listitem').nth(1).waitFor()
    await look(page, 'sessions')
    await sessions.getByRole('listitem').filter({ hasText: 'by recovery code' }).getByRole('button', { name: 'End', exact: true }).click()
    await sessions.getByText('by recovery code').waitFor({ state: 'detached' })
    await other.goto(server + '/account/security')
    await other.getByRole('heading', { name: 'Log in' }).waitFor()
    await context.close()
    await sessions.getByRole('button', { name: 'End all other sessions' }).click()
    await page.waitForFunction(() => document.querySelectorAll('[aria-label=Sessions] li').length === 1)
    await page.getByRole('region', { name: 'Authenticator app' }).getByRole('button', { name: 'Remove' }).click()
    await confirm(page, 'Remove')
    await page.getByRole('button', { name: 'Set up' }).waitFor()
    await logOut(page)
    await logIn(page)
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
  },
  // An owner adds a person, whose first password must be changed, and who later forgets the new one.
  async forgotten(page) {
    await page.goto(server + '/account/people')
    await page.getByLabel('Name').fill('Bob')
    await page.getByLabel('Email').fill('bob@example.com')
    await page.getByLabel('Initial password').fill('chosen by somebody else')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('button', { name: 'Create password link for Bob' }).waitFor()
    const context = await page.context().browser().newContext({ reducedMotion: 'reduce' })
    context.setDefaultTimeout(patience)
    const bob = await context.newPage()
    const enter = async (with_) => {
      await bob.getByLabel('Email').fill('bob@example.com')
      await bob.getByLabel('Password', { exact: true }).fill(with_)
      await bob.getByRole('button', { name: 'Log in', exact: true }).click()
    }
    await bob.goto(server + '/')
    await enter('chosen by somebody else')
    await bob.getByRole('heading', { name: 'Choose your own password' }).waitFor()
    await look(bob, 'first-password')
    await bob.getByLabel('Current password').fill('chosen by somebody else')
    await bob.getByLabel('New password').fill('chosen by bob himself')
    await bob.getByRole('button', { name: 'Set password' }).click()
    await bob.getByRole('heading', { name: 'Sites' }).waitFor()
    await logOut(bob)
    await bob.getByRole('button', { name: 'Forgot password?' }).click()
    await bob.getByText('Ask an owner for a link').waitFor()
    await look(bob, 'forgotten')
    await page.getByRole('button', { name: 'Create password link for Bob' }).click()
    const link = await page.locator('.made code').textContent()
    await look(page, 'password-link')
    await bob.goto(link)
    await bob.getByLabel('New password').fill('the third password')
    assert.ok(!bob.url().includes('ofr_'), 'the token stays in the address')
    await look(bob, 'reset')
    await bob.reload()
    await bob.getByText('Open the link again').waitFor() // the link is still valid
    await look(bob, 'reset-reloaded')
    await bob.goto(server + '/reset#%')
    await bob.getByText('This link is no longer valid').waitFor()
    await bob.goto(link)
    await bob.getByLabel('New password').fill('the third password')
    await bob.getByRole('button', { name: 'Set password' }).click()
    await bob.getByRole('heading', { name: 'Password changed' }).waitFor()
    await bob.getByRole('button', { name: 'Log in' }).click()
    await enter('the third password')
    await bob.getByRole('heading', { name: 'Sites' }).waitFor()
    await bob.goto(link)
    await bob.getByText('This link is no longer valid').waitFor()
    await context.close()
  },
}, shots)
