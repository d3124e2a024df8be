import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventStore, OnefoldError, QueryConflict, RefusedTokens, VersionConflict, type Aggregate, type Decider } from '../src/index.js'

// A Go test starts these with the address and a key of a server: TestTypeScriptClient in server/events.
const url = process.env.SERVER ?? ''
const key = process.env.KEY ?? ''
const store = new EventStore({ url, key })

type Event =
  | { type: 'Opened'; data: { owner: string } }
  | { type: 'Deposited'; data: { amount: number } }
  | { type: 'Withdrawn'; data: { amount: number } }
type Account = { open: boolean; balance: number }
type Command = { do: 'open'; owner: string } | { do: 'deposit' | 'withdraw'; amount: number }

const accounts: Decider<Account, Command, Event> = {
  type: 'account',
  initial: { open: false, balance: 0 },
  evolve: (account, event) => {
    switch (event.type) {
      case 'Opened': return { ...account, open: true }
      case 'Deposited': return { ...account, balance: account.balance + event.data.amount }
      case 'Withdrawn': return { ...account, balance: account.balance - event.data.amount }
    }
  },
  decide: (account, command) => {
    if (command.do === 'open') {
      if (account.open) throw new Error('the account is open')
      return [{ type: 'Opened', data: { owner: command.owner } }]
    }
    if (command.do === 'deposit') return [{ type: 'Deposited', data: { amount: command.amount } }]
    if (account.balance < command.amount) throw new Error('not enough money')
    return [{ type: 'Withdrawn', data: { amount: command.amount } }]
  },
}

let names = 0
const fresh = (type = 'thing'): Aggregate => ({ type, id: `${process.pid}/${++names} ü` })

async function all<T>(of: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const one of of) list.push(one)
  return list
}

/** Wraps fetch: the response of a request is lost after the server has done it, as often as the test says. */
function lossy(lose: (request: { method: string; url: string }) => boolean): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (!lose({ method: init?.method ?? 'GET', url: String(input) })) return response
    await response.arrayBuffer()
    throw new TypeError('fetch failed')
  }
}

test('append and read', async () => {
  const of = fresh()
  assert.equal(await store.head(of), undefined)
  assert.deepEqual(await all(store.read(of)), [])
  const first = await store.append(of, [{ type: 'A', data: { n: 1 }, actor: 'ada', metadata: { k: 'v' } }, { type: 'B' }], { expected: 'none' })
  assert.deepEqual([first.first, first.version, first.again], [1, 2, false])
  await store.append(of, Array.from({ length: 5 }, (_, n) => ({ type: 'C', data: n })), { expected: 2 })
  const events = await all(store.read<{ type: string; data?: unknown }>(of, { pageSize: 3 }))
  assert.deepEqual(events.map((e) => [e.seq, e.type, e.data]), [[1, 'A', { n: 1 }], [2, 'B', undefined], [3, 'C', 0], [4, 'C', 1], [5, 'C', 2], [6, 'C', 3], [7, 'C', 4]])
  assert.deepEqual([events[0]?.actor, events[0]?.metadata], ['ada', { k: 'v' }])
  assert.deepEqual((await all(store.read(of, { from: 2, to: 6, backwards: true, pageSize: 2 }))).map((e) => e.seq), [6, 5, 4, 3, 2])
  assert.equal((await store.head(of))?.version, 7)
  await store.close(of)
  await assert.rejects(store.append(of, [{ type: 'A' }]), { code: 'stream_closed', status: 409 })
})

test('a conflict has the events since', async () => {
  const of = fresh()
  await store.append(of, [{ type: 'A' }, { type: 'B' }])
  await assert.rejects(store.append(of, [{ type: 'C' }], { expected: 1 }), (e) => {
    assert(e instanceof VersionConflict && e instanceof OnefoldError)
    assert.deepEqual([e.code, e.actual, e.since.map((s) => s.type)], ['version_conflict', 2, ['B']])
    return true
  })
})

test('an append whose answer is lost is repeated once', async () => {
  const of = fresh()
  let lost = 0
  const unlucky = new EventStore({ url, key, retryDelay: 1, fetch: lossy((r) => r.method === 'POST' && lost++ < 3) })
  const done = await unlucky.append(of, [{ type: 'A' }])
  assert.deepEqual([lost, done.version, done.again], [4, 1, true])
  assert.equal((await all(store.read(of))).length, 1)
  const broken = new EventStore({ url, key, attempts: 2, retryDelay: 1, fetch: lossy(() => true) })
  await assert.rejects(broken.append(of, [{ type: 'B' }]), TypeError)
  await assert.rejects(new EventStore({ url, key: 'wrong' }).append(of, [{ type: 'A' }]), { code: 'unauthorized' })
})

