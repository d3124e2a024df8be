// The client of the HTTP API. Its types mirror the API, so that the compiler checks what pages ask for.

export type Period = 'hour' | 'day' | 'month'
export type Compare = 'none' | 'previous' | 'year' | 'everything'
export type Align = 'weekday' | 'date'
export type Role = 'owner' | 'admin' | 'viewer'

export interface Figures {
  visitors: number
  visits: number
  pageViews: number
  events: number
  bounces: number
  bounceRate: number
  seconds: number
  duration: number
  viewsPerVisit: number
  revenue: string | number
  conversions: number
  engagedSeconds?: number
  scrollDepth?: number
}

export interface Bucket extends Figures { start: string }

export interface Stats {
  from: string
  to: string
  period: Period
  timezone: string
  source: 'statistics' | 'raw' | 'warehouse'
  totals: Figures
  previousFrom?: string // first day of the comparison
  previousTo?: string
  align?: Align
  previous?: Figures
  buckets: Bucket[]
  previousBuckets?: Bucket[]
  notes?: string[] | null
  imported?: Imported
  previousImported?: Imported
}

// Difference is a number in both ranges. Revenue is a text.
export interface Difference { before: number | string; after: number | string; difference: number | string }
export interface Part extends Difference { value: string }

export interface Explanation {
  total: Difference
  divided_as: string
  divided: Difference
  dimensions: { dimension: string; parts: Part[]; rest?: Difference; rest_values?: number; unattributed?: Difference }[]
  meta: { notes: string[] }
}

// Imported is the part of a range whose counts were imported from another analytics product.
export interface Imported { from: string; to: string; included: boolean; note: string }

export interface Row {
  value: string
  visitors?: number
  visits: number
  pageViews: number
  events?: number
  bounceRate?: number
  duration?: number
  engagedSeconds?: number
  scrollDepth?: number
  revenue?: string | number
  share?: number
}

export interface Breakdown { by: string; source: 'statistics' | 'raw' | 'warehouse'; rows: Row[] | null; none?: Row; other?: Partial<Row>; total: number; imported?: Imported }

export interface SiteSummary {
  id: string
  name: string
  domains: string[] | null
  timezone: string
  role?: Role
  visitors?: number
  previousVisitors?: number
  trend?: number[] | null
}

export interface Installation {
  parameter: string
  expires: string
  report?: { at: string; site: string; host: string; ignored: boolean; refused: boolean; package: boolean; status: string; reason?: string; detail?: string }
}

export interface Site {
  id: string
  name: string
  domains: string[] | null
  timezone: string
  currency?: string
  shards?: { from: string; shards: number }[] | null
  retention?: { rawDays: number; hourDays: number; dayDays: number }
  exclude?: { addresses?: string[] | null; paths?: string[] | null; hosts?: string[] | null }
  keepDataCenters?: boolean
  mask?: Mask
  respectDnt?: boolean
  respectGpc?: boolean
  public?: boolean
  customProperties?: string[] | null
  hasEvents?: boolean
  role?: Role
  segment?: string // the only segment that a shared view shows
}

export type Detector = 'email' | 'phone' | 'uuid' | 'token'
export interface Mask { detect: Detector[] | null; paths: string[] | null }

export interface Goal {
  id: string
  name: string
  path?: string
  pathKind?: 'wildcard' | 'regexp'
  event?: string
  value?: string
  currency?: string
  counting: 'session' | 'every'
  pending?: boolean // past events are still being counted
}

export interface GoalResult { id: string; name: string; conversions: number; visits: number; rate: number; revenue: string | number }
export interface Step { path?: string; event?: string; name?: string }
export interface Funnel { id: string; name: string; steps: Step[]; windowMinutes?: number }
export interface FunnelReport { groups?: { value: string; visits: number[] }[] | null; steps: { name: string; visits: number; dropOff: number; rate: number }[]; source: string; notes?: string[] | null }

export interface Session {
  id: string
  start: string
  end: string
  entry: string
  exit: string
  pageViews: number
  events: number
  country?: string
  city?: string
  browser?: string
  os?: string
  device?: string
  source?: string
  channel?: string
  userId?: string
  revenue?: string | number
}

