'use strict'
// Preloaded while the image is built: lets the agent start as it will in a container, asks it once, and ends it, so
// that V8's compile cache holds the functions which a start and a first run need. Whatever the agent lacks here (a mesh, a token)
// must not fail the build; what counts is that its code was loaded.
const { existsSync, mkdirSync, writeFileSync } = require('node:fs')
const { flushCompileCache } = require('node:module')
const { request } = require('node:http')
const { join } = require('node:path')

const placeholders = {
  FLOTILLA_AGENT_ID: 'warm',
  FLOTILLA_AGENT_KIND: 'worker',
  FLOTILLA_MESH_URL: 'http://127.0.0.1:9',
  FLOTILLA_MODEL: 'warm',
  FLOTILLA_MESH_PUBLIC_KEY: 'A'.repeat(43),
  FLOTILLA_BRIEFING: '/data/warm-briefing',
}
for (const [name, value] of Object.entries(placeholders)) process.env[name] ??= value

mkdirSync('/data/warm-briefing', { recursive: true })
writeFileSync('/data/warm-briefing/door-token', 'warm')

process.on('exit', () => flushCompileCache())
process.on('uncaughtException', (error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(0)
})
const deadline = setTimeout(() => process.exit(0), 3_000)

/** What the first run loads: in the cache, and in no start. */
function warmLate() {
  if (!existsSync(join(__dirname, 'late.cjs'))) return
  const { late } = require('./late.cjs')
  for (const load of Object.values(late)) load()
}

function ask() {
  const asked = request({ host: '127.0.0.1', port: 8400, path: '/healthz' }, (reply) => {
    reply.resume()
    clearTimeout(deadline)
    warmLate()
    setTimeout(() => process.exit(0), 100)
  })
  asked.on('error', () => setTimeout(ask, 50))
  asked.end()
}
setTimeout(ask, 50)
