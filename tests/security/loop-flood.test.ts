import { gzipSync } from 'node:zlib'
import { wireLimits } from '@flotilla/protocol/limits'
import { mcpAgentEndpoints } from '@flotilla/protocol/mcp-api'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { permissionListLimits } from '@flotilla/protocol/permission-record'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { knock } from '../support/agent-at-work.ts'
import type { AgentAtWork } from '../support/agent-at-work.ts'
import { startFloodedMesh } from '../support/flooded-mesh.ts'
import type { Flood, FloodedMesh } from '../support/flooded-mesh.ts'
import { httpCall } from '../support/http-call.ts'
import { startWebServer } from '../support/web-server.ts'
import type { WebServer } from '../support/web-server.ts'

const keysOnBoard = 20_000

/** 64 MB of text in 64 KB. */
const bomb = gzipSync('%4'.repeat(32 * 1024 * 1024))

let flooded: FloodedMesh
let web: WebServer

const answerOfModel = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'read' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})

/** The most expensive patterns that a record may hold, none of which matches. */
const worstPatterns = Array.from({ length: permissionListLimits.entriesMax }, (_, index) =>
  `${'**/'.repeat(60)}x${index}`.slice(0, permissionListLimits.entryMaxChars),
)

beforeAll(async () => {
  web = await startWebServer((request, response) => {
    if (request.url === '/compressed') {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
      response.end(bomb)
      return
    }
    if (request.url?.startsWith('/hop') === true) {
      response.writeHead(302, { location: `/hop${'%20'.repeat(300)}` })
      response.end()
      return
    }
    if (request.url === '/v1/chat/completions') {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(answerOfModel)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${'%4'.repeat(1.75 * 1024 * 1024)}\n\n`)
  })
  flooded = await startFloodedMesh({
    settings: {
      egress: { allowed_private: [`127.0.0.1:${web.port}`] },
      agents: Object.fromEntries(floods.map((_, index) => [`flooder-${index}`, { models: ['flooded/m'] }])),
      models: { 'flooded/m': { price: { input_per_mtok: 0.01, output_per_mtok: 0.01 } } },
      providers: {
        flooded: { kind: 'openai-compatible', base_url: `http://127.0.0.1:${web.port}/v1`, local: true },
      },
    },
    // Keys as agents would have written them.
    writeRows: (database) => {
      const insert = database.prepare(
        `INSERT INTO blackboard (key, value, version, written_by, created_at, updated_at, expires_at)
         VALUES (?, '1', 1, 'owner', 0, 0, NULL)`,
      )
      for (let key = 0; key < keysOnBoard; key++) insert.run(`board/${'a/'.repeat(100)}${key}`)
    },
  })
})
afterAll(async () => {
  await flooded?.close()
  await web?.close()
})

interface BoardFlood extends Flood {
  readonly reads?: readonly string[]
}

const floods: readonly BoardFlood[] = [
  {
    what: 'lists of a board of 20,000 keys',
    reads: ['none/**', 'other/*'],
    call: (by) => knock(by, { method: 'GET', path: '/mesh/blackboard?prefix=board' }),
  },
  {
    what: 'lists that are decided by the worst patterns',
    reads: worstPatterns,
    isEnded: true,
    // Each call uses a second of the agent's share, so more of them only wait for their turn.
    calls: 16,
    call: (by) => knock(by, { method: 'GET', path: '/mesh/blackboard?prefix=board' }),
  },
  {
    what: 'keys that are decided by the worst patterns',
    reads: worstPatterns,
    call: (by) => knock(by, { method: 'GET', path: `/mesh/blackboard/${'a/'.repeat(255)}b` }),
  },
  {
    what: 'bodies at their bound',
    call: (by) =>
      knock(by, {
        method: 'PUT',
        path: '/mesh/blackboard/x',
        body: { value: Array.from({ length: 90_000 }, (_, at) => at) },
      }),
  },
  {
    what: 'prompts at their bound',
    atOnce: 3,
    call: (by) =>
      httpCall({
        method: 'POST',
        url: `${by.api}/v1/chat/completions`,
        headers: { authorization: `Bearer ${by.programToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'flooded/m',
          messages: [{ role: 'user', content: 'x'.repeat(wireLimits.modelBodyMaxBytes - 1000) }],
        }),
      }),
  },
  ...['compressed', 'hop'].map((path) => ({
    what: `answers of a website: ${path}`,
    call: (by: AgentAtWork) =>
      knock(by, {
        ...meshAgentEndpoints.httpRequest,
        body: { url: `http://127.0.0.1:${web.port}/${path}` },
      }),
  })),
  {
    what: 'answers of an MCP server',
    // More at once exceed the memory for one agent, and break off.
    atOnce: 3,
    call: (by) =>
      knock(by, {
        ...mcpAgentEndpoints.mcpExchange,
        body: { server: 'wiki', url: null, method: 'POST', headers: {} },
      }),
  },
]

describe('a flood of one agent', () => {
  it.each(floods.map((one, index) => [one.what, one, `flooder-${index}`] as const))(
    'a flood of %s leaves the event loop to other agents',
    async (_what, one, id) => {
      const may = { blackboard_read: [...(one.reads ?? [])], blackboard_write: ['*'] }
      const by = await flooded.aFlooder(id, may, `http://127.0.0.1:${web.port}/mcp`)
      expect(await flooded.judge(by, one)).toBeNull()
    },
  )
})