export interface TimelineItem { at: string; kind: string; name?: string; path: string; props?: Record<string, string>; revenue?: string | number; paid?: { amount: string; currency: string; unconverted?: boolean } }
export interface Sessions { sessions: Session[] | null; cursor?: string; source?: string; notes?: string[] | null }
export interface SessionDetail extends Session { timeline: TimelineItem[] | null }
export interface Journeys {
  notes?: string[] | null
  levels: { page: string; visits: number }[][]
  links: { from: [number, number]; to: [number, number]; visits: number }[]
}
export interface Retention { notes?: string[] | null; cohorts: { start: string; users: number; returned: number[] }[] | null }

export interface Realtime {
  now: number
  last30: { visitors: number; pageViews: number; minutes: { minute: string; visitors: number; pageViews: number }[] }
  pages: { value: string; visitors: number }[] | null
  sources: { value: string; visitors: number }[] | null
  countries: { value: string; visitors: number }[] | null
}

export interface Verification {
  state: 'running' | 'clean' | 'differs' | 'rebuilt' | 'never' | 'failed'
  rebuild?: boolean // while it runs: items that differ are replaced
  rebuilt?: number // items that were replaced
  at?: string
  from?: string
  to?: string
  checked?: number
  done?: number // days of a site, devices of a fleet
  of?: number
  events?: number // of a site
  readings?: number // of a fleet
  sealed?: number // days of a site, items of a fleet, left out because raw facts have expired
  firstSealed?: string
  waiting?: number // days of a fleet left out while a retraction is applied
  busy?: number // items that changed too often to be compared
  count?: number // items that differ; differences holds the first of them
  problem?: string
  differences?: { item: string; field: string; stored: string; recomputed: string }[] | null
}

// Vital is one web vital at the 75th percentile, with the shares of page loads that were good, in need of improvement, and poor.
export interface Vital { p75: number; rating: 'good' | 'needs improvement' | 'poor'; loads: number; good: number; needsImprovement: number; poor: number }
export interface VitalsRow { value?: string; loads: number; lcp?: Vital; inp?: Vital; cls?: Vital }
export interface Vitals { total: VitalsRow; previous?: VitalsRow; pages: VitalsRow[] | null; devices: VitalsRow[] | null; found: number; notes?: string[] | null }

export interface Counted { value: string; events: number }
export interface Refusals { bots: Counted[] | null; aiCrawlers: Counted[] | null; refused: Counted[] | null }

export interface Receipt { id: string; at: string; doneAt?: string; kind: string; deleted: { events: number; sessions: number; visitors: number }; from?: string; to?: string; sealedDays?: number; warehouse?: 'waiting' | 'done' }

export interface ImportCounts { from: string; to: string; until: string; pageViews: number; visits: number; visitors: number; events: number; malformed: number }
export interface Import extends ImportCounts { id: string; state: 'storing' | 'done' | 'deleting'; format: string; at: string }
export interface ImportWork {
  id: string
  state: 'uploading' | 'waiting' | 'running' | 'done' | 'failed'
  dryRun: boolean
  done: number // bytes read so far
  of: number
  result?: Import & { days: number; cut: number; held: number; tables: { file: string; rows: number; problem?: string; ignored?: string[] | null }[] | null }
  malformed?: string[] | null
  problem?: string
}
export interface Imports { imports: Import[] | null; work?: ImportWork; maxBytes: number }

// Me is the caller. user is absent for the cookie of a shared view.
export interface Me { user?: { id: string; email: string; name: string }; csrf?: string; mustChangePassword?: boolean; owner: boolean; newSites: boolean; eventStore?: Role; sites: { id: string; role: Role }[] | null; fleets: { id: string; role: Role }[] | null }
// Annotation is a note about a moment, such as a release.
export interface Annotation { id: string; at: string; text: string; url?: string }
export type Scope = 'ingest' | 'read' | 'write'
export interface Key { id: string; name: string; site: string; scope: Scope; created: string; lastUsed?: string; expires?: string; creator?: string; refused?: boolean; formerUntil?: string; token?: string; aggregateTypes?: string[]; tenant?: string; personalData?: boolean }
// placeName names the scope of a role or key.
export const placeName = (place: string) => (place === '*' ? 'all sites' : place === 'events:main' ? 'the event store' : place)
// Made lists the keys and shared links that a person created. They stop working when the person loses their rights.
export interface Made { keys: Key[] | null; shares: { site: string; name: string; id: string }[] | null }
export interface User { id: string; email: string; name: string; disabled: boolean; roles: Record<string, Role> | null }
export interface Share { id: string; name: string; created: string; expires?: string; password: boolean; embed: string[]; segment?: { id: string; name: string }; token?: string }
export interface Member { id: string; email: string; name: string; role: Role; allSites: boolean; disabled: boolean }
export interface Invitation { id: string; email: string; role: Role; expires: string; token?: string }
export interface Invited { email: string; site?: string; fleet?: string; eventStore?: boolean; role: Role }
export interface AuditEntry { at: string; actor: string; action: string; site?: string; subject?: string; changes?: { field: string; before?: string; after?: string; hidden?: boolean }[] }

