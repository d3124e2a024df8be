// Writes src/openapi.ts: the types of the event store's operations. Standard input is the OpenAPI document of a server.
import { writeFileSync } from 'node:fs'
import { text as read } from 'node:stream/consumers'
import openapiTS, { astToString } from 'openapi-typescript'

const document = JSON.parse(await read(process.stdin))
for (const path of Object.keys(document.paths)) {
  if (!path.startsWith('/api/v1/events/') || /^.api.v1.events.(members|invitations)/.test(path)) delete document.paths[path]
}

// Keep only the schemas that these operations refer to.
const used = new Set()
const follow = (value) => {
  if (value === null || typeof value !== 'object') return
  const name = typeof value.$ref === 'string' && value.$ref.match(/^#\/components\/schemas\/(.+)$/)?.[1]
  if (name && !used.has(name)) {
    used.add(name)
    follow(document.components.schemas[name])
  }
  Object.values(value).forEach(follow)
}
follow(document.paths)
document.components = { schemas: Object.fromEntries(Object.entries(document.components.schemas).filter(([name]) => used.has(name))) }

const types = astToString(await openapiTS(document, { alphabetize: true }))
const text = '// Generated from the OpenAPI document of the server: go test ./server/events -run TestTypeScriptTypes -rewrite\n\n' + types
if (process.argv[2]) writeFileSync(process.argv[2], text)
else process.stdout.write(text)
