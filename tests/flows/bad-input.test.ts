import { connect } from 'node:net'
import process from 'node:process'
import { fillPath } from '@flotilla/protocol/endpoint'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'
import { wireLimits } from '@flotilla/protocol/limits'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { templateEndpoints } from '@flotilla/protocol/templates-api'
import { isProblemCode } from '@flotilla/protocol/problem-catalog'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentSurroundings } from '../support/agent-surroundings.ts'
import { aCassette, runs, says } from '../support/cassettes.ts'
import { refusingPort, startFakeUpstream } from '../support/fake-upstream.ts'
import { httpCall } from '../support/http-call.ts'
import type { Reply } from '../support/http-call.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { expectProblem } from '../support/problem-matcher.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { runLimits } from '../../packages/work/src/runs/run-limits.ts'

const chat = meshHumanEndpoints.chat
const operator = { params: { id: 'operator' } }
const params = { id: 'task_1', key: 'tasks/x' }

let upstream: LlmUpstream
let mesh: MeshProcess

beforeAll(async () => {
  upstream = await startFakeUpstream()
  const free = { local: true }
  mesh = await startMesh({
    cassettes: {
      plain: aCassette(
        { when: '^wait$', turns: [runs('sleep 60'), says('Waited.')] },
        { turns: [says('Yes.')] },
      ),
    },
    environment: { FLOTILLA_SYSTEM_FAKE_KEY: 'sk-upstream-key-0123456789' },
    settings: {
      providers: {
        fake: { kind: 'openai-compatible', base_url: upstream.baseUrl, api_key: 'fake_key' },
        dead: {
          kind: 'openai-compatible',
          base_url: `http://127.0.0.1:${await refusingPort()}/v1`,
          local: true,
        },
      },
      models: {
        'fake/hello': { price: { input_per_mtok: 1000, output_per_mtok: 1000 } },
        'fake/breaks': free,
        'fake/babbles': free,
        'fake/status-500': free,
        'fake/status-429': free,
        'fake/status-401': free,
      },
    },
  })
})
afterAll(async () => {
  await mesh.stop()
  await upstream.close()
})

describe('a body that is wrong', () => {
  it('an invalid body gets a problem that names the fault: no JSON, unknown or missing fields, another content type', async () => {
    verifies('errors:problem-bodies')
    expectProblem(await mesh.call(chat, { ...operator, body: '{"message": "hi"' }), 'bad-json')
    // An empty request has no body, and the problem names the expected one.
    const nothing = expectProblem(await mesh.call(chat, { ...operator, body: '' }), 'bad-request')
    expect(nothing['detail']).toContain('message')
    const unknown = expectProblem(
      await mesh.call(chat, { ...operator, body: { message: 'hi', as: 'root' } }),
      'bad-request',
    )
    expect(unknown['detail']).toContain('as')
    expectProblem(await mesh.call(chat, { ...operator, body: { session: 'a' } }), 'bad-request')
    expectProblem(await mesh.call(chat, { ...operator, body: [] }), 'bad-request')
    expectProblem(await mesh.call(chat, { ...operator, body: { message: 7 } }), 'bad-request')
    const type = { 'content-type': 'text/plain' }
    expectProblem(
      await mesh.call(chat, { ...operator, body: '{"message":"hi"}', headers: type }),
      'bad-request',
    )
    expectProblem(await mesh.call(meshHumanEndpoints.runs, { query: { limit: 'many' } }), 'bad-request')
    expectProblem(await mesh.call(meshHumanEndpoints.runs, { query: { order: 'up' } }), 'bad-request')
    expectProblem(
      await mesh.call(meshHumanEndpoints.agentCreate, { body: { id: 'a/b', role: 'x' } }),
      'bad-request',
    )
    expectProblem(
      await mesh.call(meshHumanEndpoints.agentCreate, { body: { id: 'mesh', role: 'x' } }),
      'reserved-agent-id',
    )
    expect(await mesh.runs()).toEqual([])
  })

  it('a body that is wrong is refused when it is too long, announced or not', async () => {
    heedsLesson(14)
    const body = JSON.stringify({ message: 'x'.repeat(wireLimits.bodyMaxBytes) })
    expectProblem(await mesh.call(chat, { ...operator, body }), 'body-too-large')
    expectProblem(
      await httpCall({
        method: chat.method,
        url: `${mesh.url}${fillPath(chat.path, { id: 'operator' })}`,
        headers: { [headers.requestedWith]: 'test', 'content-type': 'application/json' },
        body: inChunks(body),
      }),
      'body-too-large',
    )
    const long = { message: 'x'.repeat(wireLimits.chatMessageMaxChars + 1) }
    expectProblem(await mesh.call(chat, { ...operator, body: long }), 'bad-request')
    expect(await mesh.runs()).toEqual([])
  })

  it('a body that is wrong is a problem too where it is no HTTP at all, or its headers never end', async () => {
    expectProblem(await rawCall('NONSENSE\r\n\r\n'), 'bad-request')
    expectProblem(
      await rawCall(`GET / HTTP/1.1\r\nHost: a\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`),
      'body-too-large',
    )
    expectProblem(await rawCall('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n'), 'bad-request')
  })

  it('a body that is wrong names what is not there: agents, runs, paths, methods', async () => {
    expectProblem(
      await mesh.call(chat, { params: { id: 'nobody' }, body: { message: 'hi' } }),
      'unknown-agent',
    )
    expectProblem(
      await mesh.call(meshHumanEndpoints.invoke, {
        params: { id: 'nobody' },
        body: { tool: 'x', params: {} },
      }),
      'unknown-agent',
    )
    expectProblem(
      await mesh.call(meshHumanEndpoints.agentRestart, { params: { id: 'nobody' } }),
      'unknown-agent',
    )
    expectProblem(await mesh.call(meshHumanEndpoints.run, { params: { id: 'run_0' } }), 'not-found')
    expectProblem(await mesh.call(meshHumanEndpoints.runCancel, { params: { id: 'run_0' } }), 'not-found')
    expectProblem(await mesh.call(templateEndpoints.templateApply, { params: { name: 'none' } }), 'not-found')
    expectProblem(
      await mesh.call(meshHumanEndpoints.artifact, { params: { agent: 'operator', name: 'none' } }),
      'not-found',
    )
    expectProblem(await mesh.call({ ...meshHumanEndpoints.status, path: '/no/such/path' }), 'not-found')
    expectProblem(await mesh.call({ ...meshHumanEndpoints.status, method: 'DELETE' }), 'not-found')
    expectProblem(await mesh.call({ ...meshHumanEndpoints.run, path: '/%' }), 'bad-request')
    const path = { params: { id: 'operator', path: '../../etc/passwd' }, body: new Uint8Array(3) }
    expectProblem(await mesh.call(meshHumanEndpoints.fileWrite, path), 'path-refused', 'not-found')
  })
})

