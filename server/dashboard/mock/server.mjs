// A mock server for developing the dashboard without a real server: node mock/server.mjs [port],
// after a build. It implements the API with numbers that depend only on the request. It is not part
// of the product.
import { createServer } from 'node:http'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { deviceAnswers, streamed } from './devices.mjs'

const web = new URL('../dist/web/', import.meta.url).pathname
const types = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.html': 'text/html' }

const random = (text) => {
  let h = 2166136261
  for (const c of text) h = Math.imul(h ^ c.charCodeAt(0), 16777619)
  return () => {
    h = Math.imul(h ^ (h >>> 15), 2246822507) + 0x9e3779b9
    return ((h ^ (h >>> 13)) >>> 0) / 2 ** 32
  }
}
const day = (d) => d.toISOString().slice(0, 10)
const values = {
  page: ['/', '/pricing', '/docs/getting-started', '/blog/one-table-folded', '/docs/analytics', '/download', '/blog/exactly-once', '/about', '/docs/api', '/changelog', '/contact', '/blog/why-days-cannot-be-linked-and-why-that-is-a-good-thing'],
  source: ['Google', '(none)', 'Hacker News', 'GitHub', 'ChatGPT', 'Bing', 'Reddit', 'lobste.rs', 'DuckDuckGo', 'newsletter'],
  channel: ['Organic search', 'Direct', 'Social', 'Referral', 'AI assistant', 'E-mail', 'Paid search'],
  country: ['DE', 'US', 'GB', 'FR', 'NL', 'CH', 'IN', 'BR', 'JP', 'SE', 'PL'], city: ['Berlin', 'London', 'Zürich', 'Paris', 'New York', 'Amsterdam'],
  region: ['Berlin', 'England', 'Zürich', 'Île-de-France', 'New York'], language: ['en', 'de', 'fr', 'nl', 'pt-BR'],
  browser: ['Chrome', 'Safari', 'Firefox', 'Edge', 'Samsung Internet', 'Opera'], os: ['Windows', 'macOS', 'iOS', 'Android', 'Linux'], device: ['desktop', 'mobile', 'tablet'], screen: ['1920x1080', '390x844', '1440x900', '2560x1440'],
  event: ['signup', 'download', 'newsletter', 'search'], goal: ['Signed up', 'Read the docs'], utm_campaign: ['(none)', 'spring', 'launch'], referrer: ['news.ycombinator.com', 'github.com', 'www.google.com'],
  outbound: ['https://github.com/onefold/onefold', 'https://docs.example.org/'], download: ['/files/onefold-linux-amd64.tar.gz'], not_found: ['/wp-login.php', '/old-page'],
}
values.entry_page = values.page.slice(0, 8)
values.exit_page = values.page.toReversed().slice(0, 9)