test('several streams, values and queries', async () => {
  const [a, b] = [fresh(), fresh()]
  const tag = `course:${a.id}`
  const value = { scope: 'email', value: `${a.id}@example.com` }
  assert.equal(await store.ownerOf(value), undefined)
  await store.append(a, [{ type: 'A', tags: [tag] }], { reserve: [value] })
  assert.equal(await store.ownerOf(value), `${a.type}/${a.id}`)
  await assert.rejects(store.append(b, [{ type: 'A' }], { reserve: [value] }), { code: 'reserved' })
  const found = await store.query([{ tags: [tag] }])
  assert.deepEqual(found.events.map((e) => [e.aggregateId, e.type]), [[a.id, 'A']])
  const unless = { query: [{ tags: [tag] }], after: found.position }
  const both = await store.appendAll([{ ...a, events: [{ type: 'B', tags: [tag] }] }, { ...b, expected: 'none', events: [{ type: 'B' }] }], { unless })
  assert.deepEqual(both.appends.map((p) => p.version), [2, 1])
  await assert.rejects(store.append(b, [{ type: 'C' }], { unless }), (e) => {
    assert(e instanceof QueryConflict)
    assert.deepEqual(e.since.map((s) => s.type), ['B'])
    return true
  })
  assert.deepEqual((await store.query([{ tags: [tag] }], found.position)).events.map((e) => e.seq), [2])
})

test('commands', async () => {
  const { id } = fresh()
  const opened = await store.handle(accounts, id, { do: 'open', owner: 'ada' }, { commitId: `open-${id}` })
  assert.deepEqual(opened, { state: { open: true, balance: 0 }, version: 1, again: false })
  await Promise.all(Array.from({ length: 6 }, (_, n) => store.handle(accounts, id, { do: 'deposit', amount: n + 1 }, { envelope: { actor: 'ada' } })))
  assert.deepEqual(await store.load({ type: 'account', id }, accounts), { state: { open: true, balance: 21 }, version: 7 })
  await assert.rejects(store.handle(accounts, id, { do: 'withdraw', amount: 22 }), { message: 'not enough money' })
  const repeated = await store.handle(accounts, id, { do: 'open', owner: 'ada' }, { commitId: `open-${id}` })
  assert.deepEqual(repeated, { state: { open: true, balance: 0 }, version: 1, again: true })
  let lost = 0
  const unlucky = new EventStore({ url, key, retryDelay: 1, fetch: lossy((r) => r.method === 'POST' && lost++ < 2) })
  assert.equal((await unlucky.handle(accounts, id, { do: 'withdraw', amount: 20 })).state.balance, 1)
  assert.deepEqual((await all(store.read({ type: 'account', id }))).filter((e) => e.actor === 'ada').length, 6)
})

test('the feed continues after a broken connection', async () => {
  const type = `feed-${process.pid}`
  const of = fresh(type)
  let cut = 0
  const breaking: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (!String(input).includes('/tail') || cut++ >= 6 || !response.body) return response
    let left = 200 + 700 * cut // bytes until the connection breaks
    return new Response(response.body.pipeThrough(new TransformStream({
      transform(chunk: Uint8Array, to) {
        to.enqueue(chunk.slice(0, left))
        left -= chunk.length
        if (left <= 0) to.error(new TypeError('terminated'))
      },
    })), response)
  }
  const end = new AbortController()
  const follower = new EventStore({ url, key, retryDelay: 1, fetch: breaking })
  const seen: number[] = []
  const reading = (async () => {
    for await (const e of follower.follow({ aggregateTypes: [type], signal: end.signal })) {
      if (seen.push(e.seq) === 40) end.abort(new Error('enough'))
    }
  })()
  for (let n = 0; n < 10; n++) await store.append(of, Array.from({ length: 4 }, () => ({ type: 'Counted', data: { n } })))
  await assert.rejects(reading, { message: 'enough' })
  assert.deepEqual(seen, Array.from({ length: 40 }, (_, n) => n + 1))
  assert(cut > 3, `the connection broke ${cut} times`)
  assert.deepEqual((await all(store.feed({ aggregateTypes: [type], eventTypes: ['Counted'] }))).map((e) => e.seq), seen)
})

