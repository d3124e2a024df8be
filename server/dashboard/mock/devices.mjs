// Simulated answers of the telemetry API: three fleets, with 48 devices, 10,000 devices, and none.
// Curves depend only on device, metric and time, so that every resolution shows the same data.

const random = (text) => {
  let h = 2166136261
  for (const c of text) h = Math.imul(h ^ c.charCodeAt(0), 16777619)
  return () => {
    h = Math.imul(h ^ (h >>> 15), 2246822507) + 0x9e3779b9
    return ((h ^ (h >>> 13)) >>> 0) / 2 ** 32
  }
}
const iso = (ms) => new Date(ms).toISOString()
const pick = (r, list) => list[Math.floor(r() * list.length)]
const refuse = (status, code, detail) => [status, { type: 'urn:onefold:error:' + code, detail }]
const HOUR = 3.6e6

const sizes = { plant: 48, city: 10_000, fresh: 0 }
const state = { fleets: { plant: { name: 'Plant 4' }, city: { name: 'City air' }, fresh: { name: 'Greenhouse' } }, made: {}, changed: {}, deleted: new Set(), alerts: null, comments: {}, channels: [], retractions: {}, tokens: {}, next: 1 }
state.profiles = [{ id: 'boiler', name: 'Boiler', every: 60, clock: {}, metrics: [{ name: 'temperature', kind: 'gauge', unit: '°C', min: '-40', max: '200' }, { name: 'pressure', kind: 'gauge', unit: 'bar' }, { name: 'energy', kind: 'counter', unit: 'kWh' }, { name: 'valve', kind: 'state' }] }]
state.rules = [
  { id: 'r1', scope: 'profile', scopeId: 'boiler', name: 'Too hot', metric: 'temperature', raise: '82', clear: '78', for: 900, keepFor: 1800, severity: 'critical', version: 1 },
  { id: 'r2', scope: 'profile', scopeId: 'boiler', name: 'Silent', noData: true, for: 3600, severity: 'warning', version: 1 },
  { id: 'r3', scope: 'device', scopeId: 'boiler-03', name: 'Pressure is low', metric: 'pressure', below: true, raise: '1.2', clear: '1.4', for: 600, keepFor: 600, severity: 'info', off: true, version: 2 },
]

const fleet = (id) => ({ id, name: id, timezone: 'Europe/Berlin', role: 'owner', tenMinutes: false, retention: {}, limits: {}, created: iso(Date.now() - 9e9), ...state.fleets[id] })
const curve = (device, metric, t) => {
  const seed = random(device + metric)()
  const slow = Math.sin((t / 86.4e6) * 2 * Math.PI + seed * 6), fast = Math.sin(t / 4.1e6 + seed * 20) * Math.sin(t / 1.3e7)
  if (metric === 'temperature') return +(71 + seed * 4 + 5 * slow + 4.5 * fast + random(device + Math.floor(t / 6e4))() * 1.4).toFixed(2)
  if (metric === 'pressure') return +(1.8 + 0.25 * slow + 0.1 * fast).toFixed(3)
  if (metric === 'energy') return Math.round((t - 1.75e12) / 2.1e5)
  if (metric === 'pm10') return +(18 + 9 * slow + 6 * fast).toFixed(1)
  return ['open', 'open', 'closed', 'half'][Math.floor(Math.abs(seed + t / 5.3e6)) % 4]
}
const metrics = (f) => (f === 'city' ? [{ name: 'pm10', kind: 'gauge', unit: 'µg/m³' }] : state.profiles[0].metrics)
const silent = (device, t) => (Math.floor(t / 6e4) % 2880) > 1500 && (Math.floor(t / 6e4) % 2880) < 1500 + (random(device)() * 160)

const kinds = [
  { kind: 'webhook', label: 'Webhook', fields: [{ name: 'url', label: 'URL', help: 'URL to post signed JSON to.', example: 'https://example.com/alerts', type: 'url', required: true }] },
  { kind: 'email', label: 'Email', fields: [{ name: 'to', label: 'Recipients', help: 'Email addresses to notify.', example: 'ops@example.com', type: 'email', many: true, required: true }] },
]