const figures = (visitors, r) => {
  const visits = Math.round(visitors * (1.1 + r() * 0.1)), pageViews = Math.round(visits * (2.3 + r() * 0.5)), bounces = Math.round(visits * (0.38 + r() * 0.08))
  const seconds = Math.round(visits * (95 + r() * 40)), events = Math.round(visits * 0.12)
  return { visitors, visits, pageViews, events, bounces, bounceRate: visits ? bounces / visits : 0, seconds, duration: visits ? seconds / visits : 0, viewsPerVisit: visits ? pageViews / visits : 0, revenue: (visits * 0.84).toFixed(2), conversions: Math.round(visits * 0.031) }
}
const sum = (list) => {
  const t = { visitors: 0, visits: 0, pageViews: 0, events: 0, bounces: 0, seconds: 0, revenue: 0, conversions: 0 }
  for (const b of list) for (const k in t) t[k] += Number(b[k])
  return { ...t, revenue: t.revenue.toFixed(2), bounceRate: t.visits ? t.bounces / t.visits : 0, duration: t.visits ? t.seconds / t.visits : 0, viewsPerVisit: t.visits ? t.pageViews / t.visits : 0 }
}
function buckets(site, from, to, period, scale) {
  const list = []
  const now = new Date()
  for (let d = new Date(from + 'T00:00:00Z'); day(d) <= to; d = new Date(+d + (period === 'hour' ? 3.6e6 : 864e5))) {
    const start = period === 'hour' ? d.toISOString().slice(0, 19) + 'Z' : day(d)
    if (d > now && period !== 'hour') break
    const r = random(site + start)
    const week = [0.62, 1.05, 1.12, 1.1, 1.04, 0.94, 0.6][d.getUTCDay()]
    const hour = period === 'hour' ? (0.3 + 0.9 * Math.sin(((d.getUTCHours() - 5) / 24) * Math.PI) ** 2) / 20 : 1
    const past = d > now ? 0 : day(d) === day(now) && period !== 'hour' ? 0.45 : 1
    list.push({ start, ...figures(Math.round((700 + r() * 260 + Math.max(0, (+d - Date.UTC(2026, 8, 1)) / 864e5) * 4) * week * hour * past * scale), r) })
  }
  if (period !== 'month') return list
  const months = Map.groupBy(list, (b) => b.start.slice(0, 7))
  return [...months].map(([start, days]) => ({ start, ...sum(days) }))
}
const shift = (d, n) => day(new Date(Date.parse(d) + n * 864e5))

const state = { goals: [{ id: 'g1', name: 'Signed up', event: 'signup', counting: 'session' }, { id: 'g2', name: 'Read the docs', path: '/docs/**', pathKind: 'wildcard', counting: 'session', value: '2.50', currency: 'EUR' }], funnels: [{ id: 'f1', name: 'From pricing to sign-up', steps: [{ path: '/pricing' }, { path: '/download' }, { event: 'signup' }] }, { id: 'f2', name: 'Docs readers', steps: [{ path: '/' }, { path: '/docs/**' }] }], verify: { state: 'clean', at: new Date(Date.now() - 36e5).toISOString(), from: shift(day(new Date()), -29), to: day(new Date()), checked: 48213, sealed: 3, firstSealed: '2026-03-04', differences: [] }, empty: false, loggedOut: false }
const site = (id) => ({ id, name: id === 'blog' ? 'Field notes' : id === 'fresh' ? 'Fresh site' : 'Example shop', domains: [id + '.example.com'], timezone: 'Europe/Berlin', currency: 'EUR', hasEvents: id !== 'fresh', customProperties: ['plan'], retention: { rawDays: 730, hourDays: 90, dayDays: 730 }, public: id === 'blog', exclude: { paths: ['/admin/**'] }, mask: { detect: ['email', 'phone', 'uuid', 'token'], paths: ['/customers/:customer/**'] } })
const minutes = (n) => Array.from({ length: 30 }, (_, i) => { const r = random('m' + i + n); const v = Math.round(3 + r() * 14); return { minute: new Date(Math.floor(Date.now() / 6e4) * 6e4 - (29 - i) * 6e4).toISOString(), visitors: v, pageViews: v + Math.round(r() * 9) } })
const top = (by, n, r) => values[by].slice(0, n).map((value, i) => ({ value, visitors: Math.max(1, Math.round((22 - i * 3) * (0.6 + r() * 0.4))) }))
const live = () => { const r = random('live' + Math.floor(Date.now() / 4000)); const m = minutes(1); return { now: 18 + Math.round(r() * 9), last30: { visitors: 164, pageViews: m.reduce((n, x) => n + x.pageViews, 0), minutes: m }, pages: top('page', 8, r), sources: top('source', 6, r), countries: top('country', 7, r) } }
const session = (i) => { const r = random('s' + i); const start = Date.now() - i * 7e5 - r() * 3e5; const pick = (k) => values[k][Math.floor(r() ** 2 * values[k].length)]; const n = 1 + Math.floor(r() * 6); return { id: 's' + i, start: new Date(start).toISOString(), end: new Date(start + (n - 1) * (30 + r() * 100) * 1000).toISOString(), entry: pick('page'), exit: pick('page'), pageViews: n, events: r() > 0.7 ? 1 : 0, country: pick('country'), city: pick('city'), browser: pick('browser'), os: pick('os'), device: pick('device'), source: pick('source'), channel: pick('channel'), ...(r() > 0.85 ? { userId: 'user-' + Math.floor(r() * 900) } : {}), ...(r() > 0.9 ? { revenue: '24.90' } : {}) } }

