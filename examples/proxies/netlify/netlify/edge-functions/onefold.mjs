import { proxy } from '../../../edge.mjs'

export const config = { path: ['/js/onefold*', '/api/event'] }

// Without an answer, the request goes on to the site.
export default (request, context) =>
  proxy({ server: Netlify.env.get('ONEFOLD_SERVER'), key: Netlify.env.get('ONEFOLD_KEY') }, request, context.ip)
