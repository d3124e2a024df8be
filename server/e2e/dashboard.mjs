// What people do with the dashboard, for dashboard_browser_test.go.
//   node dashboard.mjs SERVER SETUP-TOKEN [DIRECTORY FOR SCREENSHOTS]
import assert from 'node:assert/strict'
import { join as file } from 'node:path'
import { accessible, dismiss, invite, join, promote, settled, shows, tabs, until, walk, wide } from './chromium.mjs'

const [server, setupToken, shots] = process.argv.slice(2)
const password = 'a sentence that nobody guesses'

const shot = async (page, name) => { if (shots) await page.screenshot({ path: file(shots, name + '.png'), fullPage: true }) }
// queried waits until a parameter of the page's URL has a value, or matches, or is absent (null). It
// is read in the page, because the driver may learn of a new URL late.
async function queried(page, parameter, want) {
  const value = () => page.evaluate(name => new URLSearchParams(location.search).get(name), parameter)
  await until(`${parameter} ${want}`, async () => want instanceof RegExp ? want.test(await value() ?? '') : await value() === want)
}

// event is sent by the test instead of the page, so that the browser does not matter.
async function event(page, site, path, more = {}, version = 138) {
  const answer = await page.request.post(server + '/api/event', {
    data: { site, url: 'https://example.com' + path, ...more },
    headers: { 'User-Agent': `Mozilla/5.0 (X11; Linux x86_64; rv:${version}.0) Gecko/20100101 Firefox/${version}.0` },
  })
  assert.equal((await answer.json()).outcomes[0].status, 'stored')
}

// tabsAreSeen waits until every current tab is visible within its row, which scrolls if it is too
// long.
const tabsAreSeen = (page) => page.waitForFunction(() => [...document.querySelectorAll('nav [aria-current]')].every((t) => {
  const tab = t.getBoundingClientRect(), row = t.closest('nav').getBoundingClientRect()
  return tab.left >= row.left - 1 && tab.right <= row.right + 1
}))

const visits = async page => Number((await page.locator('.figure', { hasText: /^Visits/ }).locator('.value').textContent()).replaceAll(',', ''))

