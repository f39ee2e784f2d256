import { once } from 'node:events'
import { request } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { agentEndpoints } from '@flotilla/protocol/agent-endpoints'
import { fillPath } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { heedsLesson } from '../verifies.ts'
import { agentSurroundings } from '../support/agent-surroundings.ts'
import { eventually } from '../support/eventually.ts'
import { httpCall } from '../support/http-call.ts'
import { answerStream, chunkEvent, refuse, startLlmUpstream } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

/** A fifteenth of the production value; every silence in this test is counted in multiples of it. */
const keepAliveMs = 1000
/** In proportion, three minutes of silence before a client that gives up after two. */
const silenceMs = 12 * keepAliveMs
const readerPatienceMs = 8 * keepAliveMs

const price = { input_per_mtok: 1, output_per_mtok: 2 }

let upstream: LlmUpstream
let mesh: MeshProcess
let deadPort: number
/** Set by a test in which the model must think. */
let thinking: Promise<void> = Promise.resolve()

beforeAll(async () => {
  upstream = await startLlmUpstream()
  deadPort = await aDeadPort()
  upstream.answerWith(async (call, response) => {
    const model = String(call.body['model'])
    if (model === 'down') refuse(response, 503, { message: 'overloaded' })
    else if (model === 'bad') refuse(response, 400, { message: 'bad request' })
    else if (model === 'cut') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunkEvent({ content: 'Once upon' }), () => response.destroy())
    } else {
      if (model === 'slow') await thinking
      answerStream(call, response)
    }
  })
  const names = ['down', 'bad', 'cut', 'slow', 'good']
  mesh = await startMesh({
    settings: {
      default_model: 'fake/good',
      keep_alive_seconds: keepAliveMs / 1000,
      providers: {
        fake: { kind: 'openai-compatible', base_url: upstream.baseUrl },
        dead: { kind: 'openai-compatible', base_url: `http://127.0.0.1:${deadPort}/v1` },
      },
      models: {
        ...Object.fromEntries(names.map((name) => [`fake/${name}`, { price }])),
        'fake/down': { price, fallback: ['dead/m', 'fake/good'] },
        'fake/bad': { price, fallback: ['fake/good'] },
        'fake/cut': { price, fallback: ['fake/good'] },
        'dead/m': { price },
      },
      agents: {
        faller: { models: ['dead/m', 'fake/good'] },
        wrong: { models: ['fake/good'] },
        cut: { models: ['fake/good'] },
      },
    },
  })
  await mesh.createWorker('faller', { model: 'fake/down' })
  await mesh.createWorker('wrong', { model: 'fake/bad' })
  await mesh.createWorker('cut', { model: 'fake/cut' })
  await mesh.createWorker('alone', { model: 'dead/m' })
  for (const id of ['slow-1', 'slow-2', 'slow-3']) await mesh.createWorker(id, { model: 'fake/slow' })
})
afterAll(async () => {
  await mesh.stop()
  await upstream.close()
})

async function aDeadPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const callsOf = (model: string) => upstream.calls.filter((call) => call.body['model'] === model).length

async function modelsNow() {
  const reply = await mesh.call(meshHumanEndpoints.models)
  return meshHumanApi.models.response.parse(reply.json()).models
}