// HotKey is a partition key with its peak load; reads and writes are load curves. spread has the current and the advised number of
// partitions of the site's events.
export interface HotKey {
  key: string; index?: string; at: string; peakReads: number; peakWrites: number; share: number; reads: number[]; writes: number[]; entities: string[] | null; patterns: string[] | null
  hot: boolean; brief?: boolean; until?: string; fix?: string; spread?: { site: string; shards: number; advised: number; from?: string; next?: number }
}
export interface Heat { metered: boolean; from: string; to: string; step: number; partitionReads: number; partitionWrites: number; hottest: number[] | null; keys: HotKey[] | null }

export interface Session { id: string; current: boolean; browser?: string; system?: string; method?: 'password' | 'code' | 'recovery_code' | 'passkey' | 'openid'; created: string; used: string; expires: string }
export interface Passkey { id: string; name: string; created: string; used?: string; synced: boolean; refused: boolean }
export type Proof = { password: string } | { code: string }
export interface Enrolment { secret: string; uri: string; qr: string }
export interface RecoveryCodes { recoveryCodes: string[] }
interface PublicKey { publicKey: unknown }

// Problem is an error of the API: a message for people, and a stable code for programs.
export class Problem extends Error {
  constructor(readonly status: number, readonly code: string, detail: string, readonly content?: unknown) {
    super(detail)
  }
  get offline() { return this.status === 0 }
}

let csrf = ''
export const setCsrf = (token: string) => { csrf = token }

type Query = URLSearchParams | undefined

export async function call<T>(method: string, path: string, query?: Query, body?: unknown, signal?: AbortSignal): Promise<T> {
  const text = query?.toString()
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  if (method !== 'GET' && csrf) headers['X-CSRF-Token'] = csrf
  let answer: Response
  try {
    answer = await fetch('/api/v1' + path + (text ? '?' + text : ''), {
      method, headers, credentials: 'same-origin', body: body === undefined ? null : JSON.stringify(body), signal: signal ?? null,
    })
  } catch (e) {
    if (e instanceof DOMException && e.name === 'AbortError') throw e
    throw new Problem(0, 'offline', 'Cannot reach the server. Check your connection and try again.')
  }
  if (answer.status === 204) return undefined as T
  const type = answer.headers.get('Content-Type') ?? ''
  const content = type.includes('json') ? await answer.json() : await answer.text()
  if (answer.ok) return content as T
  throw problemOf(answer.status, content)
}

function problemOf(status: number, content: unknown): Problem {
  const p = typeof content === 'object' && content ? content as { type?: string; code?: string; detail?: string; title?: string; errors?: { message?: string; location?: string }[] } : {}
  const reasons = (p.errors ?? []).map((e) => [e.location?.replace(/^(body|query)\./, ''), e.message].filter(Boolean).join(': ')).filter(Boolean)
  return new Problem(status, p.code ?? (p.type ?? '').split(':').pop() ?? '', [p.detail || p.title || `The server returned status ${status}.`, ...reasons].join(' '), content)
}