test('subscriptions', async () => {
  const type = `mail-${process.pid}`
  const [a, b] = [fresh(type), fresh(type)]
  const mails = store.subscription<{ type: string; data: { n: number } }>(`mails-${process.pid}`)
  await assert.rejects(mails.receive(), { code: 'no_such_subscription' })
  const settings = { aggregateTypes: [type], partitions: 2, attempts: 2, retryDelay: 0.01 }
  assert.equal((await mails.create(settings)).pulled, true)
  await mails.create(settings)
  await assert.rejects(mails.create({}), { code: 'subscription_exists' })
  for (const of of [a, b]) await store.append(of, [0, 1, 2].map((n) => ({ type: 'Sent', data: { n } })))
  const end = new AbortController()
  const handled: string[] = []
  await mails.run(async ({ aggregateId, data, attempt }) => {
    if (aggregateId === a.id && data.n === 1 && attempt === 1) throw new Error('mailbox unavailable')
    handled.push(`${aggregateId} ${data.n}`)
    if (handled.length === 6) end.abort()
  }, { visible: 60, consumer: 'test', signal: end.signal })
  for (const of of [a, b]) assert.deepEqual(handled.filter((h) => h.startsWith(`${of.id} `)), [0, 1, 2].map((n) => `${of.id} ${n}`))

  await store.append(a, [{ type: 'Sent', data: { n: 3 } }, { type: 'Sent', data: { n: 4 } }])
  const seen: number[] = []
  for await (const delivery of mails.deliveries({ visible: 60 })) {
    seen.push(delivery.event.data.n)
    if (delivery.event.parked) {
      await delivery.acknowledge()
      await delivery.acknowledge() // again, without effect
      if (delivery.event.data.n === 4) break
      continue
    }
    await delivery.reject('no', { park: true })
    await assert.rejects(delivery.acknowledge(), (e) => e instanceof RefusedTokens && e.refused[0]?.code === 'delivery_lost')
    assert.equal((await mails.receive()).length, 0) // 4 is parked behind 3
    await mails.retry()
  }
  assert.deepEqual(seen, [3, 3, 4])
  const status = (await store.subscriptions()).find((s) => s.name === mails.name)
  assert.deepEqual([status?.handled, status?.parked], [8, 0])
  await mails.delete()
})

test('schemas', async () => {
  const type = `Priced-${process.pid}`
  assert.equal(await store.schema(type), undefined)
  const schema = { type: 'object', required: ['price'], properties: { price: { type: 'number', minimum: 0 } }, additionalProperties: false }
  assert.deepEqual((await store.putSchema(type, 1, schema)).versions, [1])
  assert.deepEqual((await store.schema(type))?.schema, schema)
  const of = fresh()
  await store.append(of, [{ type, data: { price: 3 } }])
  await assert.rejects(store.append(of, [{ type, data: { price: -3 } }]), (e) => {
    assert(e instanceof OnefoldError)
    assert.deepEqual([e.code, e.problem.errors], ['schema_violation', [{ location: 'body.events[0].data/price', message: 'it is below the minimum' }]])
    return true
  })
  await assert.rejects(store.putSchema(type, 1, { type: 'string' }), { code: 'schema_incompatible' })
})

/** Returns a fetch that calls a function with the number of the request, from 1. It must not be a method, as in browsers. */
function scripted(answer: (n: number, signal: AbortSignal | null | undefined) => Response): typeof fetch & { calls: number } {
  const send = Object.assign(async function (this: unknown, _: string | URL | Request, init?: RequestInit) {
    assert.equal(this, undefined)
    init?.signal?.throwIfAborted()
    return answer(++send.calls, init?.signal)
  }, { calls: 0 })
  return send
}

const none = () => Response.json({ events: [] })

/** A response whose body is a stream of texts. It ends with an error when the signal is aborted. */
function streamed(signal: AbortSignal | null | undefined, begin: (to: { send: (text: string) => void }) => void): Response {
  return new Response(new ReadableStream<Uint8Array>({
    start(controller) {
      signal?.addEventListener('abort', () => controller.error(signal.reason))
      begin({ send: (text) => controller.enqueue(new TextEncoder().encode(text)) })
    },
  }))
}

const message = (n: number) => `id: ${n}\nevent: event\ndata: {"id":"E${n}","seq":${n},"type":"A"}\n\n`

test('a wrong URL or key is an error at once', () => {
  for (const wrong of ['localhost:8080', 'events.example.com', '', 'ftp://example.com']) assert.throws(() => new EventStore({ url: wrong, key }), { name: 'TypeError', message: /the URL of a server/ })
  for (const wrong of ['', 'a b', 'a\n']) assert.throws(() => new EventStore({ url: 'http://localhost', key: wrong }), { name: 'TypeError', message: /API key/ })
})

test('consumers pause while a server answers at once, as one does that shuts down', async () => {
  const idle = scripted(none)
  const signal = AbortSignal.timeout(300)
  await assert.rejects(all(new EventStore({ url, key, fetch: idle }).subscription('s').deliveries({ signal })), { name: 'TimeoutError' })
  assert(idle.calls < 10, `${idle.calls} requests`)
})

