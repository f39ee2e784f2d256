import { Agent, createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ChatFrame, ChatRequest, TaskResult } from '@flotilla/protocol/agent-api'
import { afterEach, describe, expect, test } from 'vitest'
import { freeShares } from '../../../../../tests/support/free-shares.ts'
import { createAgentHttp } from './agent-http.ts'
import { createMeshIdentity } from './mesh-identity.ts'

const clock = { now: () => 1_700_000_000_000, sleep: async () => {} }
const identity = createMeshIdentity({ secret: 's', clock })
const replies = freeShares()
const patient = new AbortController().signal
const closers: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

type Answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void

/** An agent with the test's replies, and a connection to it. */
async function anAgent(answer: Answer, idleTimeoutMs = 5000) {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => answer(request, response, Buffer.concat(chunks)))
  })
  let connections = 0
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  const port = typeof bound === 'object' && bound ? bound.port : 0
  const http = new Agent({ keepAlive: true })
  closers.push(async () => {
    http.destroy()
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })
  const address = { host: '127.0.0.1', port }
  const line = createAgentHttp({ agentId: 'w', address, identity, http, clock, replies, idleTimeoutMs })
  return { line, server, connections: () => connections }
}

const json = (response: ServerResponse, value: unknown, status = 200) => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

const result: TaskResult = {
  run_id: 'run_1',
  fence: 3,
  task_id: null,
  status: 'complete',
  result: null,
  response: 'fünf 😀',
  error: null,
  promote_to_blackboard: {},
  tool_outputs: [],
  tokens_used: 1,
  cost_usd: 0,
  duration_ms: 2,
}
const request: ChatRequest = { run_id: 'run_1', fence: 3, message: 'hi', session: 'default' }
const done: ChatFrame = { type: 'done', result }
const frame = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const unavailable = { code: 'agent-unavailable' }

