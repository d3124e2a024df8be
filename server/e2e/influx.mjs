// Writes with InfluxDB's own client as devices do, and reads back what was stored, for server/devices/influx_test.go.
//   SERVER=… KEY=… READ=… TOKEN=… SLOW=… node influx.mjs
// KEY and READ are keys of the fleet plant, TOKEN is that of its device d1, SLOW a key of the fleet other, whose devices may
// send sixty readings a minute.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { HttpError, InfluxDB, Point, setLogger } from '@influxdata/influxdb-client'

const { SERVER: server, KEY: key, READ: read, TOKEN: deviceToken, SLOW: slow } = process.env
const minute = Math.floor(Date.now() / 6e4) * 6e4 - 6e5 // ten minutes ago: neither in the future nor late
setLogger({ warn() {}, error() {} }) // the client would log every expected failure

// writer returns the client's write API, what it has sent, and its reports: stored batches and
// failures.
function writer({ url = server, token = key, bucket = 'plant', precision = 'ns', ...options }) {
  let wake = () => {}
  const told = {
    stored: 0, failures: [], encodings: [],
    async until(lines) { while (told.stored < lines) await new Promise((done) => { wake = done }) }, // batches are on their way when the client is closed
  }
  const request = (o, answered) => { told.encodings.push(o.headers['content-encoding'] ?? 'plain'); return http.request(o, answered) }
  const client = new InfluxDB({ url, token, transportOptions: { 'follow-redirects': { http: { request } } } })
  const api = client.getWriteApi('any', bucket, precision, {
    flushInterval: 0, minRetryDelay: 1, maxRetryDelay: 1, retryJitter: 0, randomRetry: false,
    writeSuccess: (lines) => { told.stored += lines.length; wake() }, writeFailed: (error) => { told.failures.push(error) }, ...options,
  })
  return { api, told }
}

// refused returns the error of a write that must not be retried.
async function refused(options, lines) {
  const { api, told } = writer({ maxRetries: 0, ...options })
  api.writeRecords(lines)
  const error = await api.flush().then(() => assert.fail('it was taken'), (e) => e)
  assert.equal(told.failures.length, 1, 'attempts')
  assert.ok(error instanceof HttpError, String(error))
  return error
}

// stored returns the readings of a device with metrics of a prefix, in order of time, and their
// JSON.
async function stored(device, prefix) {
  const answer = await fetch(`${server}/api/v1/fleets/plant/devices/${device}/export?format=jsonl`, { headers: { Authorization: 'Bearer ' + read } })
  assert.equal(answer.status, 200)
  const text = (await answer.text()).split('\n').filter((line) => line.includes(`"${prefix}`))
  return { text, readings: text.map((line) => JSON.parse(line)) }
}