describe('the agent API', () => {
  const walk = Object.entries<Endpoint>(meshAgentEndpoints)

  it.each(walk)('the agent API refuses %s without a token and with a wrong one', async (_name, endpoint) => {
    verifies('authentication:agent-tokens')
    const { api } = await agentSurroundings(mesh, 'operator')
    const url = `${api}${fillPath(endpoint.path, params)}`
    const call = (more: Record<string, string>) =>
      httpCall({
        method: endpoint.method,
        url,
        headers: { ...(endpoint.method === 'GET' ? {} : { 'content-type': 'application/json' }), ...more },
        ...(endpoint.method === 'GET' ? {} : { body: '{}' }),
      })
    const wrong: Record<string, string>[] = [
      {},
      { authorization: 'Bearer wrong' },
      { authorization: `Bearer ${'x'.repeat(8000)}` },
      { authorization: 'Basic x' },
      { 'x-api-key': 'wrong' },
    ]
    for (const more of wrong) expectProblem(await call(more), 'unauthenticated')
  })
})

describe('a full lane', () => {
  it('a full lane refuses the next run with 429 and when to come back, and other lanes go on', async () => {
    await mesh.createWorker('jam')
    const first = await mesh.submit('wait', { agent: 'jam' })
    await mesh.createWorker('free')
    const queued = await Promise.all(
      Array.from({ length: runLimits.laneQueueMax }, (_, n) => mesh.submit(`hello ${n}`, { agent: 'jam' })),
    )
    expect(new Set(queued).size).toBe(runLimits.laneQueueMax)
    const refused = await mesh.call(chat, { params: { id: 'jam' }, body: { message: 'one more' } })
    expect(expectProblem(refused, 'lane-full')).toMatchObject({ agent: 'jam' })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await mesh.ask('hello', { agent: 'free' })).state).toBe('done')

    const cancelled = process.env['FLOTILLA_SOAK'] === '1' ? [first] : [...queued.slice(8), first]
    for (const id of cancelled)
      expect((await mesh.call(meshHumanEndpoints.runCancel, { params: { id } })).status).toBe(200)
    expect(await mesh.ended(first)).toMatchObject({ state: 'cancelled', outcome: { code: 'cancelled' } })
    for (const id of queued)
      expect((await mesh.ended(id)).state).toBe(cancelled.includes(id) ? 'cancelled' : 'done')
  })
})