describe('a streamed chat', () => {
  const frames = [{ type: 'text_delta', content: 'fü' }, { type: 'text_delta', content: 'nf 😀' }, done]
  const whole = Buffer.from(`: hello\n\n${frames.map(frame).join(': keep-alive\n\n')}`)

  test('a streamed chat is the same when every byte comes alone', async () => {
    const { line } = await anAgent((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      response.socket?.setNoDelay(true)
      let at = 0
      const next = (): void => {
        if (at >= whole.length) response.end()
        else response.write(whole.subarray(at, ++at), () => setImmediate(next))
      }
      next()
    })
    const seen: ChatFrame[] = []
    expect(await line.chatStream(request, (got) => seen.push(got), patient)).toEqual(result)
    expect(seen).toEqual(frames)
  })

  test('a streamed chat sends run, fence and words with the proof of the mesh', async () => {
    let seen: unknown
    const { line } = await anAgent((incoming, response, body) => {
      seen = [incoming.method, incoming.url, incoming.headers.authorization, JSON.parse(body.toString())]
      response.end(frame(done))
    })
    await line.chatStream(request, () => {}, patient)
    expect(seen).toEqual(['POST', '/chat/stream', `Bearer ${identity.signFor('w')}`, request])
  })

  test('a streamed chat is null when it ends before it is done', async () => {
    const { line } = await anAgent((_request, response) =>
      response.end(frame({ type: 'text_delta', content: 'a' })),
    )
    const seen: ChatFrame[] = []
    expect(await line.chatStream(request, (got) => seen.push(got), patient)).toBeNull()
    expect(seen).toHaveLength(1)
  })

  test('a streamed chat is null when the process dies in the middle', async () => {
    const { line } = await anAgent((_request, response) => {
      response.write(frame({ type: 'text_delta', content: 'a' }), () => response.destroy())
    })
    expect(await line.chatStream(request, () => {}, patient)).toBeNull()
  })

  test('a streamed chat is null when nothing comes for too long', async () => {
    const { line } = await anAgent((_request, response) => void response.write(': hello\n\n'), 80)
    expect(await line.chatStream(request, () => {}, patient)).toBeNull()
  })

  test('a streamed chat goes on for as long as keep-alive comments come', async () => {
    const { line } = await anAgent((_request, response) => {
      let heartbeats = 0
      const timer = setInterval(() => {
        heartbeats++
        if (heartbeats <= 6) {
          response.write(': keep-alive\n\n')
          return
        }
        clearInterval(timer)
        response.end(frame(done))
      }, 60)
    }, 200)
    expect(await line.chatStream(request, () => {}, patient)).toEqual(result)
  })

  test.each([
    ['a frame of no known type', frame({ type: 'shout', content: 'a' })],
    ['a frame with a field too many', frame({ type: 'text_delta', content: 'a', extra: 1 })],
    ['what is not JSON', 'data: {"type":\n\n'],
    ['the result of another run', frame({ type: 'done', result: { ...result, run_id: 'run_2' } })],
    ['a line without end', `data: ${'x'.repeat(5 * 1024 * 1024)}`],
  ])('%s is refused', async (_name, text) => {
    const { line } = await anAgent((_request, response) => response.end(text))
    const seen: ChatFrame[] = []
    await expect(line.chatStream(request, (got) => seen.push(got), patient)).rejects.toMatchObject(
      unavailable,
    )
    expect(seen).toEqual([])
  })

  test('a caller that aborts gets its own reason, and the agent sees the disconnect', async () => {
    const hungUp = Promise.withResolvers<void>()
    const { line } = await anAgent((_request, response) => {
      response.on('close', () => hungUp.resolve())
      response.write(frame({ type: 'text_delta', content: 'a' }))
    })
    const giveUp = new AbortController()
    const chat = line.chatStream(request, () => giveUp.abort(new Error('enough')), giveUp.signal)
    await expect(chat).rejects.toThrow('enough')
    await hungUp.promise
  })

  test('an agent that refuses the turn is named with status and code', async () => {
    const { line } = await anAgent((_request, response) =>
      json(response, { code: 'agent-busy', detail: 'x' }, 409),
    )
    await expect(line.chatStream(request, () => {}, patient)).rejects.toMatchObject({
      ...unavailable,
      extra: { agent_status: 409, agent_code: 'agent-busy' },
    })
  })
})