const steps = {
  // Three batches of a thousand, compressed; then the same ones again, which count once.
  async batches() {
    for (const time of ['first', 'again']) {
      const { api, told } = writer({ batchSize: 1000, gzipThreshold: 1000, defaultTags: { device: 'd2' } })
      for (let i = 0; i < 2500; i++) api.writePoint(new Point('boiler').floatField('temperature', 60 + (i % 400) / 8).timestamp(`${minute + i * 200}000001`))
      await api.close()
      await told.until(2500)
      assert.deepEqual([told.stored, told.failures, told.encodings], [2500, [], ['gzip', 'gzip', 'gzip']], time)
      const { readings } = await stored('d2', 'boiler.')
      assert.equal(readings.length, 2500, time)
      readings.forEach((r, i) => assert.deepEqual([Date.parse(r.at), r.values], [minute + i * 200, { 'boiler.temperature': 60 + (i % 400) / 8 }]))
    }
  },
  // The contents of a point: every kind of field, and tags that need escaping.
  async kinds() {
    const { api, told } = writer({})
    api.writePoint(new Point('kinds').tag('host', 'd1').tag('room, or hall', 'a=b c').floatField('f', 0.1).intField('i', -7).uintField('u', '18446744073709551615')
      .booleanField('b', true).stringField('s', 'say "hi" \\ bye').stringField('lines', 'one\ntwo').timestamp(new Date(minute)))
    api.writePoint(new Point('kinds').tag('device', 'd1').floatField('after', 1).timestamp(new Date(minute + 1)))
    await api.close()
    assert.equal(told.stored, 2)
    const { text, readings } = await stored('d1', 'kinds.')
    const of = '{room, or hall=a=b c}'
    assert.deepEqual(Object.keys(readings[0].values).sort(), ['b', 'f', 'i', 'lines', 's', 'u'].map((f) => 'kinds.' + f + of))
    assert.match(text[0], /:18446744073709551615[,}]/)
    const { ['kinds.u' + of]: unsigned, ...others } = readings[0].values
    assert.deepEqual(others, { ['kinds.f' + of]: 0.1, ['kinds.i' + of]: -7, ['kinds.b' + of]: true, ['kinds.s' + of]: 'say "hi" \\ bye', ['kinds.lines' + of]: 'one\ntwo' })
    assert.deepEqual(readings[1].values, { 'kinds.after': 1 })
  },
  // The same instant in each precision. Nanoseconds distinguish identical readings within one
  // millisecond.
  async precisions() {
    for (const precision of ['s', 'ms', 'us', 'ns']) {
      const { api } = writer({ precision, defaultTags: { device: 'd1' } })
      api.writePoint(new Point('at_' + precision).floatField('value', 1).timestamp(new Date(minute)))
      if (precision === 'ns') api.writePoint(new Point('at_ns').floatField('value', 1).timestamp(minute + '000001'))
      await api.close()
      const { readings } = await stored('d1', 'at_' + precision + '"')
      assert.deepEqual(readings.map((r) => [Date.parse(r.at), r.values]), Array(precision === 'ns' ? 2 : 1).fill([minute, { ['at_' + precision]: 1 }]), precision)
    }
  },
  // An invalid line is reported by number, and the others are stored.
  async wrong() {
    const line = (i) => `wrong,device=d1 n=${i}i ${minute + i}000000`
    const bad = { 3: 'wrong,device=d1', 5: 'wrong,device=nobody n=5i ' + minute + '000000', 6: 'wrong n=6i', 8: 'wrong,device=d1 n=8i tomorrow' }
    const lines = Array.from({ length: 10 }, (_, i) => bad[i + 1] ?? line(i + 1))
    const error = await refused({ gzipThreshold: 10, maxRetries: 5 }, lines)
    assert.deepEqual([error.statusCode, error.code, error.contentType.split(';')[0], error.canRetry()], [400, 'invalid', 'application/json', false])
    assert.match(error.message, /^partial write: 4 of 10 lines were rejected, the others are stored: line 3: .*; line 5: .*; line 6: .*; line 8: /)
    assert.deepEqual(error.json.lines.map((l) => [l.line, l.reason]), [[3, 'bad_line'], [5, 'unknown_device'], [6, 'bad_line'], [8, 'bad_line']])
    assert.deepEqual((await stored('d1', 'wrong.')).readings.map((r) => r.values['wrong.n']), [1, 2, 4, 7, 9, 10])
  },
  async doors() {
    const line = [`doors,device=d1 n=1i ${minute}000000`]
    for (const [options, status, code, retried] of [
      [{ token: 'wrong' }, 401, 'unauthorized', false],
      [{ token: '' }, 401, 'unauthorized', false],
      [{ token: deviceToken.slice(0, -1) }, 401, 'unauthorized', false],
      [{ token: read }, 403, 'forbidden', false],
      [{ bucket: 'other' }, 404, 'not found', true], // the client treats 404 as temporary
      [{ precision: 'days' }, 400, 'invalid', false],
    ]) {
      const error = await refused(options, line)
      assert.deepEqual([error.statusCode, error.code, error.canRetry()], [status, code, retried], JSON.stringify(options))
      assert.ok(error.message.length > 10 && !error.message.includes('{'), error.message)
    }
    assert.equal((await stored('d1', 'doors.')).readings.length, 0)
    const { api } = writer({ token: deviceToken }) // with a device's own token, no tag is needed
    api.writePoint(new Point('doors').tag('host', 'somewhere').intField('n', 2).timestamp(new Date(minute)))
    await api.close()
    assert.deepEqual((await stored('d1', 'doors.')).readings.map((r) => r.values), [{ 'doors.n': 2 }])
  },
  async tooFast() {
    const error = await refused({ token: slow, bucket: 'other' }, Array.from({ length: 200 }, (_, i) => `fast,device=theirs n=${i}i`))
    assert.deepEqual([error.statusCode, error.code, error.canRetry()], [429, 'too many requests', true])
    assert.ok(error.retryAfter() > 0)
  },
  // Oversized requests are rejected in a form that the client understands, plain and compressed.
  async large() {
    const lines = Array.from({ length: 18_000 }, (_, i) => `large,device=d1 text="${'x'.repeat(480)}" ${minute + i}000000`)
    for (const gzipThreshold of [1000, 1e9]) {
      const error = await refused({ batchSize: 20_000, gzipThreshold }, lines)
      assert.deepEqual([error.statusCode, error.code, error.canRetry()], [413, 'request too large', false], String(gzipThreshold))
      assert.match(error.message, /Split it into several requests/)
    }
  },
  // One response is lost, and one says that the server is unavailable: the client retries, and
  // everything is stored once.
  async lost() {
    let asked = 0
    const proxy = http.createServer((question, answer) => {
      const onward = http.request(server + question.url, { method: question.method, headers: question.headers }, (a) => {
        a.resume().on('end', () => {
          if (++asked === 1) return answer.destroy()
          answer.writeHead(asked === 2 ? 503 : a.statusCode).end()
        })
      })
      question.pipe(onward)
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const { api, told } = writer({ url: 'http://127.0.0.1:' + proxy.address().port, defaultTags: { device: 'd1' } })
    for (let i = 0; i < 50; i++) api.writePoint(new Point('lost').intField('n', i).timestamp(new Date(minute + i)))
    await api.flush().catch(() => {}) // it reports the error, and retries by itself
    await told.until(50)
    await api.close()
    proxy.closeAllConnections()
    proxy.close()
    assert.deepEqual([asked, told.failures.length], [3, 2])
    assert.deepEqual((await stored('d1', 'lost.')).readings.map((r) => r.values['lost.n']), Array.from({ length: 50 }, (_, i) => i))
  },
}

for (const [name, step] of Object.entries(steps)) {
  try {
    await step()
  } catch (e) {
    throw new Error(`${name}: ${e.stack}`)
  }
  console.log(name)
}
