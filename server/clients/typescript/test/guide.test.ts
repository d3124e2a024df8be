// The code of docs/guides/typescript.md and README.md. A Go test compares them: TestTypeScriptGuide in server/events.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventStore, QueryConflict, RefusedTokens, type Decider } from '../src/index.js'

process.env.ONEFOLD_URL = process.env.SERVER ?? ''
process.env.ONEFOLD_KEY = process.env.KEY ?? ''
const printed: unknown[] = []
const console = { log: (...line: unknown[]) => printed.push(line.join(' ')) }
const sent: string[] = [] // by the consumers of the subscription
const send = async (address: string) => { sent.push(address) }
const commandId = 'return-1'

// guide
const store = new EventStore({ url: process.env.ONEFOLD_URL ?? '', key: process.env.ONEFOLD_KEY ?? '' })

type CopyEvent =
  | { type: 'Acquired'; data: { title: string } }
  | { type: 'Lent'; data: { member: string } }
  | { type: 'Returned' }

type Copy = { title: string; lentTo: string }
type Command = { do: 'acquire'; title: string } | { do: 'lend'; member: string } | { do: 'return' }

const copies: Decider<Copy, Command, CopyEvent> = {
  type: 'copy',
  initial: { title: '', lentTo: '' },
  evolve(copy, event) {
    switch (event.type) {
      case 'Acquired': return { title: event.data.title, lentTo: '' }
      case 'Lent': return { ...copy, lentTo: event.data.member }
      case 'Returned': return { ...copy, lentTo: '' }
    }
  },
  decide(copy, command) {
    switch (command.do) {
      case 'acquire':
        return copy.title ? [] : [{ type: 'Acquired', data: { title: command.title } }]
      case 'lend':
        if (copy.lentTo) throw new Error('the copy is lent')
        return [{ type: 'Lent', data: { member: command.member } }]
      case 'return':
        return copy.lentTo ? [{ type: 'Returned' }] : []
    }
  },
}
// end

test('handle commands', async () => {
  // guide
  await store.handle(copies, 'taocp-1', { do: 'acquire', title: 'The Art of Computer Programming' })
  await store.handle(copies, 'taocp-1', { do: 'lend', member: 'ada' }, { envelope: { actor: 'desk' } })
  const { state, version } = await store.handle(copies, 'taocp-1', { do: 'return' }, { commitId: commandId })
  // end
  assert.deepEqual([state.lentTo, version], ['', 3])
})

test('append and read', async () => {
  // guide
  const order = { type: 'order', id: '1042' }
  const { version } = await store.append(order, [{ type: 'OrderPlaced', data: { total: 71.25 } }], { expected: 'none' })
  await store.append(order, [{ type: 'OrderPaid', data: { amount: 71.25 }, actor: 'ada' }], { expected: version })
  for await (const event of store.read(order)) console.log(event.seq, event.type)
  // end
  assert.deepEqual(printed, ['1 OrderPlaced', '2 OrderPaid'])
})

test('decide over a query', async () => {
  // guide
  const about = [{ types: ['StudentEnrolled'], tags: ['course:42'] }]
  for (;;) {
    const { events, position } = await store.query(about)
    if (events.length >= 30) throw new Error('the course is full')
    try {
      const enrolled = { type: 'StudentEnrolled', data: {}, tags: ['course:42', 'student:7'] }
      await store.append({ type: 'course', id: '42' }, [enrolled], { unless: { query: about, after: position } })
      break
    } catch (error) {
      if (!(error instanceof QueryConflict)) throw error // a conflict: decide again
    }
  }
  // end
  // guide
  await store.append({ type: 'user', id: '7' }, [{ type: 'Registered' }], { reserve: [{ scope: 'email', value: 'ada@example.com' }] })
  const owner = await store.ownerOf({ scope: 'email', value: 'ada@example.com' }) // user/7
  // end
  assert.equal(owner, 'user/7')
})

test('follow the feed', async () => {
  const signal = AbortSignal.timeout(60_000)
  const project = async (_: unknown) => {}
  const position = 0
  // guide
  for await (const event of store.follow({ after: position, aggregateTypes: ['order'], signal })) {
    await project(event) // and keep event.position when event.nth + 1 === event.of
    // end
    if (event.type === 'OrderPaid') break
  }
})

test('consume a subscription', async () => {
  const stopping = new AbortController()
  // guide
  const mails = store.subscription<{ type: 'OrderPlaced'; data: { total: number } }>('mails')
  await mails.create({ eventTypes: ['OrderPlaced'], partitions: 4 })
  // end
  setTimeout(() => stopping.abort(), 1000)
  // guide
  await mails.run(async (event) => {
    await send(`order ${event.aggregateId}: ${event.data.total}`)
  }, { visible: 60, signal: stopping.signal })
  // end
  assert.deepEqual(sent, ['order 1042: 71.25'])
  await store.append({ type: 'order', id: '1043' }, [{ type: 'OrderPlaced', data: { total: 5 } }])
  // guide
  for await (const delivery of mails.deliveries({ events: 20, visible: 60 })) {
    try {
      await send(delivery.event.aggregateId)
      await delivery.acknowledge()
    } catch (error) {
      if (error instanceof RefusedTokens) continue // too late: another consumer has the event
      await delivery.reject(String(error), { park: false })
    }
    // end
    break
  }
  assert.equal(sent[1], '1043')
})