describe('a plain call', () => {
  test('a plain call keeps its connection for the next', async () => {
    const { line, connections } = await anAgent((_request, response) => json(response, { status: 'ok' }))
    for (let count = 0; count < 5; count++) expect(await line.healthy(patient)).toBe(true)
    expect(connections()).toBe(1)
  })

  test('a plain call is made again once when the kept connection was closed meanwhile', async () => {
    let calls = 0
    const { line } = await anAgent((_request, response) => {
      calls++
      if (calls === 2) response.socket?.resetAndDestroy()
      else json(response, { accepted: true, status: 'executing' })
    })
    const call = { run_id: 'run_1', fence: 1, tool: 't', params: {} }
    expect(await line.invoke(call, patient)).toBe(true)
    expect(await line.invoke(call, patient)).toBe(true)
    expect(calls).toBe(3)
  })

  test('a plain call is not healthy if the port is closed', async () => {
    const { line, server } = await anAgent(() => {})
    await new Promise<void>((resolve) => server.close(() => resolve()))
    expect(await line.healthy(patient)).toBe(false)
    await expect(line.status(patient)).rejects.toMatchObject(unavailable)
  })

  test.each([
    ['a field too many', { state: 'unknown', extra: 1 }],
    ['another form', { state: 'finished' }],
    ['no object', 'ok'],
    ['the result of another run', { state: 'finished', result: { ...result, run_id: 'run_2' } }],
  ])('a reply with %s is refused', async (_name, reply) => {
    const { line } = await anAgent((_request, response) => json(response, reply))
    await expect(line.result('run_1', 0, patient)).rejects.toMatchObject(unavailable)
  })

  test('a reply without end is cut off at the bound', async () => {
    let sent = 0
    const { line } = await anAgent((_request, response) => {
      const block = Buffer.alloc(256 * 1024, 0x20)
      const more = (): void => {
        if (response.destroyed) return
        sent += block.length
        response.write(block, (error) => void (error ? undefined : setImmediate(more)))
      }
      more()
    })
    await expect(line.chatSessions(patient)).rejects.toThrow('longer than 4194304 bytes')
    expect(sent).toBeLessThan(16 * 1024 * 1024)
  })

  test('the outcome of a run is asked for by id and wait', async () => {
    let url = ''
    const { line } = await anAgent((incoming, response) => {
      url = incoming.url ?? ''
      json(response, { state: 'finished', result })
    })
    expect(await line.result('run_1', 30, patient)).toEqual({ state: 'finished', result })
    expect(url).toBe('/result?run_id=run_1&wait_s=30')
  })

  test('bytes of a file arrive as they are, at an encoded path', async () => {
    const content = Buffer.from([0, 255, 10, 13])
    let seen: unknown
    const { line } = await anAgent((incoming, response, body) => {
      seen = [incoming.method, incoming.url, body]
      json(response, { path: 'x', size: 4 })
    })
    await line.writeFile('input/a b?#%.json', content, patient)
    expect(seen).toEqual(['PUT', '/files/input/a%20b%3F%23%25.json', content])
  })

  test('an agent’s refusal of a path reaches the person who chose the path', async () => {
    const { line } = await anAgent((_request, response) =>
      json(response, { code: 'path-refused', detail: 'the path leaves /data' }, 400),
    )
    await expect(line.writeFile('../x', Buffer.from(''), patient)).rejects.toMatchObject({
      code: 'path-refused',
      detail: 'the path leaves /data',
    })
  })

  test('an agent cannot make up a refusal of another kind', async () => {
    const { line } = await anAgent((_request, response) =>
      json(response, { code: 'budget-exhausted', detail: 'pay me' }, 402),
    )
    await expect(line.status(patient)).rejects.toMatchObject(unavailable)
    await expect(line.status(patient)).rejects.not.toThrow('pay me')
  })

  test('a caller that aborts gets its own reason', async () => {
    const { line } = await anAgent(() => {})
    const giveUp = AbortSignal.timeout(50)
    await expect(line.status(giveUp)).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})

describe('a file of an agent', () => {
  const bytes = (response: ServerResponse, body: Buffer, length = body.length) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-length': length })
    response.end(body)
  }

  test('a file of an agent comes as the bytes that it is', async () => {
    const { line } = await anAgent((request, response) => {
      expect(request.url).toBe('/files/a%20b/c')
      bytes(response, Buffer.from([0, 255, 10]))
    })
    const file = await line.readFile('a b/c', patient)
    expect([...file.content]).toEqual([0, 255, 10])
    file.giveBack()
  })

  test('a file that states an excessive length is not read, and the problem names the repair', async () => {
    const { line } = await anAgent((_request, response) => bytes(response, Buffer.from('x'), 9 * 1024 * 1024))
    await expect(line.readFile('big', patient)).rejects.toMatchObject({
      code: 'body-too-large',
      repair: expect.stringContaining('artifact'),
    })
  })

  test('the connection is closed when a file exceeds its maximum length', async () => {
    const { line } = await anAgent((_request, response) => {
      response.writeHead(200)
      response.end(Buffer.alloc(9 * 1024 * 1024))
    })
    await expect(line.readFile('endless', patient)).rejects.toMatchObject({ code: 'agent-unavailable' })
  })

  test('a missing file is reported with the detail of the agent', async () => {
    const { line } = await anAgent((_request, response) =>
      json(response, { code: 'not-found', detail: 'There is no such file.' }, 404),
    )
    await expect(line.readFile('gone', patient)).rejects.toMatchObject({ code: 'not-found' })
  })
})
