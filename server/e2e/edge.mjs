// Serves a fetch handler of examples/proxies as its edge network would, on a free port, which it prints.
//   node edge.mjs cloudflare|vercel|netlify SERVER KEY
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'

const [network, server, key] = process.argv.slice(2)
const proxies = new URL('../../examples/proxies/', import.meta.url)
const env = { ONEFOLD_SERVER: server, ONEFOLD_KEY: key }
Object.assign(process.env, env)
globalThis.Netlify = { env: { get: (name) => env[name] } }
const site = () => new Response('the site', { status: 200 })

const networks = {
  async cloudflare(request, address) {
    const { default: worker } = await import(new URL('cloudflare/worker.mjs', proxies))
    request.headers.set('cf-connecting-ip', address)
    const onward = globalThis.fetch
    globalThis.fetch = (to, options) => (to instanceof Request ? site() : onward(to, options)) // the worker passes on only what is the site's
    return worker.fetch(request, env)
  },
  async vercel(request, address) {
    const { pathname } = new URL(request.url)
    if (pathname !== '/api/event') {
      const [{ source, destination }] = JSON.parse(await readFile(new URL('vercel/vercel.json', proxies))).rewrites
      const file = pathname.match(new RegExp('^' + source.replace(':file', '') + '$'))?.[1]
      return file ? fetch(destination.replace('https://stats.example.com', server).replace(':file', file), { headers: request.headers }) : site()
    }
    const { default: handler } = await import(new URL('vercel/api/event.mjs', proxies))
    request.headers.set('x-real-ip', address)
    return handler(request)
  },
  async netlify(request, address) {
    const { default: handler } = await import(new URL('netlify/netlify/edge-functions/onefold.mjs', proxies))
    return (await handler(request, { ip: address })) ?? site()
  },
}

const listener = createServer(async (incoming, outgoing) => {
  const body = incoming.method === 'POST' ? await buffer(incoming) : null
  const headers = new Headers(Object.entries(incoming.headers).filter(([name]) => name !== 'connection'))
  const response = await networks[network](new Request('http://example.com' + incoming.url, { method: incoming.method, headers, body }), incoming.socket.remoteAddress)
  const answered = [...response.headers].filter(([name]) => !/^(content-encoding|content-length|transfer-encoding)$/.test(name))
  outgoing.writeHead(response.status, Object.fromEntries(answered))
  outgoing.end(Buffer.from(await response.arrayBuffer()))
})
listener.listen(0, '127.0.0.1', () => console.log(listener.address().port))
