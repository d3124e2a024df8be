// Counts requests of AI crawlers in onefold. AI crawlers run no scripts, so only the web server sees
// their requests. For every runtime with fetch: Node.js, Cloudflare Workers, Vercel, Deno.

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

// edge is for fetch handlers: call it with the handler's request and context. A context without
// waitUntil, such as that of Deno.serve, needs none. Cloudflare sends the visitor's address in
// CF-Connecting-IP, others in X-Real-IP. The result need not be awaited.
export function edge(options, request, context) {
  const { headers } = request
  const url = new URL(request.url)
  const sent = count(options, {
    method: request.method, url: url.origin + url.pathname, userAgent: headers.get('user-agent'),
    address: headers.get('cf-connecting-ip') ?? headers.get('x-real-ip') ?? '0.0.0.0',
  }).catch(() => {})
  context?.waitUntil?.(sent)
  return sent
}