const answers = [
  ['GET', /^\/setup$/, () => ({ needed: false, passkeys: true })],
  ['GET', /^\/me\/sessions$/, () => ({ sessions: [['s1', true, 'Firefox 138', 'Linux', 'passkey'], ['s2', false, 'Safari 18.4', 'iOS', 'code']].map(([id, current, browser, system, method]) => ({ id, current, browser, system, method, created: new Date(Date.now() - 9e8).toISOString(), used: new Date(Date.now() - 36e5).toISOString(), expires: new Date(Date.now() + 9e8).toISOString() })) })],
  ['GET', /^\/me\/second-factor$/, () => ({ since: new Date(Date.now() - 9e8).toISOString(), recoveryCodes: 9 })],
  ['GET', /^\/me\/passkeys$/, () => ({ available: true, passkeys: [{ id: 'k1', name: 'Laptop', created: new Date(Date.now() - 9e8).toISOString(), used: new Date(Date.now() - 36e5).toISOString(), synced: false, refused: false }] })],
  ['GET', /^\/me$/, () => (state.loggedOut ? [401, { type: 'urn:onefold:error:unauthorized', detail: 'Log in.' }] : { user: { id: 'u1', email: 'ada@example.com', name: 'Ada Lovelace' }, csrf: 'c', owner: true, newSites: true, sites: ['shop', 'blog', 'fresh'].map((id) => ({ id, role: 'owner' })), fleets: ['plant', 'city', 'fresh'].map((id) => ({ id, role: 'owner' })) })],
  ['POST', /^\/login$/, (_, __, body) => (body.password === 'wrong' ? [401, { detail: 'Address or password is wrong.' }] : ((state.loggedOut = false), {}))],
  ['POST', /^\/logout$/, () => ((state.loggedOut = true), [204])],
  ['GET', /^\/sites$/, () => ({ sites: ['shop', 'blog', 'fresh'].map((id) => { const b = id === 'fresh' ? [] : buckets(id, shift(day(new Date()), -1), day(new Date()), 'hour', id === 'blog' ? 0.4 : 1).slice(-33, -9); return { ...site(id), role: 'owner', visitors: sum(b).visitors, previousVisitors: Math.round(sum(b).visitors * (id === 'blog' ? 1.12 : 0.9)), trend: id === 'fresh' ? Array(24).fill(0) : b.map((x) => x.visitors) } }) })],
  ['POST', /^\/sites$/, (_, __, body) => site(body.id)],
  ['GET', /^\/sites\/([^/]+)$/, ([id]) => site(id)], ['PATCH', /^\/sites\/([^/]+)$/, ([id], _, body) => ({ ...site(id), ...body })],
  ['GET', /^\/sites\/([^/]+)\/stats$/, ([id], q) => {
    const filters = q.getAll('filter').length, scale = (id === 'blog' ? 0.4 : 1) * 0.34 ** filters
    const list = buckets(id, q.get('from'), q.get('to'), q.get('period') ?? 'day', scale), n = Math.round((Date.parse(q.get('to')) - Date.parse(q.get('from'))) / 864e5) + 1
    const compare = q.get('compare') ?? 'none', back = compare === 'year' ? 364 : n
    const before = compare === 'none' ? undefined : buckets(id, shift(q.get('from'), -back), shift(q.get('to'), -back), q.get('period') ?? 'day', scale * 0.93)
    return { from: q.get('from'), to: q.get('to'), period: q.get('period') ?? 'day', timezone: 'Europe/Berlin', source: filters ? 'raw' : 'statistics', totals: sum(list), ...(before ? { previous: sum(before), previousBuckets: before } : {}), buckets: list, notes: [] }
  }],
  ['GET', /^\/sites\/([^/]+)\/reading$/, () => ({ done: 12, of: 30 })],
  ['GET', /^\/sites\/([^/]+)\/breakdown$/, ([id], q) => {
    const by = q.get('by'), r = random(id + by + q.get('from') + q.getAll('filter')), all = (values[by] ?? ['free', 'team', 'business']).filter((v) => v.toLowerCase().includes((q.get('search') ?? '').toLowerCase()))
    const rows = all.map((value, i) => { const visits = Math.round((8200 / (i + 1.3)) * (0.8 + r() * 0.3) * 0.34 ** q.getAll('filter').length); return { value, visitors: Math.round(visits * 0.88), visits, pageViews: Math.round(visits * 1.7), bounceRate: 0.3 + r() * 0.3, duration: 40 + r() * 120, ...(['event', 'goal', 'outbound', 'download', 'not_found'].includes(by) || by.startsWith('prop:') ? { events: Math.round(visits * 0.2) } : {}), share: visits / 30000 } }).sort((a, b) => b.visits - a.visits)
    return { by, source: 'statistics', rows: rows.slice(+(q.get('offset') ?? 0)).slice(0, +(q.get('limit') ?? 10)), total: rows.length }
  }],
  ['GET', /^\/sites\/([^/]+)\/vitals$/, ([id], q) => {
    const r = random(id + q.get('from'))
    const metric = (good, poor) => { const p75 = good * (0.5 + r() * 1.6), share = Math.min(0.97, (0.72 * good) / p75); return { p75, rating: p75 <= good ? 'good' : p75 <= poor ? 'needs improvement' : 'poor', loads: 900, good: share, needsImprovement: (1 - share) * 0.7, poor: (1 - share) * 0.3 } }
    const row = (value, loads) => ({ value, loads, lcp: metric(2500, 4000), ...(loads > 300 ? { inp: metric(200, 500) } : {}), cls: metric(0.1, 0.25) })
    return { total: row(undefined, 9120), ...(q.get('compare') === 'none' ? {} : { previous: row(undefined, 8800) }), pages: values.page.slice(0, 6).map((p, i) => row(p, Math.round(2600 / (i + 1)))), devices: ['desktop', 'mobile', 'tablet'].map((d, i) => row(d, 5000 - i * 2200)), found: 14, notes: [] }
  }],
  ['GET', /^\/sites\/([^/]+)\/goals$/, () => ({ goals: state.goals })],
  ['POST', /^\/sites\/([^/]+)\/goals$/, (_, __, body) => { const g = { id: 'g' + Date.now(), ...body }; state.goals = [...state.goals, g]; return [201, g] }],
  ['PUT', /^\/sites\/([^/]+)\/goals\/(.+)$/, ([, g], __, body) => { state.goals = state.goals.map((x) => (x.id === g ? { id: g, ...body } : x)); return { id: g, ...body } }],
  ['DELETE', /^\/sites\/([^/]+)\/goals\/(.+)$/, ([, g]) => { state.goals = state.goals.filter((x) => x.id !== g); return [204] }],
  ['GET', /^\/sites\/([^/]+)\/goals\/report$/, () => ({ goals: state.goals.map((g, i) => ({ id: g.id, name: g.name, conversions: 824 - i * 210, visits: 24113, rate: (824 - i * 210) / 24113, revenue: i ? '1535.00' : '0' })) })],
  ['GET', /^\/sites\/([^/]+)\/funnels$/, () => ({ funnels: state.funnels })],
  ['POST', /^\/sites\/([^/]+)\/funnels$/, (_, __, body) => { const f = { id: 'f' + Date.now(), ...body }; state.funnels = [...state.funnels, f]; return f }],
  ['DELETE', /^\/sites\/([^/]+)\/funnels\/(.+)$/, ([, f]) => { state.funnels = state.funnels.filter((x) => x.id !== f); return [204] }],
  ['GET', /^\/sites\/([^/]+)\/funnels\/([^/]+)\/report$/, ([, f]) => { let n = 4210; return { source: 'raw', steps: state.funnels.find((x) => x.id === f).steps.map((s, i) => { const before = n; if (i) n = Math.round(n * 0.38); return { name: s.path ?? s.event, visits: n, dropOff: before - n, rate: n / 4210 } }) } }],
  ['POST', /^\/sites\/([^/]+)\/funnels\/preview$/, (_, __, body) => { let n = 900; return { source: 'raw', steps: body.steps.map((s, i) => { const before = n; if (i) n = Math.round(n * 0.3); return { name: s.path ?? s.event, visits: n, dropOff: before - n, rate: n / 900 } }) } }],
  ['GET', /^\/sites\/([^/]+)\/sessions$/, (_, q) => { const at = Number(q.get('cursor') ?? 0); return { sessions: Array.from({ length: 20 }, (_, i) => session(at + i)), cursor: String(at + 20) } }],
  ['GET', /^\/sites\/([^/]+)\/sessions\/s(\d+)$/, ([, i]) => { const s = session(+i); const r = random('t' + i); let at = Date.parse(s.start); return { ...s, timeline: Array.from({ length: s.pageViews + 2 }, (_, n) => { at += r() * 6e4; return n === 2 ? { at: new Date(at).toISOString(), kind: 'event', name: 'signup', path: '/pricing', props: { plan: 'team', seats: '4' }, revenue: '24.90' } : { at: new Date(at).toISOString(), kind: 'pageview', path: values.page[Math.floor(r() * 9)] } }) } }],
  ['GET', /^\/sites\/([^/]+)\/users\/(.+)\/sessions$/, () => ({ sessions: [3, 40, 90].map(session) })],
  ['GET', /^\/sites\/([^/]+)\/journeys$/, (_, q) => {
    const n = +(q.get('steps') ?? 3), levels = [[{ page: q.get('page'), visits: 3200 }]], links = []
    for (let l = 1; l <= n; l++) {
      const pages = values.page.slice(l, l + 4).concat('(exit)'); let left = levels[l - 1].filter((p) => p.page !== '(exit)').reduce((s, p) => s + p.visits, 0)
      const share = [0.32, 0.22, 0.14, 0.08, 0.24]
      levels.push(pages.map((page, i) => ({ page, visits: Math.round(left * share[i]) })))
      levels[l - 1].forEach((p, a) => { if (p.page !== '(exit)') pages.forEach((_, b) => links.push({ from: [l - 1, a], to: [l, b], visits: Math.round(p.visits * share[b]) })) })
    }
    return { levels, links }
  }],
  ['GET', /^\/sites\/([^/]+)\/retention$/, () => ({ cohorts: Array.from({ length: 8 }, (_, i) => { const users = 180 + Math.round(random('c' + i)() * 120); return { start: shift(day(new Date()), -7 * (8 - i)), users, returned: Array.from({ length: 8 - i }, (_, w) => Math.round(users * (w ? 0.42 * 0.82 ** w : 1))) } }) })],
  ['GET', /^\/sites\/([^/]+)\/realtime$/, live],
  ['POST', /^\/sites\/([^/]+)\/verify$/, () => { state.verify = { state: 'running', checked: 1200 }; setTimeout(() => { state.verify = { state: 'clean', at: new Date().toISOString(), from: shift(day(new Date()), -29), to: day(new Date()), checked: 48213 } }, 2500).unref(); return [202, { id: 'v1' }] }],
  ['GET', /^\/sites\/([^/]+)\/verify$/, () => state.verify],
  ['GET', /^\/sites\/([^/]+)\/shares$/, () => ({ shares: [{ id: 'h1', name: 'The agency', created: new Date().toISOString(), password: true, expires: '2026-12-31T00:00:00Z' }] })],
  ['POST', /^\/sites\/([^/]+)\/shares$/, (_, __, body) => [201, { id: 'h2', token: 'mock-share-token', created: new Date().toISOString(), password: !!body.password, name: body.name }]],
  ['POST', /^\/shared\/(.+)$/, (_, __, body) => (body.password ? { site: site('blog') } : [401, { type: 'urn:onefold:error:password_required', detail: 'This view asks for a password.' }])],
  ['POST', /^\/sites\/([^/]+)\/mask\/preview$/, (_, __, body) => ({ paths: body.paths.map((path) => ({ path, stored: path.replace(/[^/]+@[^/]+/g, ':email') })) })],
  ['GET', /^\/sites\/([^/]+)\/bots$/, () => ({ bots: [{ value: 'search_engine', events: 4120 }, { value: 'monitor', events: 812 }, { value: 'library', events: 77 }], aiCrawlers: [{ value: 'GPTBot', events: 640 }, { value: 'ClaudeBot', events: 512 }], refused: [{ value: 'wrong_domain', events: 12 }, { value: 'excluded', events: 3 }] })],
  ['GET', /^\/keys$/, () => ({ keys: [{ id: 'k1', name: 'Weekly report', scope: 'read', site: '*', created: new Date().toISOString(), lastUsed: day(new Date()) }] })],
  ['POST', /^\/keys$/, (_, __, body) => [201, { id: 'k2', token: 'ofk_mock_secret', created: new Date().toISOString(), ...body }]],
  ['GET', /^\/users$/, () => ({ users: [{ id: 'u1', email: 'ada@example.com', name: 'Ada Lovelace', disabled: false, roles: { '*': 'owner' } }, { id: 'u2', email: 'grace@example.com', name: 'Grace Hopper', disabled: false, roles: { blog: 'viewer' } }] })],
  ['GET', /^\/audit$/, () => ({ entries: [{ at: new Date().toISOString(), actor: 'user:u1', action: 'session.login' }, { at: new Date().toISOString(), actor: 'user:u1', action: 'share.create', site: 'blog', subject: 'h1' }] })],
]

