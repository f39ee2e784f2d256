import type { ServerResponse } from 'node:http'
import process from 'node:process'
import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { isTerminal } from '@flotilla/protocol/run'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isAlive } from '../../packages/fleet/src/sandbox/process/process-record.ts'
import { agentSurroundings } from '../support/agent-surroundings.ts'
import { eventually } from '../support/eventually.ts'
import { httpCall } from '../support/http-call.ts'
import { startLlmUpstream } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startWebServer } from '../support/web-server.ts'
import type { WebServer } from '../support/web-server.ts'

const price = { input_per_mtok: 1, output_per_mtok: 2 }

describe('an agent that dies in the middle of a call', () => {
  let upstream: LlmUpstream
  let web: WebServer
  let mesh: MeshProcess
  /** Requests that the model and the web server have not answered and never will. */
  const waiting: ServerResponse[] = []

  beforeAll(async () => {
    upstream = await startLlmUpstream()
    upstream.answerWith((_call, response) => void waiting.push(response))
    web = await startWebServer((_request, response) => void waiting.push(response))
    const address = `127.0.0.1:${web.port}`
    mesh = await startMesh({
      settings: {
        default_model: 'fake/m',
        // The agent dies once for each attempt of each case: far more often than the default allows.
        restarts_per_hour: 1000,
        providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
        models: { 'fake/m': { price } },
        web_search: { provider: 'searxng', url: `http://${address}` },
        egress: { allowed_private: [address] },
      },
    })
    await mesh.createWorker('scout')
  })
  afterAll(async () => {
    await mesh?.stop()
    await upstream?.close()
    await web?.close()
  })

  async function killAgent(): Promise<void> {
    const records = (await mesh.agentProcesses()).filter(({ agentId }) => agentId === 'scout')
    for (const record of records) if (await isAlive(record)) process.kill(-record.pid, 'SIGKILL')
  }

  /** Kills the agent as often as it repeats the call, until the client has the outcome. */
  async function killWhileAsked(asked: Promise<unknown>): Promise<void> {
    let isNotified = false
    const telling = asked.finally(() => (isNotified = true))
    await eventually(
      'the asker is told',
      async () => {
        if (waiting.splice(0).length > 0) await killAgent()
        return isNotified
      },
      100_000,
    )
    await telling
  }

  const failures = () => mesh.told().filter((line) => Number(line['level']) >= 50)

  it.each([
    ['asks a model', 'interrupted', () => mesh.submit('think', { agent: 'scout', session: 'think' })],
    // The request continues without its agent, whose next attempt joins the request and gets its result.
    [
      'fetches from the web',
      'upstream-timeout',
      () => invoked('http_request', { url: `http://127.0.0.1:${web.port}/slow` }),
    ],
    ['searches the web', 'interrupted', () => invoked('web_search', { query: 'tea' })],
  ])(
    'an agent that dies in the middle of a call and %s leaves no failure of the mesh in its log, and the client learns of its end: %s',
    async (_, code, begin) => {
      const id = await begin()
      await killWhileAsked(mesh.ended(id))
      const { outcome, state } = await mesh.run(id)
      expect(isTerminal(state)).toBe(true)
      expect(outcome).toMatchObject({ status: 'failed', code })
      expect(failures()).toEqual([])
      expect(
        mesh
          .told()
          .filter((line) => line['msg'] === 'a client disconnected before its answer; the answer is dropped'),
      ).not.toEqual([])
    },
  )

  async function invoked(tool: string, params: object): Promise<string> {
    const before = new Set((await mesh.runs()).map(({ id }) => id))
    void mesh.invoke('scout', tool, params).catch(() => undefined)
    return eventually(
      'the tool is a run',
      async () => (await mesh.runs()).find(({ id }) => !before.has(id))?.id,
    )
  }

  it('the end of an agent in the middle of a call of its program, whole or streamed, is no failure of the mesh either', async () => {
    // The run of `host` is active while its model has not answered.
    await mesh.createWorker('host')
    await mesh.submit('think', { agent: 'host' })
    await eventually('a run is live', () => waiting.splice(0).length > 0)
    const { api, programToken } = await agentSurroundings(mesh, 'host')
    for (const stream of [false, true]) {
      const leaving = new AbortController()
      const asked = httpCall({
        method: 'POST',
        url: `${api}${meshAgentEndpoints.chatCompletions.path}`,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${programToken}` },
        body: JSON.stringify({ model: 'fake/m', stream, messages: [{ role: 'user', content: 'hello' }] }),
        signal: leaving.signal,
      })
      await eventually('the model is asked', () => waiting.splice(0).length > 0)
      leaving.abort()
      await asked.catch(() => undefined)
    }
    expect(failures()).toEqual([])
  })
})
