import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentSurroundings } from '../support/agent-surroundings.ts'
import { startFakeUpstream } from '../support/fake-upstream.ts'
import { httpCall } from '../support/http-call.ts'
import { helloUsage } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'

const program = join(repositoryRoot, 'tests', 'support', 'openai-program.mjs')
const upstreamKey = 'sk-upstream-key-0123456789'
const budget = { daily_usd: 0.01, monthly_usd: 0.1 }

describe('the official OpenAI client inside an agent', () => {
  let upstream: LlmUpstream
  let mesh: MeshProcess
  beforeAll(async () => {
    upstream = await startFakeUpstream()
    const price = { input_per_mtok: 1, output_per_mtok: 2 }
    mesh = await startMesh({
      environment: { FLOTILLA_SYSTEM_FAKE_KEY: upstreamKey },
      settings: {
        default_model: 'fake/hello',
        providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl, api_key: 'fake_key' } },
        models: {
          'fake/hello': { price },
          'fake/tool': { price },
          'fake/slow': { price },
          'fake/status-429': { price },
          'fake/status-500': { price },
          'fake/dear': { price: { input_per_mtok: 100_000, output_per_mtok: 100_000 } },
        },
        agents: { coder: { models: ['fake/tool', 'fake/status-429', 'fake/status-500'] } },
      },
    })
    await mesh.createWorker('coder')
    await mesh.createWorker('poor', { model: 'fake/dear', budget })
  })
  afterAll(async () => {
    await mesh.stop()
    await upstream.close()
  })

  async function seen(agent: string, ...names: string[]): Promise<Record<string, unknown>> {
    const model = agent === 'poor' ? 'fake/dear' : 'fake/hello'
    const run = await mesh.invoke(agent, 'run_command', {
      command: `node ${program} ${model} ${names.join(' ')}`,
      timeout_s: 120,
    })
    const said = typeof run.outcome?.result === 'string' ? run.outcome.result : (run.outcome?.text ?? '')
    const found = /SEEN (\{.*\})/.exec(said)?.[1]
    if (found === undefined) throw new Error(`the program said: ${JSON.stringify(run.outcome)}`)
    return JSON.parse(found) as Record<string, unknown>
  }

  it('the official OpenAI client inside an agent gets whole answers, streams, tool calls and the list of models through the mesh, unchanged', async () => {
    verifies('purpose:mesh:proxies-llm', 'purpose:agents:use-mesh-proxy')
    const before = upstream.calls.length
    const got = await seen('coder', 'plain', 'stream', 'tool', 'toolStream', 'models')
    const called = { function: { name: 'get_weather', arguments: '{"city":"Bern"}' }, id: 'call_1' }
    expect(got).toMatchObject({
      plain: { text: 'Hello there', tokens: helloUsage.total_tokens },
      stream: { text: 'Hello there', pieces: 2, tokens: helloUsage.total_tokens },
      tool: { calls: [called] },
      toolStream: { calls: [called] },
    })
    expect(got['models']).toEqual(['fake/hello', 'fake/tool', 'fake/status-429', 'fake/status-500'])
    const calls = upstream.calls.slice(before)
    expect(calls.map((call) => call.body['model'])).toEqual(['hello', 'hello', 'tool', 'tool'])
    expect(new Set(calls.map((call) => call.headers.authorization))).toEqual(
      new Set([`Bearer ${upstreamKey}`]),
    )
  })

  it('the official OpenAI client inside an agent gets responses, whole, streamed and with a tool call', async () => {
    const got = await seen('coder', 'response', 'responseStream', 'responseTool')
    const tokens = helloUsage.total_tokens
    expect(got).toMatchObject({
      response: { text: 'Hello there', tokens, stored: false },
      responseStream: { text: 'Hello there', tokens },
      responseTool: [{ name: 'get_weather', arguments: '{"city":"Bern"}', call_id: 'call_1' }],
    })
  })

  it('the official OpenAI client inside an agent is charged to the agent and the run', async () => {
    const [run] = (await mesh.runs()).filter((one) => one.agent_id === 'coder')
    expect(run?.tokens_used).toBeGreaterThanOrEqual(3 * helloUsage.total_tokens)
    expect(run?.cost_usd).toBeGreaterThan(0)
    const costs = (await mesh.call(meshHumanEndpoints.costs)).json()
    expect(JSON.stringify(costs)).toContain('"agent_id":"coder"')
  })

  it('the official OpenAI client inside an agent raises the error class of each status', async () => {
    verifies(
      'authentication:zone-1:no-llm-keys',
      'purpose:agents:no-llm-keys',
      'limits:budget-daily:before-dispatch',
    )
    const got = await seen('coder', 'wrongKey', 'otherModel', 'limited', 'refused')
    expect(got).toMatchObject({
      wrongKey: { name: 'AuthenticationError', status: 401 },
      otherModel: { name: 'PermissionDeniedError', status: 403, code: 'model-not-allowed' },
      limited: {
        name: 'RateLimitError',
        status: 429,
        code: 'rate-limited',
        retryAfter: expect.any(String) as unknown,
      },
      refused: { name: 'InternalServerError', status: 502, code: 'upstream-failed' },
    })
    expect(JSON.stringify(got)).not.toContain(upstreamKey)
    const poor = await seen('poor', 'plain', 'stream')
    const broke = { name: 'APIError', status: 402, code: 'budget-exhausted' }
    expect(poor).toMatchObject({ plain: broke, stream: broke })
  })

  it('the official OpenAI client inside an agent holds a key that opens nothing once the run is over', async () => {
    const { api, programToken } = await agentSurroundings(mesh, 'coder')
    const before = upstream.calls.length
    const reply = await httpCall({
      method: 'POST',
      url: `${api}/v1/chat/completions`,
      headers: { authorization: `Bearer ${programToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'fake/hello', messages: [{ role: 'user', content: 'hello' }] }),
    })
    expect(reply.status).toBe(403)
    expect(reply.json()).toMatchObject({ code: 'denied' })
    expect(upstream.calls).toHaveLength(before)
  })
})
