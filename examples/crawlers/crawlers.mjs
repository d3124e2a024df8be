// Counts requests of AI crawlers in onefold, in Node.js and at the edge (Cloudflare Workers, Vercel,
// Deno): everywhere with fetch. Crawlers run no script, so the tracker never sees them.

const pattern = /GPTBot|ChatGPT-User|OAI-SearchBot|ClaudeBot|Claude-User|Claude-SearchBot|PerplexityBot|Perplexity-User|Bytespider|CCBot|meta-externalagent|MistralAI-User|DuckAssistBot/

// count sends one request to onefold if a crawler made it. It resolves to whether it was counted,
// and rejects if onefold cannot be reached or refuses it.
export async function count({ server, site, key }, { method, url, address, userAgent }) {
  if (method !== 'GET' || !pattern.test(userAgent ?? '')) return false
  const response = await fetch(server + '/api/event', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer ' + key },
    body: JSON.stringify({ site, url, visitor: { address, userAgent } }),
    signal: AbortSignal.timeout(10_000),
  })
  if (response.status !== 202) throw new Error('onefold: ' + response.status)
  return true
}

// middleware is for Express, Connect and node:http. It never delays the request.
export const middleware = (options, failed = () => {}) => (request, response, next) => {
  const url = `https://${request.headers.host}${(request.originalUrl ?? request.url).split('?')[0]}`
  count(options, { method: request.method, url, address: request.socket.remoteAddress, userAgent: request.headers['user-agent'] }).catch(failed)
  next()
}

// edge is for fetch handlers: call it with the handler's request and context. Cloudflare sends the
// visitor's address in CF-Connecting-IP, others in X-Real-IP.
export function edge(options, request, context) {
  const { headers } = request
  const url = new URL(request.url)
  context.waitUntil(count(options, {
    method: request.method, url: url.origin + url.pathname, userAgent: headers.get('user-agent'),
    address: headers.get('cf-connecting-ip') ?? headers.get('x-real-ip') ?? '0.0.0.0',
  }).catch(() => {}))
}
