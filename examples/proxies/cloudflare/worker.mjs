import { proxy } from '../edge.mjs'

// Every other request goes on to the site.
export default {
  async fetch(request, env) {
    const options = { server: env.ONEFOLD_SERVER, key: env.ONEFOLD_KEY }
    return (await proxy(options, request, request.headers.get('cf-connecting-ip'))) ?? fetch(request)
  },
}
