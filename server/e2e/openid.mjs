// How people log in with an OpenID provider, for signin_browser_test.go. The provider shows pages of its own.
//   node openid.mjs SERVER SETUP-TOKEN [DIRECTORY FOR SCREENSHOTS]
import { looking, setUp, walk } from './chromium.mjs'

const [server, token, shots] = process.argv.slice(2)
const look = looking('openid', shots)
const provider = (page) => page.getByRole('link', { name: 'Log in with Example' })

async function logOut(page) {
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
}

async function atTheProvider(page, subject) {
  await page.locator('input[name=login]').fill(subject)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.locator('input[name=prompt][value=consent]').waitFor({ state: 'attached' })
  await page.locator('button[type=submit]').click()
}

await walk({
  async nobodyHere(page) {
    await setUp(page, server, token)
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
    await logOut(page)
    await look(page, 'login')
    await provider(page).click()
    await atTheProvider(page, 'bob')
    await page.getByRole('alert').getByText('You have no account here.').waitFor()
    await look(page, 'no-account')
    await page.context().clearCookies() // the provider would remember the person
  },
  async cancelled(page) {
    await page.goto(server + '/account/security')
    await provider(page).click()
    await page.getByRole('link', { name: /Cancel/ }).click()
    await page.getByRole('alert').getByText('The login at Example was cancelled.').waitFor()
  },
  async backToThePage(page) {
    await page.goto(server + '/account/security')
    await provider(page).click()
    await atTheProvider(page, 'ada')
    await page.getByRole('region', { name: 'Sessions' }).getByText('by OpenID').waitFor()
    await look(page, 'logged-in')
    await logOut(page)
    await provider(page).click() // and neither password nor consent are requested again
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
  },
}, shots)