const made = {}
function rows(f) {
  if (!made[f]) made[f] = Array.from({ length: sizes[f] ?? 0 }, (_, i) => {
    const r = random(f + i), id = f === 'city' ? 'air-' + String(i).padStart(5, '0') : 'boiler-' + String(i + 1).padStart(2, '0')
    const connectivity = r() < 0.93 ? 'online' : r() < 0.8 ? 'offline' : 'never'
    return {
      id, name: f === 'city' ? (i % 3 ? undefined : `Lamp post ${i}`) : `Boiler ${i + 1}, ${pick(r, ['north wing', 'south wing', 'laundry', 'workshop'])}`, type: f === 'city' ? pick(r, ['lamp', 'tram', 'roof']) : pick(r, ['boiler', 'boiler', 'pump']),
      status: connectivity === 'never' ? 'provisioned' : r() < 0.94 ? 'active' : pick(r, ['maintenance', 'inactive']), location: pick(r, ['Hall A', 'Hall B', 'Roof', 'Basement 2']), firmware: pick(r, ['2.4.1', '2.4.1', '2.4.0', '1.9.7']), tags: r() < 0.5 ? ['gas'] : ['gas', 'leased'], profile: f === 'city' ? undefined : 'boiler', connectivity,
      back: connectivity === 'online' ? r() * 55e3 : connectivity === 'offline' ? 2 * HOUR + r() * 40 * HOUR : 0, firing: i === 2 ? 'critical' : i === 6 ? 'warning' : r() < 0.02 ? pick(r, ['critical', 'warning', 'info']) : undefined,
    }
  })
  const now = Date.now()
  return [...made[f], ...Object.values(state.made).filter((d) => d.fleet === f)].filter((d) => !state.deleted.has(d.id)).map(({ back, fleet: _, firing: __, connectivity, ...d }) => {
    const seen = now - (back ?? 0), have = connectivity !== 'never'
    return { ...d, latest: {}, ...(have ? { connectivity, lastSeen: iso(seen), lastReading: iso(seen), rhythm: 60, latest: Object.fromEntries(metrics(f).map((m) => [m.name, { at: iso(seen), value: curve(d.id, m.name, seen) }])) } : {}), ...state.changed[d.id] }
  })
}
const tally = (list, of) => { const n = {}; for (const d of list) n[of(d)] = (n[of(d)] ?? 0) + 1; return n }
const board = (list) => ({ devices: list.length, byStatus: tally(list, (d) => d.status), byConnectivity: tally(list, (d) => d.connectivity ?? 'never') })
const find = (f, id) => rows(f).find((d) => d.id === id)
const describe = (f, d) => ({ ...d, fleet: f, notes: {}, created: iso(Date.now() - 40 * 24 * HOUR), updated: iso(Date.now() - HOUR), tokens: state.tokens[d.id] ?? [{ created: iso(Date.now() - 40 * 24 * HOUR) }] })

const WIDTH = { raw: 6e4, '10min': 6e5, hourly: HOUR, daily: 24 * HOUR }
function series(f, device, q) {
  const from = Date.parse(q.get('from')), to = Math.min(Date.parse(q.get('to')), Date.now()), max = +(q.get('maxPoints') ?? 500), metric = q.get('metric')
  const resolution = q.get('resolution') ?? (['raw', 'hourly'].find((p) => (to - from) / WIDTH[p] <= max) ?? 'daily'), width = WIDTH[resolution], points = []
  const kind = metrics(f).find((m) => m.name === metric)?.kind ?? 'gauge'
  for (let t = Math.ceil(from / width) * width; t < to; t += width) {
    if (resolution === 'raw') { if (!silent(device, t)) points.push({ at: iso(t), value: curve(device, metric, t) }); continue }
    const samples = Array.from({ length: 24 }, (_, i) => t + (i * width) / 24).filter((s) => !silent(device, s) && s < Date.now())
    if (!samples.length) { if (q.get('fill')) points.push({ at: iso(t), value: null }); continue }
    const v = samples.map((s) => curve(device, metric, s)), first = v[0], last = v.at(-1), base = { metric, kind, count: Math.round((samples.length / 24) * (width / 6e4)), first: String(first), last: String(last) }
    if (kind === 'state') points.push({ at: iso(t), value: last, figures: { ...base, lasted: tally(v, (x) => x) }, coverage: samples.length / 24 })
    else if (kind === 'counter') points.push({ at: iso(t), value: curve(device, metric, t + width) - first, figures: { ...base, increase: String(curve(device, metric, t + width) - first), resets: 0, rate: '0.0047', min: String(first), max: String(last) }, coverage: samples.length / 24 })
    else points.push({ at: iso(t), value: +(v.reduce((a, b) => a + b) / v.length).toFixed(4), figures: { ...base, mean: (v.reduce((a, b) => a + b) / v.length).toFixed(4), min: String(Math.min(...v)), max: String(Math.max(...v)), p50: String(v.toSorted((a, b) => a - b)[v.length >> 1]), p95: String(Math.max(...v)), exact: true, deviation: '0.871' }, coverage: samples.length / 24 })
  }
  return { deviceId: device, metric, kind, resolution, points }
}
const reading = (f, device, t) => ({ at: iso(t), arrived: iso(t + 240), values: Object.fromEntries(metrics(f).map((m) => [m.name, curve(device, m.name, t)])) })