answers.push(...deviceAnswers)

export async function handle(req, res) {
  const url = new URL(req.url, 'http://mock')
  if (url.pathname.startsWith('/api/v1/')) {
    const path = url.pathname.slice(7)
    if (streamed(path, req, res)) return
    if (path.endsWith('/realtime/stream')) {
      res.writeHead(200, { 'Content-Type': 'text/event-stream' })
      const send = () => res.write(`event: realtime\ndata: ${JSON.stringify(live())}\n\n`)
      const timer = setInterval(send, 2000)
      req.on('close', () => clearInterval(timer))
      return send()
    }
    let text = ''
    for await (const chunk of req) text += chunk
    for (const [method, pattern, answer] of answers) {
      const m = method === req.method && pattern.exec(path)
      if (!m) continue
      const a = answer(m.slice(1).map(decodeURIComponent), url.searchParams, text ? JSON.parse(text) : {})
      const [status, body] = Array.isArray(a) ? a : [200, a]
      res.writeHead(status, { 'Content-Type': 'application/json' })
      return res.end(body === undefined ? undefined : JSON.stringify(body))
    }
    res.writeHead(404, { 'Content-Type': 'application/problem+json' })
    return res.end(JSON.stringify({ type: 'urn:onefold:error:not_found', detail: 'There is no such operation in the mock.' }))
  }
  const file = url.pathname.startsWith('/assets/') ? url.pathname : '/index.html'
  try {
    const body = await readFile(join(web, file))
    res.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream', 'Content-Security-Policy': "default-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'" })
    res.end(body)
  } catch {
    res.writeHead(404)
    res.end()
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const port = Number(process.argv[2] ?? 5180)
  createServer((q, r) => handle(q, r).catch((e) => { console.error(e); r.writeHead(500); r.end() })).listen(port, '127.0.0.1', () => console.log('http://127.0.0.1:' + port))
}
