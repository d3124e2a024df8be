// The tracker sends page views, engagement and custom events, each counted once. It stores nothing
// in the browser: no cookies, no storage. docs/guides/tracker.md says what it sends and which
// settings change that. The script onefold.js and the npm package in server/clients/tracker run it.
//
// Every event has an ID that is created here when the event happens. So an event that is sent
// twice, because a response was lost or the page was closed meanwhile, is counted once.

// start starts the tracker. Settings are those of the script's tag, as in its dataset; api is where
// events go without data.api; load loads one of the further scripts by name.
export const start = (data, api, load) => {
  if (window.onefold?.v) return // a page that includes it twice counts once
  if (self != top && data.frames == null) return // in a frame: the page around it counts
  api = data.api || api
  const waiting = [] // events without a response, in order
  let skew = 0 // milliseconds to add to the browser's clock, if it is too far off
  let page = '' // the current page; '' before the first
  let user
  const refused = (/dnt/.test(data.respect) && navigator.doNotTrack == 1) || (/gpc/.test(data.respect) && navigator.globalPrivacyControl)

  // A ULID: 48 bits of time and 80 random bits, in Crockford's base 32.
  const ulid = () => {
    const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
    let id = ''
    for (let t = Date.now() + skew, i = 10; i--; t /= 32) id = digits[t % 32 | 0] + id
    for (const b of crypto.getRandomValues(new Uint8Array(16))) id += digits[b % 32]
    return id
  }

  // Events are sent one after the other. If the server cannot accept an event, it is sent again for
  // a minute, then with the next event and when the page is left.
  // It says so, because the network, and with it the visitor, may have changed in between.
  let busy
  let tries = 0
  const pump = () => {
    const body = waiting[0]
    if (busy || !body) return
    busy = 1
    const next = done => {
      busy = 0
      if (done) {
        tries = 0
        if (waiting[0] == body) waiting.shift()
      }
      pump()
    }
    // Text is the only type that a page may send to another origin without a CORS preflight.
    fetch(api, { method: 'POST', body: tries ? '{"retry":true,' + body.slice(1) : body, keepalive: 1, credentials: 'omit' })
      .then(answer => {
        if (answer.status > 428) throw 0
        answer.json().then(({ now, outcomes }) => reset(now, outcomes[0].reason, body)).catch(() => {}).then(() => next(1))
      })
      .catch(() => {
        if (tries < 6) setTimeout(next, 1000 << tries++)
        else busy = 0
      })
  }
  // An event with a wrong time was rejected, and is sent again with the server's time.
  const reset = (now, reason, body) => {
    if (skew || !/too_old|future/.test(reason)) return
    skew = now - Date.now()
    waiting.splice(1, 0, JSON.stringify({ ...JSON.parse(body), id: ulid() }))
  }

  let leaving
  const send = event => {
    settle()
    if (refused || onefold.off) return
    const body = JSON.stringify({
      site: data.site,
      id: ulid(),
      url: page,
      screen: screen.width + 'x' + screen.height,
      language: navigator.language,
      userId: user,
      ...event,
    })
    if (leaving && navigator.sendBeacon(api, body)) return
    if (waiting.length < 30) waiting.push(body)
    pump()
  }

  const address = () => {
    const { origin, protocol, pathname, search, hash } = location
    const route = data.hash == null ? '' : hash.replace(/^#!?\/?|\?.*/g, '')
    return ((origin == 'null' ? protocol + '//' : origin) + (route ? pathname.replace(/\/?$/, '/') + route : pathname) + search).slice(0, 2e3) // the maximum length of a URL
  }

  // Engaged time counts while the page is in the foreground. Time since the last report is sent
  // when the page is left or hidden.
  let engaged = 0
  let since = 0
  let seen = 0 // lowest visible point of the page so far, in pixels
  let told = 0
  const now = () => performance.now()
  const clock = run => {
    if (since) engaged += now() - since
    since = run && now()
  }
  const attention = () => clock(!document.hidden && document.hasFocus())
  let inherited // scroll position of the previous page, which an application may not have reset yet
  const scrolled = () => {
    if (scrollY != inherited) seen = Math.max(seen, scrollY + innerHeight)
  }
  // The height is measured now, because a page may be empty when it begins.
  const report = () => {
    clock(since)
    const engagedMs = engaged | 0 // an integer; 0 if it is not a number
    const scroll = Math.min(100, (seen / document.documentElement.scrollHeight) * 100 | 0)
    if (!page || (engagedMs < 50 && scroll <= told)) return
    send({ name: 'engagement', engagedMs, scroll })
    engaged = 0
    told = scroll
  }

  // A page view is delayed a moment: a URL that a router replaces at once was not a page.
  let held
  let referrer
  const settle = () => {
    if (!held) return
    clearTimeout(held)
    held = 0
    send({ referrer })
  }
  const view = (again, replaced) => {
    const url = address()
    if (!again && url.split('?')[0] == page.split('?')[0]) return
    if (replaced && held) {
      page = url
      return
    }
    scrolled() // the browser may not have sent the event yet
    report()
    settle()
    referrer = page ? undefined : document.referrer.slice(0, 2e3)
    page = url
    engaged = told = 0
    seen = innerHeight
    inherited = !again && scrollY
    scrolled()
    attention()
    held = setTimeout(settle, 300)
  }
  const leave = () => {
    leaving = 1
    clock() // before anything that takes time: a page can be left twice, by navigating and then by being hidden
    report()
    settle()
    for (const body of waiting) navigator.sendBeacon(api, body)
    if (!tries) waiting.length = 0 // failed events are sent again if the page comes back; they count once
  }

  const text = value => (value == null || value === '' ? undefined : value + '') // the server accepts only text
  const onefold = (name, more, fields) => { // fields are for further scripts
    more ??= {}
    if (name == 'identify') user = text(typeof more == 'object' ? more.id : more)
    else if (!page) queued.push([name, more])
    else if (name == 'pageview') view(1)
    else {
      const props = {}
      for (const key in more.props) props[key] = text(more.props[key])
      send({ name, ...fields, props, revenue: text(more.revenue), currency: text(more.currency) })
    }
  }
  onefold.v = { data, api, refused } // for further scripts
  const early = window.onefold || {} // a function that kept calls until now
  const queued = early.q || []
  onefold.off = early.off // whether the visitor has opted out; applications may change it
  window.onefold = onefold

  let wish
  // ?onefold=ignore on any page excludes the visitor's own visits, until ?onefold=count.
  try {
    wish = /[?&]onefold=(\w+)/.exec(location.search)?.[1]
    if (wish == 'ignore') localStorage.onefold_ignore = 1
    else if (wish == 'count') delete localStorage.onefold_ignore
    onefold.off ||= localStorage.onefold_ignore
  } catch {} // without storage, the choice is not remembered

  const on = (type, listener) => addEventListener(type, listener, true) // of the window: sees the document's events first
  const begin = () => {
    if (page || document.hidden) return
    for (const call of queued) if (call[0] == 'identify') onefold(...call) // so that the first page view has the user, too
    view(1)
    if (data[404] != null) onefold('404')
    for (const call of queued) onefold(...call)
    for (const method of ['pushState', 'replaceState']) {
      const original = history[method]
      history[method] = function () {
        original.apply(this, arguments)
        view(0, method > 'q')
      }
    }
    for (const type of ['popstate', 'hashchange']) on(type, () => view())
  }

  on('visibilitychange', () => {
    if (document.hidden) leave()
    else leaving = 0, attention(), pump()
    begin() // a prerendered page counts when it is shown
  })
  on('pagehide', leave)
  on('pageshow', event => {
    leaving = 0
    if (event.persisted) view(1) // restored from the back/forward cache: not loaded, but seen
  })
  on('focus', attention)
  on('blur', attention)
  on('scroll', scrolled)

  const clicked = event => {
    const link = event.button < 2 && event.target.closest?.('a[href]')
    if (!/^http/.test(link?.protocol)) return
    const url = (link.origin + link.pathname).slice(0, 500)
    const file = link.hasAttribute('download') || /\.(pdf|zip|t?gz|7z|rar|dmg|pkg|exe|msi|deb|rpm|apk|iso|csv|(xls|doc|ppt)x?|mp[34]|avi|mov|epub)$/i.test(link.pathname)
    if (file) onefold('download', { props: { url } })
    else if (link.host != location.host) onefold('outbound', { props: { url } })
  }
  on('click', clicked)
  on('auxclick', clicked)

  begin()
  if (data.vitals != null) load('vitals')
  if (/^check_/.test(wish)) load('check')
}