const steps = {
  async setUp(page) {
    await page.goto(server + '/')
    await page.waitForURL('**/setup')
    await page.goto(server + '/setup#' + setupToken)
    await page.getByLabel('Name').fill('Ada Lovelace')
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password').fill(password)
    await accessible(page, 'set-up')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
    assert.ok(!page.url().includes(setupToken), 'the token stays in the address')
  },
  async logIn(page) {
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password').fill('something else')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').getByText('Wrong email or password.').waitFor()
    await accessible(page, 'login')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
    await accessible(page, 'sites')
    await shot(page, 'sites')
  },
  async figures(page) {
    await page.getByRole('link', { name: /blog/ }).click()
    await settled(page)
    const counted = async () => (await page.evaluate(async () => (await fetch('/api/v1/sites/blog/stats')).json())).totals.visits
    await until('the visits that the server counts', async () => await visits(page) === await counted())
    await accessible(page, 'site')
    await shot(page, 'site')
    const csv = await page.request.get(server + await page.getByRole('link', { name: 'Download as CSV' }).getAttribute('href'))
    assert.match(await csv.text(), /^[a-z_,]+\r?\n20/i)
    await page.getByRole('button', { name: /^Page views/ }).click()
    await queried(page, 'metric', 'pageViews')
    await settled(page)
    await page.getByRole('application').focus()
    await page.keyboard.press('End')
    await page.locator('.tip').getByText('so far').waitFor()
  },
  async annotations(page) {
    await page.getByRole('button', { name: 'Annotate' }).click()
    const dialog = page.getByRole('dialog', { name: 'Annotations' })
    await dialog.getByText('No annotations in this range.').waitFor()
    await dialog.getByLabel('Text').fill('Release 2.1')
    await dialog.getByLabel('Link').fill('https://example.com/2.1')
    await dialog.getByRole('button', { name: 'Add annotation' }).click()
    await dialog.getByRole('link', { name: 'Release 2.1' }).waitFor()
    await accessible(page, 'annotations')
    await shot(page, 'annotations')
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: '1 annotation', exact: true }).waitFor()
    await settled(page)
    await page.getByRole('application').focus()
    await page.keyboard.press('End')
    await page.locator('.tip').getByText('Release 2.1').waitFor()
    await shot(page, 'annotated')
    await page.getByRole('button', { name: '1 annotation', exact: true }).click()
    await dialog.getByRole('button', { name: 'Delete Release 2.1' }).click()
    await dialog.getByText('No annotations in this range.').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Annotate' }).waitFor()
  },
  async filters(page) {
    const all = await visits(page)
    await page.getByRole('region', { name: 'Places' }).locator('tbody button.value').first().click()
    await page.getByRole('list', { name: 'Filters' }).waitFor()
    await queried(page, 'filter', /^country:is:[A-Z]{2}$/)
    await page.getByText('counted from the raw events').waitFor()
    await settled(page)
    const some = await visits(page)
    assert.ok(some > 0 && some < all, `${some} of ${all} visits`)
    await shot(page, 'filtered')
    await page.getByRole('button', { name: /^Negate/ }).click()
    await queried(page, 'filter', /^country:is_not:/)
    await page.waitForFunction(n => document.querySelectorAll('.figure .value')[1].textContent.replaceAll(',', '') === String(n), all - some)
    await settled(page) // reloading figures are paler meanwhile
    await accessible(page, 'filtered site')
    await page.getByRole('button', { name: /^Remove/ }).click()
    await queried(page, 'filter', null)
    await page.goBack()
    await queried(page, 'filter', /^country:is_not:/)
    await page.getByRole('button', { name: /^Remove/ }).click()
    await page.keyboard.press('f')
    await page.getByRole('textbox', { name: 'Value' }).fill('/pricing')
    await accessible(page, 'filter dialog')
    await page.getByRole('button', { name: 'Apply' }).click()
    await queried(page, 'filter', 'page:is:/pricing')
    await page.getByRole('button', { name: /^Remove/ }).click()
  },
  async segments(page) {
    const all = await visits(page)
    await page.getByRole('region', { name: 'Places' }).locator('tbody button.value').first().click()
    await queried(page, 'filter', /^country:is:[A-Z]{2}$/)
    await settled(page)
    const some = await visits(page)
    await page.getByRole('button', { name: 'Save as segment' }).click()
    const dialog = page.getByRole('dialog', { name: 'Segments' })
    await dialog.getByText('No segments yet.').waitFor()
    assert.match(await dialog.getByLabel('Save these filters as').inputValue(), /^Country is /) // one more click saves it
    await dialog.getByLabel('Save these filters as').fill('Home market')
    await dialog.getByLabel('Description').fill('Where we advertise')
    await dialog.getByRole('button', { name: 'Save segment' }).click()
    await queried(page, 'filter', 'segment:is:home-market')
    await settled(page)
    assert.equal(await visits(page), some)
    await page.getByRole('button', { name: /^Comparison/ }).click()
    await page.getByRole('button', { name: 'All visits' }).click()
    await queried(page, 'compare', 'everything')
    await page.locator('.legend').getByText('All visits').waitFor()
    await page.locator(`.before [title="Previous: ${all.toLocaleString('en')}"]`).first().waitFor()
    await shot(page, 'segment')
    await page.getByRole('button', { name: 'Segments' }).click()
    await dialog.getByRole('button', { name: 'Edit Home market' }).click()
    await dialog.getByLabel('Name').fill('Home')
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.getByRole('button', { name: 'Edit Home', exact: true }).waitFor()
    await accessible(page, 'segments')
    await shot(page, 'segments')
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: /^Negate/ }).click()
    await queried(page, 'filter', 'segment:is_not:home-market')
    await page.waitForFunction(n => document.querySelectorAll('.figure .value')[1].textContent.replaceAll(',', '') === String(n), all - some)
    await page.getByRole('button', { name: /^Remove/ }).click()
    await page.getByRole('button', { name: /^Comparison/ }).click()
    await page.getByRole('button', { name: 'Previous period' }).click()
    await queried(page, 'compare', null)
  },
  async ranges(page) {
    await page.getByRole('button', { name: /^Date range/ }).click()
    await accessible(page, 'ranges')
    await page.getByRole('button', { name: 'Last 7 days' }).click()
    await queried(page, 'range', '7d')
    await page.getByRole('button', { name: 'Hours' }).click()
    await queried(page, 'period', 'hour')
    await page.getByRole('button', { name: 'Comparison: vs previous, same weekdays' }).click()
    await page.getByRole('button', { name: 'Match dates' }).click()
    await queried(page, 'align', 'date')
    await page.getByRole('button', { name: 'Comparison: vs previous, same dates' }).click()
    await page.getByRole('button', { name: 'Match weekdays' }).click()
    await queried(page, 'align', null)
    await page.getByRole('button', { name: /^Comparison/ }).click()
    await page.getByRole('button', { name: 'No comparison' }).click()
    await queried(page, 'compare', 'none')
    await page.keyboard.press('d')
    await queried(page, 'range', 'today')
    await page.getByRole('button', { name: /^Date range/ }).click()
    const days = page.locator('input[type=date]')
    const to = await days.nth(1).inputValue()
    await days.nth(0).fill(new Date(Date.parse(to) - 3 * 864e5).toISOString().slice(0, 10))
    await page.getByRole('button', { name: 'Apply' }).click()
    await queried(page, 'to', to)
    await settled(page)
  },
  async details(page) {
    await page.goto(server + '/sites/blog')
    await settled(page)
    const more = page.getByRole('region', { name: 'Pages', exact: true }).getByRole('button', { name: /^All / })
    await more.click()
    await page.getByRole('dialog').getByRole('row').nth(1).waitFor()
    await accessible(page, 'details')
    await shot(page, 'details')
    // Columns sort, also by keyboard. A second click reverses the order.
    const dialog = page.getByRole('dialog', { name: 'Pages', exact: true })
    const first = (text) => page.waitForFunction((t) => document.querySelector('dialog tbody tr')?.textContent.trim().startsWith(t), text)
    const pages = async () => (await dialog.locator('tbody td:first-child').allTextContents()).map((t) => t.trim())
    const names = (await pages()).toSorted()
    await dialog.getByRole('button', { name: 'Page', exact: true }).click()
    await dialog.getByRole('columnheader', { name: 'Page', exact: true }).and(page.locator('[aria-sort=ascending]')).waitFor()
    await first(names[0])
    await dialog.getByRole('button', { name: 'Page', exact: true }).press('Enter')
    await first(names.at(-1))
    await accessible(page, 'sorted details')
    await page.getByPlaceholder('Search').fill('pricing')
    await page.waitForFunction(() => [...document.querySelectorAll('dialog tbody tr')].every(r => r.textContent.includes('pricing')))
    await page.keyboard.press('Escape') // clears the search
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.waitForFunction(() => document.activeElement.textContent.startsWith('All '))
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Last 7 days').waitFor()
    await page.keyboard.press('Escape')
  },
  async dark(page) {
    await page.getByRole('button', { name: 'Use the dark theme' }).click()
    await page.reload()
    await settled(page)
    await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark')
    await accessible(page, 'dark site')
    await shot(page, 'site-dark')
    await page.getByRole('button', { name: 'Use the light theme' }).click()
  },
  async realtime(page) {
    await page.goto(server + '/sites/blog/realtime')
    await page.getByText('Live', { exact: true }).waitFor()
    await event(page, 'blog', '/seen-just-now')
    await page.getByText('/seen-just-now').first().waitFor()
    await accessible(page, 'realtime')
    await shot(page, 'realtime')
  },
  async goals(page) {
    await page.goto(server + '/sites/blog/goals')
    await page.getByRole('button', { name: 'New goal' }).click()
    const dialog = page.getByRole('dialog', { name: 'New goal' })
    await dialog.getByLabel('Name').fill('Saw the prices')
    await dialog.getByLabel('Path').fill('/pricing')
    await accessible(page, 'goal dialog')
    // The first response is lost after the goal was created: a second click on Save must not create
    // a second goal.
    await page.route('**/goals', async route => {
      if (route.request().method() !== 'POST') return route.continue()
      await route.fetch()
      await route.abort()
      await page.unroute('**/goals')
    })
    await page.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /Saw the prices/ }).waitFor()
    await until('one goal', async () => await page.locator('tbody tr').count() === 1)
    await accessible(page, 'goals')
    await shot(page, 'goals')
    await page.getByRole('button', { name: 'Edit Saw the prices' }).click()
    await page.getByRole('dialog', { name: 'Edit goal' }).getByLabel('Name').fill('Read the prices')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /Read the prices/ }).waitFor()
    await page.getByRole('button', { name: 'Delete Read the prices' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No goals yet').waitFor()
  },
  async funnels(page) {
    await page.goto(server + '/sites/blog/funnels')
    await page.getByRole('button', { name: 'New funnel' }).click()
    await page.getByLabel('Name').fill('From the front to the prices')
    await page.getByLabel('Step 1', { exact: true }).fill('/')
    await page.getByLabel('Step 2', { exact: true }).fill('/pricing')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByRole('dialog').getByText(/dropped off/).waitFor()
    await accessible(page, 'funnel dialog')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('region', { name: 'From the front to the prices' }).getByText(/dropped off/).waitFor()
    await page.getByLabel('Break down by').selectOption('device')
    await page.getByRole('table').waitFor()
    await accessible(page, 'funnels')
    await shot(page, 'funnels')
  },
  async sessions(page) {
    await page.goto(server + '/sites/blog/sessions')
    await page.getByRole('table').waitFor()
    await settled(page)
    await accessible(page, 'sessions')
    await shot(page, 'sessions')
    // A row opens as a whole, and its link by keyboard.
    await page.locator('tbody tr').first().locator('td').last().click()
    await page.getByRole('region', { name: 'Timeline' }).waitFor()
    await page.goBack()
    await page.locator('tbody .time a').first().press('Enter')
    await page.getByRole('region', { name: 'Timeline' }).waitFor()
    await accessible(page, 'session')
    await shot(page, 'session')
    await page.getByRole('link', { name: 'Sessions' }).last().click()
    await page.getByRole('table').waitFor()
  },
  async journeys(page) {
    await page.goto(server + '/sites/blog/journeys')
    await page.getByRole('region', { name: 'Flow of visits' }).waitFor()
    await accessible(page, 'journeys')
    await shot(page, 'journeys')
    await page.getByRole('button', { name: 'Previous pages' }).click()
    await queried(page, 'direction', 'back')
    await settled(page)
    await page.goto(server + '/sites/blog/retention')
    await page.getByText('No identified users in this range').waitFor()
    await accessible(page, 'retention')
  },
  async numbers(page) {
    await page.goto(server + '/sites/blog/numbers')
    await page.getByRole('button', { name: /^Check / }).click()
    await page.getByText('No differences found').waitFor()
    await page.getByRole('heading', { name: 'Filtered out' }).waitFor()
    await accessible(page, 'numbers')
    await shot(page, 'numbers')
  },
  // A form that is submitted twice creates one site, and the page of a new site detects its first
  // event.
  async newSite(page) {
    let posts = 0
    page.on('request', r => { if (r.method() === 'POST' && r.url().endsWith('/sites')) posts++ })
    await page.goto(server + '/new-site')
    await page.getByLabel('Domain').fill('https://fresh.example.com/')
    await accessible(page, 'new site')
    await page.getByRole('button', { name: 'Add site' }).dblclick()
    await page.getByText('Waiting for the first event').waitFor()
    assert.equal(posts, 1)
    await shows(page.locator('pre').first(), /^<script async data-site="fresh.example.com" src=".*\/js\/onefold.js"><\/script>$/)
    await accessible(page, 'empty site')
    await shot(page, 'empty')
    const answer = await page.request.post(server + '/api/event', {
      data: { site: 'fresh.example.com', url: 'https://fresh.example.com/' }, headers: { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:138.0) Gecko/20100101 Firefox/138.0' },
    })
    assert.equal(answer.status(), 202)
    await page.getByRole('button', { name: /^Visitors/ }).waitFor()
  },
  async settings(page) {
    for (const section of ['', '/tracking', '/privacy', '/sharing', '/imports', '/people', '/erasure', '/delete']) {
      await page.goto(server + '/sites/blog/settings' + section)
      await page.locator('.forms section, .forms form').first().waitFor()
      await accessible(page, 'settings' + section)
    }
    await page.goto(server + '/sites/blog/settings')
    await page.getByLabel('Name').fill('Field notes')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved').waitFor()
    await page.getByRole('button', { name: /Site: Field notes/ }).waitFor()
    // Masks are tried as they are typed, and apply to events from then on.
    await page.goto(server + '/sites/blog/settings/privacy')
    const masking = page.getByRole('form', { name: 'Masking' })
    await masking.getByText('/user/:email/reset/:token').waitFor()
    await masking.getByLabel('Path patterns').fill('/user/:who/**')
    await masking.getByText('/user/:who/reset/:token').waitFor()
    await masking.getByLabel('Path patterns').fill('user')
    await masking.getByText('begin with a slash').waitFor()
    await masking.getByLabel('Path patterns').fill('')
    await masking.getByLabel('Email addresses').uncheck()
    await masking.getByText('/user/jane@example.com/reset/:token').waitFor()
    await masking.getByLabel('Email addresses').check()
    await masking.getByRole('button', { name: 'Save' }).click()
    await masking.getByText('Saved').waitFor()
    await shot(page, 'masking')
    // Erasing a person includes earlier events of the same visitor.
    await event(page, 'blog', '/public', {}, 139)
    await event(page, 'blog', '/private', { userId: 'user-7' }, 139)
    await page.goto(server + '/sites/blog/settings/erasure')
    await page.getByLabel('User ID').fill('user-7')
    await page.getByLabel('This cannot be undone.').check()
    await page.getByRole('button', { name: 'Erase' }).click()
    await page.getByRole('status').getByText('Erased: 2 events, 1 session.').waitFor()
    await page.getByRole('table').waitFor()
    for (const part of ['you', 'security', 'keys', 'people', 'audit']) {
      await page.goto(server + '/account/' + part)
      await settled(page)
      await accessible(page, part)
    }
    // A wrong password is reported and a correct one is changed; the session continues.
    await page.goto(server + '/account/security')
    for (const [current, answer] of [['not the password', 'The current password is wrong.'], [password, 'Saved']]) {
      await page.getByLabel('Current password').fill(current)
      await page.getByLabel('New password').fill(password)
      await page.getByRole('button', { name: 'Change password' }).click()
      await page.getByText(answer).waitFor()
    }
    await page.goto(server + '/account/keys')
    await page.getByLabel('Name').fill('Weekly report')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('Copy it now').waitFor()
  },
  // Daily counts are previewed, imported, marked where they are shown, and deleted again.
  async imports(page) {
    await page.goto(server + '/sites/blog/settings/imports')
    await settled(page)
    const day = new Date(Date.now() - 20 * 864e5).toISOString().slice(0, 10)
    const file = (name, text) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
    await page.getByLabel('Files').setInputFiles([file('totals.csv', `date,totalUsers,sessions,screenPageViews\n${day},7,8,4321\n`), file('wide.csv', 'date,country,browser,sessions\n')])
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByRole('heading', { name: 'An import would add' }).waitFor()
    await page.getByText('export the date and one dimension per file').waitFor()
    await accessible(page, 'looked at')
    await shot(page, 'imports')
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('heading', { name: 'Imported' }).waitFor()
    await page.goto(server + '/sites/blog?range=30d')
    await page.getByText(/includes? imported data/).waitFor()
    await accessible(page, 'site with imported days')
    await shot(page, 'imported')
    await page.goto(server + '/sites/blog/settings/imports')
    await page.getByRole('button', { name: /^Delete the import/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No imports yet.').waitFor()
  },
  async deletion(page) {
    await page.goto(server + '/sites/fresh.example.com/settings/delete')
    await page.getByRole('button', { name: /^Delete / }).click()
    const sure = page.getByRole('button', { name: 'Delete permanently' })
    await page.locator('button:disabled', { hasText: 'Delete permanently' }).waitFor()
    await page.getByLabel(/^Type fresh.example.com/).fill('fresh.example.com')
    await sure.click()
    await page.getByRole('heading', { name: 'Sites' }).waitFor()
    await page.getByRole('link', { name: /Field notes/ }).waitFor()
    await page.getByText('fresh.example.com').waitFor({ state: 'detached' })
  },
  async phone(page) {
    await page.setViewportSize({ width: 375, height: 780 })
    for (const path of ['/', '/sites/blog', '/sites/blog/realtime', '/sites/blog/goals', '/sites/blog/funnels', '/sites/blog/sessions', '/sites/blog/journeys', '/sites/blog/numbers', '/sites/blog/settings', '/sites/blog/settings/imports', '/sites/blog/settings/delete', '/account/keys']) {
      await page.goto(server + path)
      await page.getByRole('main').waitFor()
      await settled(page)
      assert.ok(await wide(page) <= 0, `${path} is ${await wide(page)} px wider than a phone`)
      await tabsAreSeen(page)
      await shot(page, 'phone' + path.replaceAll('/', '-'))
    }
    await page.goto(server + '/sites/blog/settings/delete')
    await page.setViewportSize({ width: 780, height: 375 }) // rotate, redraw, and rotate back
    await page.waitForFunction(() => innerWidth === 780)
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    await page.setViewportSize({ width: 375, height: 780 })
    await tabsAreSeen(page)
    await page.setViewportSize({ width: 1280, height: 800 })
  },
  // The owner of a site invites a person, who chooses a password and sees that site.
  async invited(page) {
    await page.goto(server + '/sites/blog/settings/people')
    const link = await invite(page)
    await shot(page, 'people')
    const guest = await join(page, link, async (invited) => {
      await until('the address of the invitation', async () => await invited.getByLabel('Email').inputValue() === 'bob@example.com')
      assert.ok(!invited.url().includes('ofi_'), 'the token stays in the address')
      await accessible(invited, 'invite')
      await shot(invited, 'invite')
    })
    await guest.getByRole('button', { name: /^Visitors/ }).waitFor()
    assert.equal(await guest.getByRole('link', { name: 'Settings' }).count(), 0)
    await guest.goto(link)
    await guest.getByText('This invitation cannot be opened').waitFor()
    await guest.getByText('no longer valid').waitFor()
    await guest.reload()
    await guest.getByText('Open the link again').waitFor()
    await page.reload()
    await promote(page, page)
    await guest.goto(server + '/sites/blog')
    await guest.getByRole('link', { name: 'Settings' }).waitFor()
    await dismiss(page)
    await guest.context().close()
  },
  // This server runs no projections; events.mjs has one that does.
  async projections(page) {
    await page.goto(server + '/projections')
    await page.getByText('No projections').waitFor()
    await page.locator('header a[aria-current=page]', { hasText: 'Events' }).waitFor()
    await accessible(page, 'projections')
    await shot(page, 'projections')
    await page.goto(server + '/correlations')
    await page.getByText('Page not found').waitFor()
  },
  // Anyone with the link sees the statistics, and cannot change anything.
  async shared(page) {
    await page.goto(server + '/sites/blog/settings/sharing')
    await page.getByLabel('Name').fill('The agency')
    await page.getByLabel('Password').fill('open the gate')
    await page.getByLabel('Embed on').fill('https://example.com')
    await page.getByRole('button', { name: 'Create link' }).click()
    const link = await page.locator('.made code').textContent()
    await shows(page.getByRole('group', { name: 'To embed on https://example.com' }).locator('pre'), /^<iframe src="http.*\/share\/ofs_/)
    await page.getByText('embedded on https://example.com').waitFor()
    await page.getByLabel('Name').fill('Partner')
    await page.getByLabel('Show').selectOption('home-market')
    await page.getByRole('button', { name: 'Create link' }).click()
    await page.getByText('only Home').waitFor()
    const partner = await page.locator('.made code').textContent()
    await accessible(page, 'sharing')
    await shot(page, 'sharing')
    await page.getByRole('checkbox', { name: /^Anyone can view/ }).check()
    await page.getByRole('button', { name: 'Save' }).click()
    await shows(page.getByRole('group', { name: 'Markdown' }).locator('pre'), /^\[!\[Visitors of Field notes\]\(http.*badge\/blog.svg\)\]/)
    await shows(page.getByRole('group', { name: 'HTML' }).locator('pre'), /^<a href="http.*badge\/blog.svg/)
    await accessible(page, 'badge')
    await page.getByRole('checkbox', { name: /^Anyone can view/ }).uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('group', { name: 'HTML' }).waitFor({ state: 'detached' })
    await page.context().clearCookies()
    await page.goto(link)
    await page.getByText('This page is password-protected').waitFor()
    await page.getByLabel('Password').fill('not the password')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByText('Wrong password.').waitFor()
    await page.getByLabel('Password').fill('open the gate')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('button', { name: /^Visitors/ }).waitFor()
    await settled(page)
    assert.equal(await page.getByRole('link', { name: 'Settings' }).count(), 0)
    await accessible(page, 'shared')
    await shot(page, 'shared')
    assert.ok(!(await tabs(page, server)).includes('Sessions'))
    const all = await visits(page)
    await page.goto(partner)
    await page.getByText('Only the segment Home').waitFor()
    await settled(page)
    assert.ok(await visits(page) < all)
    assert.equal(await page.getByRole('link', { name: 'Realtime' }).count() + await page.getByRole('button', { name: 'Segments' }).count() + await page.getByRole('alert').count(), 0)
    await accessible(page, 'shared segment')
    await shot(page, 'shared-segment')
    await page.goto(server + '/sites/fresh.example.com')
    await page.getByRole('alert').or(page.getByRole('heading', { name: /Log in|Page not found/ })).first().waitFor()
  },
}

await walk(steps, shots)
