import { proxy } from '../../edge.mjs'

export const config = { runtime: 'edge' }

export default async (request) => {
  const options = { server: process.env.ONEFOLD_SERVER, key: process.env.ONEFOLD_KEY }
  return (await proxy(options, request, request.headers.get('x-real-ip'))) ?? new Response(null, { status: 405 })
}