describe('a run whose model cannot answer', () => {
  it('a run whose model cannot answer is answered by the third of the chain, and people see which two are left alone', async () => {
    heedsLesson(128)
    const run = await mesh.ask('hello', { agent: 'faller', session: 'chain' })
    expect(run.outcome).toMatchObject({ status: 'done', text: 'Hello there' })
    expect(callsOf('down')).toBe(3)
    const models = await modelsNow()
    const of = (id: string) => models.find((model) => model.id === id)
    expect(of('fake/down')).toMatchObject({
      health: 'cooling',
      failures: 1,
      fallback: ['dead/m', 'fake/good'],
      agents: ['faller'],
      price,
      last_error: { code: 'model-overloaded', detail: 'fake answered 503: overloaded' },
    })
    expect(of('fake/down')?.cool_down_seconds).toBeGreaterThan(0)
    expect(of('dead/m')).toMatchObject({ health: 'cooling', last_error: { code: 'provider-unreachable' } })
    expect(of('fake/good')).toMatchObject({ health: 'ok', answered: 1, failed: 0 })
    const metrics = (await mesh.call(meshHumanEndpoints.metrics)).text
    expect(metrics).toContain('flotilla_model_calls_total{model="fake/down",outcome="failed"} 1')

    await mesh.ask('again', { agent: 'faller', session: 'chain' })
    expect(callsOf('down')).toBe(3)
  })

  it('a run whose model refuses the request as invalid ends at once, and no other model is called', async () => {
    heedsLesson(128)
    const before = upstream.calls.length
    const run = await mesh.ask('hello', { agent: 'wrong' })
    expect(run.outcome).toMatchObject({ status: 'failed', code: 'model-call-rejected' })
    expect(upstream.calls.length).toBe(before + 1)
  })

  it('a run whose model cannot answer ends with a typed error when its stream breaks, and pays for one call', async () => {
    heedsLesson(86)
    const run = await mesh.ask('tell me a story', { agent: 'cut' })
    expect(run.outcome).toMatchObject({ status: 'failed', code: 'upstream-failed' })
    expect(callsOf('cut')).toBe(1)
    const costs = (await mesh.call(meshHumanEndpoints.costs)).json()
    expect(costs['agents']).toContainEqual(expect.objectContaining({ agent_id: 'cut', calls: 1 }))
  })

  it('a run whose model cannot answer asks a provider that is not there as often as the mesh does, and not four times that', async () => {
    const lines = () =>
      mesh.told().filter((line) => line['msg'] === 'a model did not answer; retrying').length
    const before = lines()
    const run = await mesh.ask('hello', { agent: 'alone' })
    expect(run.outcome).toMatchObject({ status: 'failed', code: 'provider-unreachable' })
    expect(lines() - before).toBeGreaterThan(0)
    expect(lines() - before).toBeLessThanOrEqual(2)
  })
})

describe('a model that thinks for very long', () => {
  /** Reads a chat as a careful client does: it treats a mesh that is silent for this long as gone. */
  async function readPatiently(message: string): Promise<string> {
    const sent = request(`${mesh.url}${fillPath(meshHumanEndpoints.chat.path, { id: 'slow-1' })}`, {
      method: 'POST',
      headers: {
        accept: 'text/event-stream',
        'content-type': 'application/json',
        [headers.requestedWith]: 'test',
      },
      timeout: readerPatienceMs,
    })
    sent.on('timeout', () => sent.destroy(new Error('nothing was heard for too long')))
    sent.end(JSON.stringify({ message, session: message }))
    const [reply] = await once(sent, 'response')
    return Buffer.concat(await reply.toArray()).toString()
  }

  it('a model that thinks for very long produces keep-alive along every hop up to the client', async () => {
    heedsLesson(99)
    const { promise, resolve } = Promise.withResolvers<void>()
    thinking = promise
    // All parties use the same clock, so load on the machine delays them equally.
    setTimeout(resolve, silenceMs)
    const text = await readPatiently('think')
    expect(text.match(/^: keep-alive$/gm)?.length).toBeGreaterThanOrEqual(silenceMs / readerPatienceMs)
    expect(text).toContain('"text":"Hello there"')
  })

  it('a model that thinks for very long is not taken for the death of its agents', async () => {
    heedsLesson(94)
    const { promise, resolve } = Promise.withResolvers<void>()
    thinking = promise
    const agents = ['slow-1', 'slow-2', 'slow-3']
    const before = callsOf('slow')
    const runs = await Promise.all(agents.map((agent) => mesh.submit('wait', { agent, session: 'wait' })))
    await eventually('all three wait for the model', () => callsOf('slow') === before + agents.length)
    const processes = await Promise.all(agents.map((agent) => agentSurroundings(mesh, agent)))
    for (const { server } of processes) {
      const { method, path } = agentEndpoints.healthz
      expect((await httpCall({ method, url: `${server}${path}` })).status).toBe(200)
    }
    const { agents: views } = (await mesh.call(meshHumanEndpoints.status)).json() as {
      agents: { id: string; state: string; busy: boolean; last_error: unknown }[]
    }
    for (const id of agents) {
      expect(views.find((view) => view.id === id)).toMatchObject({
        state: 'running',
        busy: true,
        last_error: null,
      })
    }
    resolve()
    for (const run of runs) expect((await mesh.ended(run)).outcome).toMatchObject({ status: 'done' })
    const after = await Promise.all(agents.map((agent) => agentSurroundings(mesh, agent)))
    expect(after.map(({ pid }) => pid)).toEqual(processes.map(({ pid }) => pid))
  })
})
