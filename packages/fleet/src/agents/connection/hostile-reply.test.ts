import { Agent, createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { ChatFrame } from '@flotilla/protocol/agent-api'
import { expect, onTestFinished, test } from 'vitest'
import { createHeldBytes } from '../../../../foundation/src/intake/held-bytes.ts'
import { createLoopShare } from '../../../../foundation/src/intake/loop-share.ts'
import { createLoopTurns } from '../../../../foundation/src/intake/loop-turns.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { createAgentHttp } from './agent-http.ts'
import { createMeshIdentity } from './mesh-identity.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

const patient = new AbortController().signal
const mib = 1024 * 1024

/** An agent with the test's replies, and the resources of the mesh that they use. */
async function anAgent(
  answer: (response: ServerResponse) => void,
  bounds: { readonly perAgentMax?: number; readonly cpuMsOfEach?: number } = {},
) {
  let requestCount = 0
  const server = createServer((request, response) => {
    request.resume()
    requestCount++
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  const port = typeof bound === 'object' && bound ? bound.port : 0
  const http = new Agent({ keepAlive: true })
  onTestFinished(async () => {
    http.destroy()
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })
  const hand = createManualClock()
  let sleeps = 0
  const clock: typeof hand = {
    ...hand,
    sleep: (ms, signal) => {
      sleeps++
      return hand.sleep(ms, signal)
    },
  }
  const held = createHeldBytes({ ...agentShareLimits.heldBytes, ...bounds })
  const work = { held: 0, spends: 0 }
  const files = { held: 0 }
  const downloads = createHeldBytes({ ...agentShareLimits.downloadBytes, perAgentMax: 5 * mib })
  const loop = createLoopShare({
    clock,
    cpuMs: () => Math.floor(work.spends++ / 2 + 0.5) * (bounds.cpuMsOfEach ?? 0),
    msPerMinute: 6000,
    turns: createLoopTurns({ cpuMs: () => 0 }),
    what: 'replies',
  })
  const line = createAgentHttp({
    agentId: 'w',
    address: { host: '127.0.0.1', port },
    identity: createMeshIdentity({ secret: 's', clock }),
    clock,
    replies: {
      loop,
      downloads: {
        take: (agentId, bytes) => {
          downloads.take(agentId, bytes)
          files.held += bytes
        },
        giveBack: (agentId, bytes) => {
          downloads.giveBack(agentId, bytes)
          files.held -= bytes
        },
      },
      held: {
        take: (agentId, bytes) => {
          held.take(agentId, bytes)
          work.held += bytes
        },
        giveBack: (agentId, bytes) => {
          held.giveBack(agentId, bytes)
          work.held -= bytes
        },
      },
    },
    http,
  })
  return { line, files, work, clock, held, loop, asked: () => requestCount, sleeps: () => sleeps }
}

const ends = (text: string) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(text)
}

test('a file is held until it was handed on, and takes nothing of what replies have', async () => {
  const { line, files, work } = await anAgent((response) => {
    response.writeHead(200)
    response.end(Buffer.alloc(2 * mib))
  })
  const [first, second] = [await line.readFile('a', patient), await line.readFile('b', patient)]
  expect([files.held, work.held]).toEqual([4 * mib, 0])
  await expect(line.readFile('c', patient)).rejects.toMatchObject({ code: 'rate-limited' })
  expect(files.held).toBe(4 * mib)
  first.giveBack()
  first.giveBack()
  expect(files.held).toBe(2 * mib)
  second.giveBack()
  const third = await line.readFile('c', patient)
  third.giveBack()
  expect(files.held).toBe(0)
})

const values = (bytes: number) => '1,'.repeat(bytes / 2)

test.each([
  [
    'values',
    `{"state":"finished","result":{"tool_outputs":[${values(4_000_000)}1]}}`,
    'has more than 200000 values',
  ],
  [
    'empty lists',
    `{"state":"finished","result":{"result":[${'[],'.repeat(1_300_000)}1]}}`,
    'has more than 200000 values',
  ],
  [
    'names',
    `{"state":"finished",${Array.from({ length: 300_000 }, (_, at) => `"n${at}":1`).join(',')}}`,
    'has more than 50000 names',
  ],
  ['levels', '['.repeat(4_000_000), 'is nested deeper than 128 levels'],
])(
  'an outcome of four megabytes of %s is refused before anything is made of it',
  async (_what, text, words) => {
    const { line, work } = await anAgent(ends(text))
    await expect(line.result('run_1', 0, patient)).rejects.toMatchObject({
      code: 'agent-unavailable',
      detail: expect.stringContaining(words),
    })
    expect(work.held).toBe(0)
  },
)

test('a refusal of four megabytes of values says its status and nothing else', async () => {
  const { line } = await anAgent((response) => {
    response.writeHead(409, { 'content-type': 'application/json' })
    response.end(`{"code":"conflict","detail":"x","more":[${values(4_000_000)}1]}`)
  })
  await expect(line.chatSessions(patient)).rejects.toMatchObject({
    code: 'agent-unavailable',
    extra: { agent_status: 409 },
  })
})

test('replies that one agent holds open at once are bounded together, and what ends makes room', async () => {
  const waiting: ServerResponse[] = []
  const { line, work } = await anAgent(
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write(' '.repeat(2 * mib))
      waiting.push(response)
    },
    { perAgentMax: 5 * mib },
  )
  const calls = [1, 2].map(() => line.chatSessions(patient).catch((error: unknown) => error))
  await expect.poll(() => work.held).toBe(4 * mib)
  await expect(line.chatSessions(patient)).rejects.toMatchObject({
    code: 'agent-unavailable',
    detail: expect.stringContaining('maximum for one agent is 5242880'),
  })
  expect(work.held).toBeLessThanOrEqual(4 * mib)
  for (const response of waiting) response.destroy()
  await Promise.all(calls)
  expect(work.held).toBe(0)
})

test('an endless frame counts as held, and is released with the connection', async () => {
  const { line, work } = await anAgent(
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: "${'x'.repeat(2 * mib)}`)
    },
    { perAgentMax: mib },
  )
  const turn = line.chatStream({ run_id: 'run_1', fence: 1, message: 'hi', session: 's' }, () => {}, patient)
  // Handled like a broken connection: the mesh asks the agent for the outcome, and missing room in the mesh does
  // not fail the run.
  expect(await turn).toBeNull()
  expect(work.held).toBe(0)
})