test('nothing comes after an abort', async () => {
  const events = [1, 2, 3].map((seq) => ({ token: `t${seq}`, id: `E${seq}`, aggregateType: 'a', aggregateId: `${seq}`, seq, type: 'A' }))
  const end = new AbortController()
  const handled: number[] = []
  const server = scripted((n) => Response.json(n === 1 ? { events } : { settled: 1 }))
  await new EventStore({ url, key, fetch: server }).subscription('s').run(async (e) => {
    handled.push(e.seq)
    end.abort()
  }, { signal: end.signal })
  assert.deepEqual([handled, server.calls], [[1], 2])

  for (const follow of [true, false]) {
    const end = new AbortController()
    const feed = new EventStore({ url, key, fetch: scripted((_, signal) => follow ? streamed(signal, (to) => to.send([1, 2, 3].map(message).join(''))) : Response.json({ events, tip: true })) })
    const seen: number[] = []
    await assert.rejects(async () => {
      for await (const e of follow ? feed.follow({ signal: end.signal }) : feed.feed({ signal: end.signal })) {
        seen.push(e.seq)
        end.abort(new Error('enough'))
      }
    }, { message: 'enough' })
    assert.deepEqual(seen, [1])
  }
})

test('a slow reader of the feed keeps its connection', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let send = (_: string) => {}
  const server = scripted((_, signal) => streamed(signal, (to) => { send = to.send }))
  const events = new EventStore({ url, key, fetch: server }).follow()
  const first = events.next()
  await new Promise(setImmediate)
  send(message(1))
  assert.equal((await first).value?.seq, 1)
  t.mock.timers.tick(600_000) // the reader is busy
  const second = events.next()
  send(message(2))
  assert.equal((await second).value?.seq, 2)
  assert.equal(server.calls, 1)
  const third = events.next()
  await new Promise(setImmediate)
  t.mock.timers.tick(60_000) // the server is silent
  await new Promise(setImmediate)
  t.mock.timers.tick(60_000) // the pause before the next connection
  await new Promise(setImmediate)
  send(message(3))
  assert.equal((await third).value?.seq, 3)
  assert.equal(server.calls, 2)
  await events.return(undefined)
})

test('messages arrive in pieces of any size', async () => {
  const text = [1, 2].map(message).join('').replace('"A"', '"ä€😀"').replace('\n\n', '\r\n\r\n')
  const bytes = new TextEncoder().encode(text)
  for (let size = 1; size <= bytes.length; size++) {
    const events = new EventStore({ url, key, fetch: scripted(() => new Response(new ReadableStream<Uint8Array>({
      start(to) {
        for (let at = 0; at < bytes.length; at += size) to.enqueue(bytes.slice(at, at + size))
      },
    }))) }).follow()
    assert.deepEqual([(await events.next()).value?.type, (await events.next()).value?.type], ['ä€😀', 'A'])
    await events.return(undefined)
  }
})

test('a busy server says when to come again', async () => {
  const busy = scripted((n) => n > 1 ? none() : Response.json({ type: 'urn:onefold:error:rate_limited' }, { status: 429, headers: { 'Retry-After': '1' } }))
  const begun = performance.now()
  await new EventStore({ url, key, fetch: busy, retryDelay: 1 }).head(fresh())
  assert(performance.now() - begun >= 1000)
})

test('arguments', async () => {
  await assert.rejects(store.append({ type: 'thing', id: '..' }, [{ type: 'A' }]), TypeError)
  await assert.rejects(store.append(fresh(), []), { code: 'invalid_request' })
  const aborted = AbortSignal.abort(new Error('stop'))
  await assert.rejects(store.append(fresh(), [{ type: 'A' }], { signal: aborted }), { message: 'stop' })
})

test('erase a person', async () => {
  const type = 'Joined' + process.pid, who = 'p/1 ü' + process.pid, of = fresh()
  await store.putSchema(type, 1, { properties: { who: {}, name: { 'x-personal-data': 'who' } } })
  await store.append(of, [{ type, data: { who, name: 'Ada' } }])
  assert.equal(await store.subject('nobody'), undefined)
  assert.deepEqual((await store.subject(who))?.aggregates, [of])
  assert.deepEqual((await all(store.read(of)))[0]?.data, { who, name: 'Ada' })
  const receipt = await store.eraseSubject(who)
  assert.equal(receipt.aggregateCount, 1)
  assert.deepEqual((await store.eraseSubject(who)).erasedAt, receipt.erasedAt)
  assert.deepEqual((await all(store.read(of)))[0]?.data, { who, name: '[forgotten]' })
  await assert.rejects(store.append(of, [{ type, data: { who, name: 'Ada' } }]), (e) => e instanceof OnefoldError && e.code === 'subject_erased')
  await assert.rejects(store.append(of, [{ type, data: { name: 'Ada' } }]), (e) => e instanceof OnefoldError && e.code === 'no_subject')
  await assert.rejects(store.eraseSubject('nobody'), (e) => e instanceof OnefoldError && e.code === 'no_such_subject')
})