function alerts() {
  const worst = { 2: 'critical', 6: 'warning', 20: 'info' }
  state.alerts ??= rows('plant').filter((_, i) => worst[i]).concat(rows('plant').slice(10, 40)).map((d, i) => {
    const open = i < 3, severity = open ? Object.values(worst)[i] : pick(random('a' + i), ['critical', 'warning', 'info']), since = Date.now() - (open ? (i + 1) * 1.7 * HOUR : (i + 1) * 9 * HOUR)
    return { id: '01ALERT' + String(i).padStart(2, '0'), device: d.id, deviceName: d.name, rule: severity === 'warning' ? 'r2' : 'r1', ruleName: severity === 'warning' ? 'Silent' : 'Too hot', ...(severity === 'warning' ? {} : { metric: 'temperature', value: '83.12', peak: '86.4' }), severity, state: open ? 'firing' : 'resolved', message: severity === 'warning' ? 'No reading for 1 h' : 'temperature above 82 for 15 min', since: iso(since), firedAt: iso(since + 9e5), lastAt: iso(since + 3e6), ...(open ? {} : { resolvedAt: iso(since + 1.4 * HOUR), ...(i % 4 === 0 ? { withdrawn: true } : {}) }) }
  })
  return state.alerts
}
const change = (device, id, more, action, text) => {
  const a = alerts().find((x) => x.id === id && x.device === device)
  if (!a) return refuse(404, 'not_found', 'There is no such alert.')
  Object.assign(a, more)
  ;(state.comments[id] ??= []).push({ at: iso(Date.now()), by: 'ada@example.com', what: action, ...(text ? { text } : {}) })
  return a
}