// upload sends files and reports progress from 0 to 1, which fetch cannot.
function upload<T>(path: string, files: File[], progress: (part: number) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const body = new FormData()
    for (const f of files) body.append('files', f)
    const request = new XMLHttpRequest()
    request.open('POST', '/api/v1' + path)
    request.setRequestHeader('Accept', 'application/json')
    if (csrf) request.setRequestHeader('X-CSRF-Token', csrf)
    request.upload.onprogress = (e) => { if (e.lengthComputable) progress(e.loaded / e.total) }
    request.onload = () => {
      let content: unknown
      try { content = JSON.parse(request.responseText) } catch { /* the status is enough */ }
      if (request.status >= 200 && request.status < 300) resolve(content as T)
      else reject(problemOf(request.status, content))
    }
    request.onerror = () => reject(new Problem(0, 'offline', 'The upload was interrupted. Check your connection and send the files again.'))
    request.send(body)
  })
}

const at = (site: string) => '/sites/' + encodeURIComponent(site)
const id = encodeURIComponent
export type Abort = AbortSignal | undefined

export const api = {
  setupNeeded: () => call<{ needed: boolean; passkeys: boolean; mail: boolean; openid?: string }>('GET', '/setup'),
  setup: (body: { token: string; email: string; password: string; name: string }) => call<Me | undefined>('POST', '/setup', undefined, body),
  login: (body: { email: string; password: string }) => call<Me | undefined>('POST', '/login', undefined, body),
  loginCode: (challenge: string, code: string) => call<Me>('POST', '/login/code', undefined, { challenge, code }),
  loginPasskeyOptions: () => call<PublicKey>('POST', '/login/passkey/options'),
  loginPasskey: (credential: unknown) => call<Me>('POST', '/login/passkey', undefined, { credential }),
  forgotten: (email: string) => call<void>('POST', '/password/forgotten', undefined, { email }),
  openReset: (token: string) => call<{ email: string }>('POST', '/password/open', undefined, { token }),
  resetPassword: (token: string, password: string) => call<void>('POST', '/password/reset', undefined, { token, password }),
  createReset: (user: string) => call<{ token: string; expires: string }>('POST', '/users/' + id(user) + '/reset-link', undefined, {}),
  logout: (everywhere = false) => call<void>('POST', '/logout', everywhere ? new URLSearchParams({ everywhere: 'true' }) : undefined, {}),
  me: () => call<Me>('GET', '/me'),
  mySessions: (s?: Abort) => call<{ sessions: Session[] }>('GET', '/me/sessions', undefined, undefined, s),
  endSession: (session: string) => call<void>('DELETE', '/me/sessions/' + session),
  endOtherSessions: () => call<Me>('DELETE', '/me/sessions'),
  factor: (s?: Abort) => call<{ since?: string; recoveryCodes: number }>('GET', '/me/second-factor', undefined, undefined, s),
  beginFactor: (proof: Proof) => call<Enrolment>('POST', '/me/second-factor', undefined, proof),
  confirmFactor: (code: string) => call<RecoveryCodes>('POST', '/me/second-factor/confirm', undefined, { code }),
  renewCodes: (proof: Proof) => call<RecoveryCodes>('POST', '/me/second-factor/recovery-codes', undefined, proof),
  removeFactor: (proof: Proof) => call<void>('POST', '/me/second-factor/remove', undefined, proof),
  passkeys: (s?: Abort) => call<{ available: boolean; passkeys: Passkey[] }>('GET', '/me/passkeys', undefined, undefined, s),
  passkeyOptions: (proof: Proof) => call<PublicKey>('POST', '/me/passkeys/options', undefined, proof),
  addPasskey: (name: string, credential: unknown) => call<Passkey>('POST', '/me/passkeys', undefined, { name, credential }),
  renamePasskey: (passkey: string, name: string) => call<Passkey>('PATCH', '/me/passkeys/' + passkey, undefined, { name }),
  removePasskey: (passkey: string) => call<void>('DELETE', '/me/passkeys/' + passkey),
  changeMe: (body: { name?: string; password?: string; currentPassword?: string }) => call<Me>('PATCH', '/me', undefined, body),

  sites: (s?: Abort) => call<{ sites: SiteSummary[] | null }>('GET', '/sites', undefined, undefined, s),
  createSite: (body: { id?: string; name: string; domains: string[]; timezone: string }) => call<Site>('POST', '/sites', undefined, body),
  site: (site: string, s?: Abort) => call<Site>('GET', at(site), undefined, undefined, s),
  setShards: (site: string, shards: number) => call<Site>('PUT', at(site) + '/shards', undefined, { shards }),
  heat: (q: Query, s?: Abort) => call<Heat>('GET', '/heat', q, undefined, s),
  changeSite: (site: string, body: Partial<Site>) => call<Site>('PATCH', at(site), undefined, body),
  previewMask: (site: string, body: { mask: Mask; paths: string[] }, s?: Abort) => call<{ paths: { path: string; stored: string }[] }>('POST', at(site) + '/mask/preview', undefined, body, s),

  deleteSite: (site: string) => call<void>('DELETE', at(site)),
  stats: (site: string, q: Query, s?: Abort) => call<Stats>('GET', at(site) + '/stats', q, undefined, s),
  explain: (site: string, body: object, s?: Abort) => call<Explanation>('POST', at(site) + '/explain', undefined, body, s),
  breakdown: (site: string, q: Query, s?: Abort) => call<Breakdown>('GET', at(site) + '/breakdown', q, undefined, s),

  vitals: (site: string, q: Query, s?: Abort) => call<Vitals>('GET', at(site) + '/vitals', q, undefined, s),
  reading: (site: string, s?: Abort) => call<{ done: number; of: number }>('GET', at(site) + '/reading', undefined, undefined, s),

  goals: (site: string, s?: Abort) => call<{ goals: Goal[] | null }>('GET', at(site) + '/goals', undefined, undefined, s),
  goalReport: (site: string, q: Query, s?: Abort) => call<{ goals: GoalResult[] | null }>('GET', at(site) + '/goals/report', q, undefined, s),
  createGoal: (site: string, body: Omit<Goal, 'pending'>) => call<Goal>('POST', at(site) + '/goals', undefined, body),
  changeGoal: (site: string, goal: string, body: Omit<Goal, 'id'>) => call<Goal>('PUT', at(site) + '/goals/' + id(goal), undefined, body),
  deleteGoal: (site: string, goal: string) => call<void>('DELETE', at(site) + '/goals/' + id(goal)),

  annotations: (site: string, from: string, to: string, s?: Abort) => call<{ annotations: Annotation[] | null }>('GET', at(site) + '/annotations', new URLSearchParams({ from, to }), undefined, s),
  checkInstallation: (site: string) => call<Installation>('POST', at(site) + '/installation'),
  installation: (site: string, s?: Abort) => call<Installation>('GET', at(site) + '/installation', undefined, undefined, s),
  addAnnotation: (site: string, body: Omit<Annotation, 'id'>) => call<Annotation>('POST', at(site) + '/annotations', undefined, body),
  deleteAnnotation: (site: string, annotation: string) => call<void>('DELETE', at(site) + '/annotations/' + id(annotation)),
  funnels: (site: string, s?: Abort) => call<{ funnels: Funnel[] | null }>('GET', at(site) + '/funnels', undefined, undefined, s),
  createFunnel: (site: string, body: Omit<Funnel, 'id'>) => call<Funnel>('POST', at(site) + '/funnels', undefined, body),
  deleteFunnel: (site: string, funnel: string) => call<void>('DELETE', at(site) + '/funnels/' + id(funnel)),
  funnelReport: (site: string, funnel: string, q: Query, s?: Abort) => call<FunnelReport>('GET', at(site) + '/funnels/' + id(funnel) + '/report', q, undefined, s),
  previewFunnel: (site: string, q: Query, body: { steps: Step[]; windowMinutes?: number }) => call<FunnelReport>('POST', at(site) + '/funnels/preview', q, body),

  sessions: (site: string, q: Query, s?: Abort) => call<Sessions>('GET', at(site) + '/sessions', q, undefined, s),
  session: (site: string, session: string, s?: Abort) => call<SessionDetail>('GET', at(site) + '/sessions/' + id(session), undefined, undefined, s),
  userSessions: (site: string, user: string, s?: Abort) => call<Sessions>('GET', at(site) + '/users/' + id(user) + '/sessions', undefined, undefined, s),
  journeys: (site: string, q: Query, s?: Abort) => call<Journeys>('GET', at(site) + '/journeys', q, undefined, s),
  retention: (site: string, q: Query, s?: Abort) => call<Retention>('GET', at(site) + '/retention', q, undefined, s),
  realtime: (site: string, s?: Abort) => call<Realtime>('GET', at(site) + '/realtime', undefined, undefined, s),
  realtimeStream: (site: string) => '/api/v1' + at(site) + '/realtime/stream',

  verify: (site: string, body: { from: string; to: string }) => call<{ id?: string }>('POST', at(site) + '/verify', undefined, body),
  verification: (site: string, s?: Abort) => call<Verification>('GET', at(site) + '/verify', undefined, undefined, s),
  refusals: (site: string, q: Query, s?: Abort) => call<Refusals>('GET', at(site) + '/bots', q, undefined, s),
  erase: (site: string, body: { userId: string }) => call<Receipt>('POST', at(site) + '/erasure', undefined, body),
  receipts: (site: string, s?: Abort) => call<{ receipts: Receipt[] | null }>('GET', at(site) + '/erasure', undefined, undefined, s),
  imports: (site: string, s?: Abort) => call<Imports>('GET', at(site) + '/imports', undefined, undefined, s),
  addImport: (site: string, files: File[], dryRun: boolean, progress: (part: number) => void) => upload<ImportWork>(at(site) + '/imports' + (dryRun ? '?dryRun=true' : ''), files, progress),
  deleteImport: (site: string, id_: string) => call<void>('DELETE', at(site) + '/imports/' + id(id_)),
  exportURL: (site: string, q: URLSearchParams) => '/api/v1' + at(site) + '/export?' + q,

  keys: (s?: Abort) => call<{ keys: Key[] | null }>('GET', '/keys', undefined, undefined, s),
  createKey: (body: { name: string; scope: Scope; site: string; expires?: string; aggregateTypes?: string[]; tenant?: string; personalData?: boolean }) => call<Key>('POST', '/keys', undefined, body),
  rotateKey: (key: string) => call<Key>('POST', '/keys/' + id(key) + '/rotation', undefined, {}),
  revokeKey: (key: string) => call<void>('DELETE', '/keys/' + id(key)),
  users: (s?: Abort) => call<{ users: User[] | null }>('GET', '/users', undefined, undefined, s),
  createUser: (body: { email: string; name: string; password: string; roles: Record<string, Role> }) => call<User>('POST', '/users', undefined, body),
  made: (user: string, s?: Abort) => call<Made>('GET', '/users/' + id(user) + '/made', undefined, undefined, s),
  changeUser: (user: string, body: Partial<User>) => call<User>('PATCH', '/users/' + id(user), undefined, body),
  shares: (site: string, s?: Abort) => call<{ shares: Share[] | null }>('GET', at(site) + '/shares', undefined, undefined, s),
  createShare: (site: string, body: { name: string; expires?: string; password?: string; embed?: string[]; segment?: string }) => call<Share>('POST', at(site) + '/shares', undefined, body),
  deleteShare: (site: string, share: string) => call<void>('DELETE', at(site) + '/shares/' + id(share)),
  openShare: (token: string, password?: string) => call<{ site: { id: string } }>('POST', '/shared/' + id(token), undefined, password ? { password } : {}),
  // The parameter of is the path of a site, fleet or the event store: /sites/ID, /fleets/ID or /events.
  members: (of: string, s?: Abort) => call<{ members: Member[] | null; invitations: Invitation[] | null }>('GET', of + '/members', undefined, undefined, s),
  addMember: (of: string, body: { email: string; role: Role }) => call<{ member?: Member; invitation?: Invitation }>('POST', of + '/members', undefined, body),
  changeMember: (of: string, member: string, role: Role) => call<Member>('PATCH', of + '/members/' + id(member), undefined, { role }),
  removeMember: (of: string, member: string) => call<void>('DELETE', of + '/members/' + id(member)),
  revokeInvitation: (of: string, invitation: string) => call<void>('DELETE', of + '/invitations/' + id(invitation)),
  openInvitation: (token: string) => call<Invited>('POST', '/invitations/open', undefined, { token }),
  join: (body: { token: string; name: string; password: string }) => call<Me | undefined>('POST', '/invitations/accept', undefined, body),
  audit: (q: Query, s?: Abort) => call<{ entries: AuditEntry[] | null; cursor?: string }>('GET', '/audit', q, undefined, s),
}
