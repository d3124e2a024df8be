// Passes the tracker and its events to onefold from an edge network, whose servers have no fixed addresses
// that onefold could trust. So events are sent with a key of scope ingest, and name their visitor.

const script = /^\/js\/onefold(\.[a-z]+)?\.js$/
const largest = 64 << 10 // bytes of an event, as onefold limits it

const problem = (status, title) => Response.json({ status, title }, { status, headers: { 'content-type': 'application/problem+json' } })

// pick copies the headers that are set.
const pick = (headers, names) => new Headers(names.filter((name) => headers.has(name)).map((name) => [name, headers.get(name)]))

const answer = (response, names) => new Response(response.body, { status: response.status, headers: pick(response.headers, names) })

// proxy answers a request for the tracker or with an event; for others, it returns undefined. address is
// the visitor's, from the network itself: visitors can forge X-Forwarded-For.
export async function proxy({ server, key }, request, address) {
  const { pathname } = new URL(request.url)
  if (request.method === 'GET' && script.test(pathname)) {
    const response = await fetch(server + pathname, { headers: pick(request.headers, ['if-none-match']), signal: AbortSignal.timeout(10_000) })
    return answer(response, ['content-type', 'cache-control', 'etag'])
  }
  if (request.method !== 'POST' || pathname !== '/api/event') return undefined
  if (Number(request.headers.get('content-length')) > largest) return problem(413, 'The event is too large.')
  const body = await request.text()
  if (body.length > largest) return problem(413, 'The event is too large.')
  let event
  try {
    event = JSON.parse(body)
  } catch {
    return problem(400, 'The event is not JSON.')
  }
  const headers = pick(request.headers, ['dnt', 'sec-gpc'])
  headers.set('authorization', 'Bearer ' + key)
  headers.set('content-type', 'application/json')
  const response = await fetch(server + '/api/event', {
    method: 'POST',
    headers,
    body: JSON.stringify({ ...event, visitor: { address, userAgent: request.headers.get('user-agent') ?? '' } }),
    signal: AbortSignal.timeout(30_000),
  })
  return answer(response, ['content-type', 'retry-after'])
}