describe('a model call that cannot be made', () => {
  it('a model call that cannot be made is refused where the model is not allowed, and the run says so', async () => {
    await mesh.createWorker('asker')
    const reply = await complete('asker', 'fake/hello')
    expect(expectProblem(reply, 'model-not-allowed')).toMatchObject({ model: 'fake/hello' })
    expect(upstream.calls).toHaveLength(0)
  })

  it('a model call that cannot be made is refused where its body is no JSON, no object or too long, in the form that clients read', async () => {
    const message = JSON.stringify({ role: 'user', content: 'x'.repeat(1024 * 1024 - 100) })
    const bodies = [
      ['{"model": ', 'bad-json'],
      ['[]', 'bad-request'],
      ['{"model":"scripted/plain"}', 'bad-request'],
      ['{"model":"scripted/plain","messages":[{"role":"user","content":5}]}', 'bad-request'],
      [
        `{"model":"scripted/plain","messages":[${[message, message, message, message, message].join(',')}]}`,
        'body-too-large',
      ],
    ] as const
    for (const [body, code] of bodies) {
      const file = { params: { id: 'asker', path: 'body.json' }, body: new Uint8Array(Buffer.from(body)) }
      expect((await mesh.call(meshHumanEndpoints.fileWrite, file)).status).toBe(200)
      expectProblem(await post('asker', '@body.json'), code)
    }
  })

  it('a model call that cannot be made is refused with numbers where the budget is used up, and the run ends with that code', async () => {
    verifies('limits:budget-daily:before-dispatch')
    const budget = { daily_usd: 0.01, monthly_usd: 0.1 }
    await mesh.createWorker('poor', { model: 'fake/hello', budget })
    const run = await mesh.ask('hello', { agent: 'poor' })
    expect(run.outcome).toMatchObject({ status: 'failed', code: 'budget-exhausted' })
    const body = expectProblem(await complete('poor', 'fake/hello', 'x'.repeat(200)), 'budget-exhausted')
    expect(body).toMatchObject({ budget: 'daily', limit_usd: 0.01, spent_usd: 0, left_usd: 0.01 })
    expect(Number(body['needed_usd'])).toBeGreaterThan(0.01)
    expect(upstream.calls).toHaveLength(0)
  })

  it('a model call that cannot be made is refused by the budget of its month beside a day’s that has plenty, before anything leaves', async () => {
    verifies('limits:budget-monthly:before-dispatch')
    const budget = { daily_usd: 1000, monthly_usd: 0.1 }
    await mesh.createWorker('thrifty', { model: 'fake/hello', budget })
    const body = expectProblem(await complete('thrifty', 'fake/hello', 'x'.repeat(2000)), 'budget-exhausted')
    expect(body).toMatchObject({ budget: 'monthly', limit_usd: 0.1, spent_usd: 0, left_usd: 0.1 })
    expect(Number(body['needed_usd'])).toBeGreaterThan(0.1)
    expect(upstream.calls).toHaveLength(0)
  })

  it.for([
    ['dead/model', 'provider-unreachable'],
    ['fake/status-500', 'upstream-failed'],
    ['fake/status-429', 'rate-limited'],
    ['fake/status-401', 'provider-refused'],
    ['fake/breaks', 'upstream-failed'],
    ['fake/babbles', 'provider-unreadable'],
  ] as const)(
    'a model call that cannot be made ends the run as failed with a code and words: %s is %s',
    { concurrent: true },
    async ([model, code]) => {
      const agent = model.replace('/', '-')
      await mesh.createWorker(agent, { model })
      const run = await mesh.ask('hello', { agent })
      expect(run).toMatchObject({ state: 'failed', outcome: { status: 'failed', code } })
      expect(isProblemCode(run.outcome?.code ?? '')).toBe(true)
      expect(run.outcome?.text.length).toBeGreaterThan(10)
      expect(JSON.stringify(run)).not.toContain('sk-upstream-key')
    },
  )
})

/** Requests a completion as a program inside the agent does. */
async function complete(agent: string, model: string, content = 'hi'): Promise<Reply> {
  return post(agent, JSON.stringify({ model, messages: [{ role: 'user', content }] }))
}

async function post(agent: string, data: string): Promise<Reply> {
  const command = `curl -s -D head -o body -X POST "$OPENAI_BASE_URL/chat/completions" -H "authorization: Bearer $OPENAI_API_KEY" -H 'content-type: application/json' -H 'expect:' --data-binary '${data}' && cat head body`
  const run = await mesh.invoke(agent, 'run_command', { command })
  const said = outputOf(run.outcome?.result)
  return readReply(said.replace(/^exit code 0\n/, ''))
}

/** Sends exactly these bytes to the people's API. */
async function rawCall(bytes: string): Promise<Reply> {
  const socket = connect(Number(new URL(mesh.url).port), '127.0.0.1')
  socket.write(bytes)
  let text = ''
  for await (const piece of socket as AsyncIterable<Buffer>) text += piece.toString()
  return readReply(text)
}

function readReply(said: string): Reply {
  const [head = '', text = ''] = said.split('\r\n\r\n')
  const [first = '', ...fields] = head.split('\r\n')
  const named = fields.map(
    (field) => [field.split(': ')[0]?.toLowerCase() ?? '', field.split(': ')[1] ?? ''] as const,
  )
  return {
    status: Number(first.split(' ')[1]),
    headers: Object.fromEntries(named),
    text,
    json: () => JSON.parse(text) as Record<string, unknown>,
  }
}

function outputOf(result: unknown): string {
  return typeof result === 'string' ? result : JSON.stringify(result)
}

async function* inChunks(text: string): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.length; at += 65_536) yield Buffer.from(text.slice(at, at + 65_536))
}
