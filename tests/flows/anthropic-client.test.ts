import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startWireUpstream, weatherCall } from '../support/wire-upstream.ts'
import { heedsLesson, verifies } from '../verifies.ts'

const program = join(repositoryRoot, 'tests', 'support', 'anthropic-program.mjs')
const upstreamKey = 'sk-upstream-key-0123456789'
const passed = 'anthropic/claude-haiku-4-5'
const translated = 'google/gemini-2.5-flash'

describe('the official Anthropic client inside an agent', () => {
  let anthropic: LlmUpstream
  let google: LlmUpstream
  let mesh: MeshProcess
  beforeAll(async () => {
    anthropic = await startWireUpstream('anthropic')
    google = await startWireUpstream('google')
    mesh = await startMesh({
      environment: {
        FLOTILLA_SYSTEM_ANTHROPIC_API_KEY: upstreamKey,
        FLOTILLA_SYSTEM_ANTHROPIC_BASE_URL: anthropic.baseUrl,
        FLOTILLA_SYSTEM_GOOGLE_API_KEY: upstreamKey,
        FLOTILLA_SYSTEM_GOOGLE_BASE_URL: google.baseUrl,
      },
      settings: {
        default_model: passed,
        // The providers run on this machine, and are still billed.
        models: { [passed]: { local: false }, [translated]: { local: false } },
        agents: { coder: { models: [translated] } },
      },
    })
    await mesh.createWorker('coder')
  })
  afterAll(async () => {
    await mesh.stop()
    await anthropic.close()
    await google.close()
  })

  async function seen(model: string, ...names: string[]): Promise<Record<string, unknown>> {
    const run = await mesh.invoke('coder', 'run_command', {
      command: `node ${program} ${model} ${names.join(' ')}`,
      timeout_s: 120,
    })
    const said = typeof run.outcome?.result === 'string' ? run.outcome.result : (run.outcome?.text ?? '')
    const found = /SEEN (\{.*\})/.exec(said)?.[1]
    if (found === undefined) throw new Error(`the program said: ${JSON.stringify(run.outcome)}`)
    return JSON.parse(found) as Record<string, unknown>
  }

  it.each([passed, translated])(
    'the official Anthropic client inside an agent talks, streams and calls tools with %s',
    async (model) => {
      verifies('purpose:mesh:proxies-llm', 'purpose:agents:use-mesh-proxy')
      const got = await seen(model, 'plain', 'stream', 'tool', 'models', 'count')
      const usage = { input_tokens: 8, cache_read_input_tokens: 4, output_tokens: 30 }
      expect(got).toMatchObject({
        plain: { text: 'Hello there', usage },
        stream: { text: 'Hello there', stop: 'end_turn', usage },
        tool: { input: weatherCall.input, text: 'It says: sunny' },
        models: [passed, translated],
        count: { input_tokens: expect.any(Number) as unknown },
      })
      const { calls } = model === passed ? anthropic : google
      const keys = calls.map((call) => call.headers['x-api-key'] ?? call.headers['x-goog-api-key'])
      expect(new Set(keys)).toEqual(new Set([upstreamKey]))
    },
  )

  it.each([passed, translated])(
    'the official Anthropic client inside an agent sees each refusal as its own error class, with %s',
    async (model) => {
      verifies('authentication:zone-1:no-llm-keys', 'purpose:agents:no-llm-keys')
      const got = await seen(model, 'wrongKey', 'otherModel', 'limited', 'overloaded', 'tooLong')
      expect(got).toMatchObject({
        wrongKey: { name: 'AuthenticationError', status: 401, type: 'authentication_error' },
        otherModel: { name: 'PermissionDeniedError', status: 403, code: 'model-not-allowed' },
        limited: { name: 'RateLimitError', status: 429, type: 'rate_limit_error' },
        overloaded: { name: 'OverloadedError', status: 529, type: 'overloaded_error' },
        tooLong: { name: 'BadRequestError', status: 400, code: 'prompt-too-long' },
      })
      expect(JSON.stringify(got)).not.toContain(upstreamKey)
    },
  )

  it('the official Anthropic client inside an agent is charged to the agent and the run', async () => {
    const runs = (await mesh.runs()).filter((run) => run.agent_id === 'coder')
    const spent = runs.reduce((sum, run) => sum + (run.cost_usd ?? 0), 0)
    expect(spent).toBeGreaterThan(0)
  })

  it('an agent with a model of a provider without a key is not created', async () => {
    heedsLesson(131)
    await expect(mesh.createWorker('lost', { model: 'mistral/mistral-large-latest' })).rejects.toThrow(
      /that are set up: anthropic, google/,
    )
    const { agents } = (await mesh.call(meshHumanEndpoints.status)).json() as { agents: { id: string }[] }
    expect(agents.map((agent) => agent.id)).not.toContain('lost')
  })
})