// compared are the results of checks of figures against raw readings.
const compared = {
  state: 'differs', at: iso(Date.now() - 36e5), from: iso(Date.now() - 6 * 864e5).slice(0, 10), to: iso(Date.now()).slice(0, 10), done: 48, of: 48, readings: 483_840, checked: 9_216, count: 104, sealed: 0, waiting: 0, busy: 0,
  differences: [
    { item: 'hour boiler-03 2026-05-12T06:00:00Z', part: 'hour', device: 'boiler-03', start: '2026-05-12T06:00:00Z', field: 'wrong', stored: '61 readings; temperature: count 61, sum 4331.5, min 68, max 75, first 70, last 71.5', recomputed: '60 readings; temperature: count 60, sum 4260, min 68, max 75, first 70, last 71.5' },
    { item: 'day boiler-07 2026-05-12', part: 'day', device: 'boiler-07', start: '2026-05-12', field: 'missing', stored: '', recomputed: '1440 readings; temperature: count 1440, sum 102240, min 68, max 75, first 70, last 71' },
    { item: 'latest boiler-03', part: 'latest', device: 'boiler-03', field: 'wrong', stored: 'temperature 99 at 2026-05-13T09:30:00Z', recomputed: 'temperature 71.5 at 2026-05-13T09:30:00Z' },
    { item: 'counts', part: 'counts', field: 'wrong', stored: '47 active, 1 retired, 46 online', recomputed: '48 active, 46 online' },
  ],
}
const one = '^/fleets/([^/]+)', dev = one + '/devices/([^/]+)'
const path = (text) => new RegExp(text + '$')
export const deviceAnswers = [
  ['GET', path('^/fleets'), () => ({ fleets: Object.keys(state.fleets).map(fleet) })],
  ['POST', path('^/fleets'), (_, __, body) => (state.fleets[body.id] ? refuse(409, 'exists', 'There is such a fleet.') : ((state.fleets[body.id] = { name: body.name, timezone: body.timezone }), [201, fleet(body.id)]))],
  ['GET', path(one), ([f]) => (state.fleets[f] ? fleet(f) : refuse(404, 'not_found', 'There is no such fleet.'))],
  ['POST', path(one + '/verify'), () => [202, { id: 'v1' }]],
  ['POST', path(one + '/rebuild'), () => [202, { id: 'v2' }]],
  ['GET', path(one + '/verify'), ([f]) => ({ ...compared, ...(f === 'city' ? { state: 'clean', count: 0, sealed: 1344, firstSealed: 'air-0001 hourly 2026-04-01T00:00:00Z', waiting: 1, busy: 2, differences: [] } : {}) })],
  ['PATCH', path(one), ([f], _, body) => (Object.assign(state.fleets[f], body), fleet(f))],
  ['DELETE', path(one), ([f]) => (delete state.fleets[f], [204])],
  ['GET', path(one + '/board'), ([f]) => board(rows(f))],
  ['GET', path(one + '/devices'), ([f], q) => { const list = rows(f), at = Number(q.get('cursor') ?? 0), n = Number(q.get('limit') ?? 100); return { devices: list.slice(at, at + n), ...(at + n < list.length ? { cursor: String(at + n) } : {}) } }],
  ['GET', path(one + '/profiles'), () => ({ profiles: state.profiles })],
  ['PUT', path(one + '/profiles/([^/]+)'), ([, id], _, body) => ((state.profiles = [...state.profiles.filter((p) => p.id !== id), { ...body, id }]), { ...body, id })],
  ['DELETE', path(one + '/profiles/([^/]+)'), ([, id]) => ((state.profiles = state.profiles.filter((p) => p.id !== id)), [204])],
  ['POST', path(one + '/devices'), ([f], _, body) => {
    if (find(f, body.id)) return refuse(409, 'exists', 'There is a device with this id.')
    state.made[body.id] = { status: 'active', connectivity: 'never', ...body, fleet: f }
    state.tokens[body.id] = []
    return [201, describe(f, find(f, body.id))]
  }],
  ['GET', path(dev), ([f, d]) => { const x = find(f, d); return x ? describe(f, x) : refuse(404, 'not_found', 'There is no such device.') }],
  ['PATCH', path(dev), ([f, d], _, body) => ((state.changed[d] = { ...state.changed[d], ...body }), describe(f, find(f, d)))],
  ['DELETE', path(dev), ([, d]) => (state.deleted.add(d), [204])],
  ['POST', path(dev + '/tokens'), ([, d]) => ((state.tokens[d] = [{ created: iso(Date.now()) }, ...(state.tokens[d] ?? [])].slice(0, 2)), [201, { token: d + '.mock-token-' + state.next++ }])],
  ['POST', path(dev + '/claim-code'), () => [201, { code: 'MOCK-CODE' }]],
  ['POST', path(one + '/claim'), ([f], _, body) => (body.code === 'MOCK-CODE' ? { device: describe(f, rows(f)[0]), token: 'mock-token' } : refuse(409, 'claim', 'The code is not valid.'))],
  ['DELETE', path(dev + '/tokens'), ([, d], q) => ((state.tokens[d] = q.get('all') === 'true' ? [] : (state.tokens[d] ?? []).slice(0, 1)), [204])],
  ['GET', path(dev + '/series'), ([f, d], q) => series(f, d, q)],
  ['GET', path(dev + '/readings'), ([f, d], q) => ({ readings: !find(f, d)?.connectivity ? [] : Array.from({ length: 25 }, (_, i) => reading(f, d, Math.floor(Date.parse(q.get('to')) / 6e4) * 6e4 - (24 - i) * 6e4)) })],
  ['GET', path(dev + '/quarantine'), () => ({ readings: [{ claimed: '1970-01-01T00:03:11Z', arrived: iso(Date.now() - 7 * HOUR), reason: 'implausible_clock', values: { temperature: 71.2 } }] })],
  ['GET', path(dev + '/retractions'), ([, d]) => ({ retractions: state.retractions[d] ?? [] })],
  ['POST', path(dev + '/retractions'), ([, d], _, body) => { const r = { id: 'x' + state.next++, created: iso(Date.now()), by: 'ada@example.com', ...body }; (state.retractions[d] ??= []).push(r); return [201, r] }],
  ['DELETE', path(dev + '/retractions/([^/]+)'), ([, d, id]) => ((state.retractions[d] = state.retractions[d].filter((r) => r.id !== id)), [204])],
  ['GET', path(one + '/alerts'), ([f], q) => { const at = Number(q.get('cursor') ?? 0), list = (f === 'plant' ? alerts() : []).filter((a) => (q.get('state') !== 'open' || a.state === 'firing') && (q.get('withdrawn') !== 'only' || a.withdrawn) && (q.get('withdrawn') !== 'exclude' || !a.withdrawn) && (!q.get('device') || a.device === q.get('device')) && (!q.get('severity') || a.severity === q.get('severity'))); return { alerts: list.slice(at, at + 20), ...(at + 20 < list.length ? { cursor: String(at + 20) } : {}) } }],
  ['GET', path(dev + '/alerts/([^/]+)'), ([, d, id]) => { const a = alerts().find((x) => x.id === id && x.device === d); return a ? { ...a, history: state.comments[id] ?? [] } : refuse(404, 'not_found', 'There is no such alert.') }],
  ['POST', path(dev + '/alerts/([^/]+)/ack'), ([, d, id]) => change(d, id, { ackedAt: iso(Date.now()), ackedBy: 'ada@example.com' }, 'acknowledged')],
  ['POST', path(dev + '/alerts/([^/]+)/snooze'), ([, d, id], _, body) => change(d, id, { snoozedUntil: body.until }, body.until ? 'snoozed' : 'unsnoozed', body.until && 'until ' + body.until)],
  ['POST', path(dev + '/alerts/([^/]+)/comments'), ([, d, id], _, body) => change(d, id, {}, 'commented', body.text)],
  ['GET', path(one + '/rules'), ([f]) => ({ rules: f === 'plant' ? state.rules : [] })],
  ['PUT', path(one + '/rules/([^/]+)/([^/]+)/([^/]+)'), ([, scope, scopeId, id], _, body) => { const r = { ...body, scope, scopeId, id }; state.rules = state.rules.some((x) => x.id === id) ? state.rules.map((x) => (x.id === id ? r : x)) : [...state.rules, r]; return r }],
  ['DELETE', path(one + '/rules/([^/]+)/([^/]+)/([^/]+)'), ([, , , id]) => ((state.rules = state.rules.filter((r) => r.id !== id)), [204])],
  ['POST', path(one + '/rules/test'), ([f], _, body) => test(f, body)],
  ['GET', path(one + '/channels'), () => ({ channels: state.channels, kinds })],
  ['PUT', path(one + '/channels/([^/]+)'), ([, id], _, body) => (state.channels.push({ ...body, id }), { channel: { ...body, id }, ...(body.kind === 'webhook' ? { secret: 'mock-secret' } : {}) })],
  ['GET', path(one + '/notifications'), () => ({ notifications: [{ id: 'n1', channel: 'c1', event: 'firing', alert: { device: 'boiler-03', deviceName: 'Boiler 3', message: 'temperature above 82 for 15 min', severity: 'critical' }, state: 'dead', attempts: 12, lastError: 'https://example.com/alerts answered 500', createdAt: iso(Date.now() - HOUR) }] })],
  ['POST', path(one + '/notifications/([^/]+)/resend'), () => [202, {}]],
  ['DELETE', path(one + '/channels/([^/]+)'), ([, id]) => ((state.channels = state.channels.filter((c) => c.id !== id)), [204])],
]

