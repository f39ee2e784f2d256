import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { wireLimits } from '@flotilla/protocol/limits'
import { mcpAgentEndpoints } from '@flotilla/protocol/mcp-api'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { permissionListLimits } from '@flotilla/protocol/permission-record'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentAtWork, knock, longWork } from '../support/agent-at-work.ts'
import type { AgentAtWork } from '../support/agent-at-work.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { eventually } from '../support/eventually.ts'
import { httpCall } from '../support/http-call.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startWebServer } from '../support/web-server.ts'
import type { WebServer } from '../support/web-server.ts'

/**
 * Other work waits for the event loop as long as the thread works without a break. Such stretches are measured in
 * processor time, so that the load of the machine does not matter.
 */
const stretchMaxMs = 100
/**
 * Share of the mesh's work during a flood that may be in longer stretches: the slowest percent, and garbage
 * collections.
 */
const longPartMax = 0.05
const keysOnBoard = 20_000
const callsOfFlood = 48
const callsAtOnce = 16
/** Used as a status for an answer that broke off. */
const cutOff = 0

/** 64 MB of text in 64 KB. */
const bomb = gzipSync('%4'.repeat(32 * 1024 * 1024))

let folder: string
let mesh: MeshProcess
let web: WebServer
let second: AgentAtWork

/** The most expensive patterns that a record may hold, none of which matches. */
const worstPatterns = Array.from({ length: permissionListLimits.entriesMax }, (_, index) =>
  `${'**/'.repeat(60)}x${index}`.slice(0, permissionListLimits.entryMaxChars),
)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'flotilla-stretches-'))
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
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${'%4'.repeat(1.75 * 1024 * 1024)}\n\n`)
  })
  mesh = await startMesh({
    cassettes: { works: longWork },
    settings: { egress: { allowed_private: [`127.0.0.1:${web.port}`] } },
    environment: {
      NODE_OPTIONS: `--import ${join(repositoryRoot, 'tests', 'support', 'loop-stretches.mjs')}`,
      FLOTILLA_TEST_STRETCHES: join(folder, 'stretches.json'),
    },
  })
  await mesh.terminate()
  fillBoard(join(mesh.home, 'data', 'mesh.db'))
  await mesh.restart()
  await mesh.createWorker('second')
  second = await agentAtWork(mesh, 'second')
})
afterAll(async () => {
  await mesh?.stop()
  await web?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Writes keys as agents would have written them before the mesh was started. */
function fillBoard(path: string): void {
  const database = new DatabaseSync(path)
  try {
    const insert = database.prepare(
      `INSERT INTO blackboard (key, value, version, written_by, created_at, updated_at, expires_at)
       VALUES (?, '1', 1, 'owner', 0, 0, NULL)`,
    )
    database.exec('BEGIN')
    for (let key = 0; key < keysOnBoard; key++) insert.run(`board/${'a/'.repeat(100)}${key}`)
    database.exec('COMMIT')
  } finally {
    database.close()
  }
}

/** Returns the processor time between two rounds of the mesh's event loop since the last call, milliseconds. */
async function stretches(): Promise<readonly number[]> {
  const path = join(folder, 'stretches.json')
  rmSync(path, { force: true })
  process.kill(mesh.pid, 'SIGUSR2')
  return eventually('the mesh has written its stretches', async () => {
    try {
      return JSON.parse(readFileSync(path, 'utf8')) as number[]
    } catch {
      return null
    }
  })
}

const sum = (of: readonly number[]): number => of.reduce((all, one) => all + one, 0)

/** Creates a new agent with an active run; its share of the event loop is not used yet. */
async function aFlooder(id: string, reads: readonly string[]): Promise<AgentAtWork> {
  await mesh.createWorker(id)
  await editPermissions(mesh, id, {
    blackboard_read: [...reads],
    blackboard_write: ['*'],
    allowed_apis: ['http', 'llm'],
  })
  const value = { set: { wiki: { url: `http://127.0.0.1:${web.port}/mcp` } }, remove: [] }
  const edited = await mesh.call(controlEndpoints.agentEdit, {
    params: { id },
    body: { field: 'mcpServers', value, reason: '' },
  })
  expect(edited.status, edited.text).toBe(200)
  return agentAtWork(mesh, id)
}

interface Flood {
  readonly what: string
  readonly reads?: readonly string[]
  readonly atOnce?: number
  /** True if the flood uses up the agent's share of the loop, so that its last calls are refused. */
  readonly isEnded?: boolean
  call(by: AgentAtWork): Promise<{ readonly status: number }>
}

const floods: readonly Flood[] = [
  {
    what: 'lists of a board of 20,000 keys',
    reads: ['none/**', 'other/*'],
    call: (by) => knock(by, { method: 'GET', path: '/mesh/blackboard?prefix=board' }),
  },
  {
    what: 'lists that are decided by the worst patterns',
    reads: worstPatterns,
    isEnded: true,
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
          model: 'none',
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

async function flood(by: AgentAtWork, { call, atOnce = callsAtOnce }: Flood): Promise<number[]> {
  const answers: number[] = []
  let left = callsOfFlood
  const one = async (): Promise<void> => {
    while (left-- > 0) {
      const status = await call(by).then(
        (reply) => reply.status,
        () => cutOff,
      )
      answers.push(status)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  return answers
}

describe('a flood of one agent', () => {
  it.each(floods.map((one, index) => [one.what, one, `flooder-${index}`] as const))(
    'a flood of %s leaves the event loop to other agents',
    async (_what, one, id) => {
      const by = await aFlooder(id, one.reads ?? [])
      await stretches()
      const flooding = flood(by, one)
      for (let times = 0; times < 5; times++) {
        const listed = await knock(second, { method: 'GET', path: '/mesh/blackboard?prefix=none' })
        expect([listed.status, (await mesh.call(meshHumanEndpoints.status)).status]).toEqual([200, 200])
      }
      const answers = await flooding
      const all = await stretches()
      // A flood that the gate refused would show nothing. Whether the agent may use a model is decided only after
      // the gate.
      const refused = [cutOff, 401, ...(one.isEnded === true ? [] : [429])]
      expect(answers.filter((status) => !refused.includes(status)).length, answers.join(' ')).toBeGreaterThan(
        0,
      )
      const long = all.filter((ms) => ms > stretchMaxMs)
      expect(
        sum(long) / sum(all),
        `${Math.max(...all)} ms at most, of ${sum(all)}: ${answers.join(' ')}`,
      ).toBeLessThan(longPartMax)
    },
  )
})
