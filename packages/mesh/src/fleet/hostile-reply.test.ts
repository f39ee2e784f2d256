import { Agent, createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { ChatFrame } from '@flotilla/protocol/agent-api'
import { agentShare } from '@flotilla/protocol/limits'
import { expect, onTestFinished, test } from 'vitest'
import { createHeldBytes } from '../intake/held-bytes.ts'
import { createLoopShare } from '../intake/loop-share.ts'
import { createHandDrivenClock } from '../runs/hand-driven-clock.ts'
import { createAgentHttp } from './agent-http.ts'
import { createMeshIdentity } from './mesh-identity.ts'

const patient = new AbortController().signal
const mib = 1024 * 1024

/** An agent that answers every call as the test says, and what its replies take of the mesh. */
async function anAgent(
  answer: (response: ServerResponse) => void,
  bounds: { readonly heldPerAgentMaxBytes?: number; readonly cpuMsOfEach?: number } = {},
) {
  const server = createServer((request, response) => {
    request.resume()
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
  const clock = createHandDrivenClock()
  const held = createHeldBytes({ ...agentShare, ...bounds })
  const work = { held: 0, spends: 0 }
  const loop = createLoopShare({
    clock,
    cpuMs: () => Math.floor(work.spends++ / 2 + 0.5) * (bounds.cpuMsOfEach ?? 0),
    msPerMinute: 6000,
    what: 'replies',
  })
  const line = createAgentHttp({
    agentId: 'w',
    address: { host: '127.0.0.1', port },
    identity: createMeshIdentity({ secret: 's', clock }),
    clock,
    replies: {
      loop,
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
  return { line, work, clock }
}

const ends = (text: string) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(text)
}

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
  await expect(line.status(patient)).rejects.toMatchObject({
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
    { heldPerAgentMaxBytes: 5 * mib },
  )
  const calls = [1, 2].map(() => line.status(patient).catch((error: unknown) => error))
  await expect.poll(() => work.held).toBe(4 * mib)
  await expect(line.status(patient)).rejects.toMatchObject({
    code: 'agent-unavailable',
    detail: expect.stringContaining('at most 5242880 bytes at once'),
  })
  expect(work.held).toBeLessThanOrEqual(4 * mib)
  for (const response of waiting) response.destroy()
  await Promise.all(calls)
  expect(work.held).toBe(0)
})

test('a frame that does not end is held, and what is held is given back with the line', async () => {
  const { line, work } = await anAgent(
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: "${'x'.repeat(2 * mib)}`)
    },
    { heldPerAgentMaxBytes: mib },
  )
  const turn = line.chatStream({ run_id: 'run_1', fence: 1, message: 'hi', session: 's' }, () => {}, patient)
  await expect(turn).rejects.toMatchObject({ code: 'agent-unavailable' })
  expect(work.held).toBe(0)
})

test('an agent whose frames have used its share of the loop is read again when it has some back', async () => {
  const frame = (content: string) => `data: ${JSON.stringify({ type: 'text_delta', content })}\n\n`
  let stream: ServerResponse | null = null
  const { line, clock } = await anAgent(
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
  stream!.write(frame('two'))
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(hasCome()).toEqual(['one'])
  await clock.advance(10_000)
  await expect.poll(hasCome).toEqual(['one', 'two'])
  giveUp.abort()
  await turn
})