// test roughly imitates the real rules, so that the page has something to show.
function test(f, { rule, device, from, to }) {
  const answer = { points: 0, breaching: 0, episodes: [] }
  let e, last
  for (let t = Date.parse(from); t < Math.min(Date.parse(to), Date.now()); t += 6e4) {
    if (silent(device, t)) continue
    answer.points++
    const v = rule.metric ? curve(device, rule.metric, t) : 0, over = (level) => (rule.below ? v < +level : v > +level)
    if (over(rule.raise)) answer.breaching++
    if (!e && over(rule.raise)) e = { since: iso(t), peak: String(v) }
    if (!e) continue
    if (!e.firedAt) {
      if (!over(rule.raise)) { e = undefined; continue }
      if (t - Date.parse(e.since) >= (rule.for ?? 0) * 1000) { e.firedAt = iso(t); answer.episodes.push(e) }
    }
    if (rule.below ? v < +e.peak : v > +e.peak) e.peak = String(v)
    if (over(rule.clear || rule.raise)) { last = t; e.last = iso(t) }
    else if (e.firedAt && t - last >= (rule.keepFor ?? 0) * 1000) { e.resolvedAt = iso(t); e = undefined }
  }
  return answer
}

// streamed is the live stream of a device, with a reading every two seconds.
export function streamed(pathname, req, res) {
  const m = path(dev + '/tail').exec(pathname)
  if (!m) return false
  const [f, d] = m.slice(1).map(decodeURIComponent)
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  res.write('event: beat\ndata: {}\n\n')
  const timer = setInterval(() => res.write(`event: reading\ndata: ${JSON.stringify(reading(f, d, Date.now()))}\n\n`), 2000)
  req.on('close', () => clearInterval(timer))
  return true
}