test('an agent that used up its share of the event loop is read again later', async () => {
  const frame = (content: string) => `data: ${JSON.stringify({ type: 'text_delta', content })}\n\n`
  let stream: ServerResponse | null = null
  const { line, clock, sleeps } = await anAgent(
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(frame('one'))
      stream = response
    },
    { cpuMsOfEach: 7000 },
  )
  const seen: ChatFrame[] = []
  const hasCome = () => seen.map((one) => (one.type === 'text_delta' ? one.content : one.type))
  const giveUp = new AbortController()
  const turn = line
    .chatStream(
      { run_id: 'run_1', fence: 1, message: 'hi', session: 's' },
      (one) => seen.push(one),
      giveUp.signal,
    )
    .catch(() => null)
  await expect.poll(hasCome).toEqual(['one'])
  await new Promise((resolve) => stream!.write(frame('two'), resolve))
  await expect.poll(sleeps).toBeGreaterThan(0)
  expect(hasCome()).toEqual(['one'])
  await clock.advance(10_000)
  await expect.poll(hasCome).toEqual(['one', 'two'])
  giveUp.abort()
  await turn
})

const finished = (runId: string) =>
  JSON.stringify({
    state: 'finished',
    result: {
      run_id: runId,
      fence: 1,
      task_id: null,
      status: 'complete',
      result: null,
      response: 'done',
      error: null,
      promote_to_blackboard: {},
      tool_outputs: [],
      tokens_used: 1,
      cost_usd: 0,
      duration_ms: 1,
    },
  })

test('an agent is well while there is no room for a byte of its replies and its share of the loop is used up', async () => {
  const { line, held, loop } = await anAgent(ends('{"status":"ok"}'), { cpuMsOfEach: 70_000 })
  held.take('w', agentShareLimits.heldBytes.perAgentMax)
  loop.spend('w', () => {})
  expect(loop.waitMs('w')).toBeGreaterThan(0)
  expect(await line.healthy(patient)).toBe(true)
})

test('an answer to the question for health that is longer than any honest one is not read', async () => {
  const { line, work } = await anAgent(ends(`{"status":"ok"${' '.repeat(20_000)}}`))
  expect(await line.healthy(patient)).toBe(false)
  expect(work.held).toBe(0)
})

test('an outcome that there is no room for is asked for again when there may be some', async () => {
  const { line, held, clock, asked } = await anAgent(ends(finished('run_1')))
  held.take('w', agentShareLimits.heldBytes.perAgentMax)
  const outcome = line.result('run_1', 0, patient)
  await expect.poll(asked).toBe(1)
  await expect
    .poll(async () => {
      await clock.advance(2000)
      return asked()
    })
    .toBeGreaterThan(2)
  held.giveBack('w', agentShareLimits.heldBytes.perAgentMax)
  const room = setInterval(() => void clock.advance(2000), 10)
  onTestFinished(() => clearInterval(room))
  expect(await outcome).toMatchObject({ state: 'finished' })
})

test('a refused turn gives its status even without room for its body', async () => {
  const { line, held } = await anAgent((response) => {
    response.writeHead(409, { 'content-type': 'application/json' })
    response.end('{"code":"conflict","detail":"busy"}')
  })
  held.take('w', agentShareLimits.heldBytes.perAgentMax)
  const turn = line.chatStream({ run_id: 'run_1', fence: 1, message: 'hi', session: 's' }, () => {}, patient)
  await expect(turn).rejects.toMatchObject({ code: 'conflict' })
})
