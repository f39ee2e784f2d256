import { EventEmitter } from 'node:events'
import { Agent, request } from 'node:http'
import type { ClientRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { headers } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import type { FastifyInstance } from 'fastify'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { freeShares } from '../../../../../tests/support/free-shares.ts'
import type { Log } from '../../../../foundation/src/platform/log.ts'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { agentConnectionBounds } from '../bound-connections.ts'
import { createServer } from '../server.ts'
import { createHeldBytes } from '../../../../foundation/src/intake/held-bytes.ts'
import { createAgentGate } from './agent-gate.ts'
import type { AgentGateDeps } from './agent-gate.ts'
import { takeBodies } from '../take-bodies.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

const servers: { server: FastifyInstance; calls: ClientRequest[] }[] = []
afterEach(async () => {
  for (const { server, calls } of servers.splice(0)) {
    for (const call of calls) call.destroy()
    await server.close()
  }
})

/** An agent API in which each agent's token is its id. */
async function aServer(log: Log = silentLog) {
  const gate = createAgentGate({
    verifyToken: (agentId) => (agentId === '' ? null : { agentId, token: 'program' }),
    ticketOf: () => {
      throw new Error('not asked')
    },
    readingOn: () => 0,
    liveRunOf: (agentId) => ({ runId: 'run_1', agentId, fence: 1 }) as never,
    countCall: () => {},
    guard: () => {},
    ...freeShares(),
  })
  const server = createServer(log)
  let admitted = 0
  server.addHook('onRequest', gate.admitToModels)
  server.addHook('onRequest', async () => void admitted++)
  server.post('/x', async () => ({ done: true }))
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  const calls: ClientRequest[] = []
  servers.push({ server, calls })
  /** Sends the first byte of a body; the test sends the rest. */
  const open = (agentId: string): ClientRequest => {
    const call = request(`${url}/x`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${agentId}`,
        'content-type': 'application/json',
        'content-length': 2,
      },
    })
    call.on('error', () => {})
    call.write('{')
    calls.push(call)
    return call
  }
  return { open, server: server.server, admitted: () => admitted }
}

const statusOf = (call: ClientRequest): Promise<number | undefined> =>
  new Promise((resolve) => call.once('response', (reply) => resolve(reply.resume().statusCode)))

test('one agent has 64 calls open at most, another is not held up, and a closed call makes room', async () => {
  const { open, admitted } = await aServer()
  const held = Array.from({ length: 64 }, () => open('greedy'))
  await expect.poll(admitted).toBe(64)

  expect(await statusOf(open('greedy'))).toBe(429)
  const other = open('modest')
  other.end('}')
  expect(await statusOf(other)).toBe(200)

  held[0]?.destroy()
  await expect
    .poll(() => {
      const next = open('greedy')
      next.end('}')
      return statusOf(next)
    })
    .toBe(200)
})

test('a stranger is refused before its body is read', async () => {
  heedsLesson(14)
  const { open } = await aServer()
  expect(await statusOf(open(''))).toBe(401)
})

test('a client that hangs up in its body leaves no error in the log', async () => {
  const errors: unknown[] = []
  const { open, server } = await aServer({ ...silentLog, error: (fields) => void errors.push(fields) })
  const hungUp = new Promise((resolve) =>
    server.once('request', (_request, reply) => {
      reply.once('close', resolve)
      call.destroy()
    }),
  )
  const call = open('a')
  await hungUp
  // A later complete call shows that the gate has processed the earlier one.
  const next = open('b')
  next.end('}')
  expect(await statusOf(next)).toBe(200)
  expect(errors).toEqual([])
})

/** An API that refuses calls, and counters of the bytes of a body that it received, kept and parsed. */
async function aRefusingServer(deps: Partial<AgentGateDeps>, kind: 'door' | 'models' = 'models') {
  const work = { held: 0, mostHeld: 0, read: 0, received: () => 0 }
  const gate = createAgentGate({
    verifyToken: (agentId) => ({ agentId, token: kind === 'door' ? 'door' : 'program' }),
    ticketOf: (runId, agentId, fence) => ({ runId, agentId, fence }) as never,
    readingOn: () => 0,
    liveRunOf: (agentId) => ({ runId: 'run_1', agentId, fence: 1 }) as never,
    countCall: () => {},
    guard: () => {},
    ...freeShares(),
    held: {
      take: (_agentId, bytes) => {
        work.held += bytes
        work.mostHeld = Math.max(work.mostHeld, work.held)
      },
      giveBack: (_agentId, bytes) => void (work.held -= bytes),
    },
    ...deps,
  })
  const server = createServer(silentLog, agentConnectionBounds)
  takeBodies(server, gate, (body) => {
    work.read++
    return body.length
  })
  server.addHook('onRequest', kind === 'door' ? gate.admitDoorToken : gate.admitToModels)
  const wide = { bodyLimit: 8 * 1024 * 1024, config: { needs: () => ({ do: 'view-fleet' }) as const } }
  server.post('/x', wide, async (request) => ({ bytes: request.body }))
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  const calls: ClientRequest[] = []
  servers.push({ server, calls })
  server.server.on('connection', (socket) => (work.received = () => socket.bytesRead))
  const post = (bytes: number, more: Record<string, string> = {}, path = '/x') => {
    const sent = request(`${url}${path}`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: 'Bearer digger',
        'content-type': 'application/json',
        'content-length': bytes,
        [headers.runId]: 'run_1',
        [headers.runFence]: '1',
        ...more,
      },
    })
    sent.on('error', () => {})
    calls.push(sent)
    return sent
  }
  return { work, post }
}

const refuses = (code: ProblemCode) => () => {
  throw new Problem(code, { detail: 'no', retryAfterSeconds: 7 })
}

interface Refusal {
  readonly what: string
  readonly deps: Partial<AgentGateDeps>
  readonly kind?: 'door'
  readonly status: number
}

const loopUsed = {
  require: refuses('rate-limited'),
  spend: <T>(_id: string, work: () => T) => work(),
  turn: () => null,
}

test.each<Refusal>([
  { what: 'token', deps: { verifyToken: () => null }, status: 401 },
  { what: 'rate', deps: { countCall: refuses('rate-limited') }, status: 429 },
  { what: 'live run', deps: { liveRunOf: () => null }, status: 403 },
  { what: 'run', deps: { ticketOf: refuses('stale-fence') }, kind: 'door', status: 409 },
  {
    what: 'kind of token',
    deps: { verifyToken: () => ({ agentId: 'digger', token: 'program' }) },
    kind: 'door',
    status: 403,
  },
  { what: 'permission', deps: { guard: refuses('denied') }, status: 403 },
  { what: 'share of the loop', deps: { loop: loopUsed }, status: 429 },
])(
  'a call whose $what refuses it is answered while its body is still out, and nothing of it is kept or parsed',
  async ({ deps, kind, status }) => {
    const { work, post } = await aRefusingServer(deps, kind)
    const sent = post(4_000_000)
    sent.write(Buffer.alloc(1000))
    expect(await statusOf(sent)).toBe(status)
    expect(work).toMatchObject({ mostHeld: 0, read: 0 })
  },
)

test('an unknown path is answered before the body is read', async () => {
  const { work, post } = await aRefusingServer({})
  const sent = post(900_000, {}, '/nothing')
  sent.write(Buffer.alloc(1000))
  expect(await statusOf(sent)).toBe(404)
  expect(work).toMatchObject({ mostHeld: 0, read: 0 })
})

test('a refused sender that goes on sending is hung up on after a megabyte', async () => {
  const { work, post } = await aRefusingServer({ liveRunOf: () => null })
  const sent = post(8_000_000_000)
  const gone = new Promise<void>((resolve) => sent.once('close', () => resolve()))
  const pump = () => {
    while (!sent.destroyed && sent.write(Buffer.alloc(65_536)));
  }
  sent.on('drain', pump)
  pump()
  expect(await statusOf(sent)).toBe(403)
  await gone
  // The kernel's socket buffers may take in some bytes, which the mesh does not read.
  expect(work.received()).toBeLessThan(4 * 1024 * 1024)
})

test('bodies count until their calls end, and a call above the limit gets a time to retry', async () => {
  const held = createHeldBytes({ ...agentShareLimits.heldBytes, perAgentMax: 2500 })
  const { post } = await aRefusingServer({ held })
  const first = post(2000)
  first.write(Buffer.alloc(1999))
  await expect
    .poll(async () => {
      const second = post(1000)
      second.end(Buffer.alloc(1000))
      return statusOf(second)
    })
    .toBe(429)
  first.end('}')
  expect(await statusOf(first)).toBe(200)
  await expect
    .poll(async () => {
      const third = post(2500)
      third.end(Buffer.alloc(2500))
      return statusOf(third)
    })
    .toBe(200)
})

test('two hundred headers are taken, and one more is refused and not left out', async () => {
  const { post } = await aRefusingServer({})
  const some = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, '1']))
  const few = post(2, some(150))
  few.end('{}')
  expect(await statusOf(few)).toBe(200)
  const many = post(2, some(201))
  many.end('{}')
  expect(await statusOf(many)).toBe(413)
})

test('the bytes of a call count until its client and its work are both done, and are released once', () => {
  const held: number[] = []
  const gate = createAgentGate({
    verifyToken: (agentId) => ({ agentId, token: 'program' }),
    ticketOf: () => ({}) as never,
    liveRunOf: (agentId) => ({ runId: 'run_1', agentId, fence: 1 }) as never,
    readingOn: () => 0,
    countCall: () => {},
    guard: () => {},
    ...freeShares(),
    held: { take: (_id, bytes) => void held.push(bytes), giveBack: (_id, bytes) => void held.push(-bytes) },
  })
  const call = {
    headers: { authorization: 'Bearer digger' },
    routeOptions: { config: {} },
    params: {},
    raw: { socket: new EventEmitter() },
  } as never
  const raw = new EventEmitter()
  return gate.admitToModels(call, { raw } as never).then(() => {
    gate.hold(call, 5)
    const ended = [gate.keep(call), gate.keep(call)]
    raw.emit('close')
    gate.hold(call, 7)
    ended[0]?.()
    ended[0]?.()
    expect(held).toEqual([5, 7])
    ended[1]?.()
    expect(held).toEqual([5, 7, -12])
    // A later hold would never be released, so it is ignored.
    gate.hold(call, 9)
    gate.keep(call)()
    expect(held).toEqual([5, 7, -12])
  })
})

test('each request of a connection is who its own token says, looked up once, whatever its headers are called', async () => {
  const looked: string[] = []
  const gate = createAgentGate({
    verifyToken: (agentId) => {
      looked.push(agentId)
      return { agentId, token: 'program' }
    },
    ticketOf: () => ({}) as never,
    readingOn: () => 0,
    liveRunOf: (agentId) => ({ runId: 'run_1', agentId, fence: 1 }) as never,
    countCall: () => {},
    guard: () => {},
    ...freeShares(),
  })
  const server = createServer(silentLog)
  servers.push({ server, calls: [] })
  takeBodies(server, gate, (body) => body.length)
  server.addHook('onRequest', gate.admitToModels)
  server.post('/x', async (request) => gate.spend(request, () => gate.modelSurface(request).agentId))
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const asked = (agentId: string) =>
    new Promise<string>((resolve, reject) => {
      const call = request(`${url}/x`, {
        method: 'POST',
        agent,
        headers: {
          authorization: `Bearer ${agentId}`,
          'content-type': 'application/json',
          admitted: 'other',
        },
      })
      call.once('response', (reply) => text(reply).then(resolve, reject))
      call.once('error', reject)
      call.end('{}')
    })

  expect([await asked('scout'), await asked('digger')]).toEqual(['scout', 'digger'])
  expect(looked).toEqual(['scout', 'digger'])
  agent.destroy()
})
