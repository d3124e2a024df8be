// An OpenID provider for tests: certified code, whose people are those of PEOPLE, with any password. It says its issuer on the first
// line of its output, and ends with its input.
import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'

const people = JSON.parse(process.env.PEOPLE)
const server = createServer()
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`
  const provider = new Provider(issuer, {
    clients: [{
      client_id: process.env.CLIENT_ID, client_secret: process.env.CLIENT_SECRET, redirect_uris: [process.env.REDIRECT_URL],
      grant_types: ['authorization_code'], response_types: ['code'],
    }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_, id) => people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
    pkce: { required: () => true },
    cookies: { keys: ['for tests only'] },
  })
  server.on('request', provider.callback())
  console.log(issuer)
})
process.stdin.on('end', () => process.exit()).resume()
