import { readFile, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import process from 'node:process'
import { blackboardHumanEndpoints } from '@flotilla/protocol/blackboard-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { moneyApi, moneyEndpoints } from '@flotilla/protocol/money-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { answerWhole, startLlmUpstream } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startWebServer } from '../support/web-server.ts'
import type { WebServer } from '../support/web-server.ts'

const program = join(repositoryRoot, 'tests', 'support', 'acp-harness.mjs')
const harness = { command: [process.execPath, program] }
const hostile = {
  command: [process.execPath, join(repositoryRoot, 'tests', 'support', 'hostile-harness.mjs'), 'flood'],
}
/** 1 cent for the 100 tokens of each answer. */
const price = { input_per_mtok: 0, output_per_mtok: 100 }

let upstream: LlmUpstream
let web: WebServer
let mesh: MeshProcess
/** Requests that the external server has not answered. */
let open: ServerResponse[] = []

beforeAll(async () => {
  upstream = await startLlmUpstream()
  upstream.answerWith((_call, response) =>
    answerWhole(response, undefined, { prompt_tokens: 1, completion_tokens: 100, total_tokens: 101 }),
  )
  web = await startWebServer((_request, response) => void open.push(response))
  mesh = await startMesh({
    settings: {
      restarts_per_hour: 1000,
      default_model: 'fake/m',
      providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
      models: { 'fake/m': { price } },
      egress: { allowed_private: [`127.0.0.1:${web.port}`] },
      agents: { poor: { harness }, sender: { harness }, writer: { harness }, bad: { harness: hostile } },
    },
  })
  await mesh.createWorker('poor', { budget: { daily_usd: 0.05, monthly_usd: 1 } })
  await mesh.createWorker('sender')
  await mesh.createWorker('writer')
  await mesh.createWorker('bad')
})
afterAll(async () => {
  await mesh?.stop()
  await web?.close()
  await upstream?.close()
})

const dataFile = (agent: string, name: string) => readFile(join(mesh.dataOf(agent), name), 'utf8')

async function killAgent(id: string): Promise<void> {
  const record = (await mesh.agentProcesses()).find(({ agentId }) => agentId === id)
  if (!record) throw new Error(`${id} has no process`)
  process.kill(-record.pid, 'SIGKILL')
}

async function spentOf(id: string): Promise<number> {
  const { budgets } = moneyApi.budgets.response.parse((await mesh.call(moneyEndpoints.budgets)).json())
  return budgets.find((one) => one.scope === 'agent' && one.id === id)?.daily.spent_usd ?? 0
}

describe('the budget of an agent that a harness drives', () => {
  it('5 cents stop the harness after 5 calls of 1 cent, however often it asks', async () => {
    const lines = Array.from({ length: 12 }, (_, at) => `model fake/m question ${at}`)
    const run = await mesh.ask(lines.join('\n'), { agent: 'poor' })
    expect(upstream.calls).toHaveLength(5)
    expect(await spentOf('poor')).toBeCloseTo(0.05, 6)
    expect(run.cost_usd).toBeLessThanOrEqual(0.05)
    expect(run.outcome?.text).toContain('the daily budget of agent poor')
    const next = await mesh.ask('model fake/m one more', { agent: 'poor', session: 'next' })
    expect(next.outcome?.text).toContain('the daily budget of agent poor')
    expect(upstream.calls).toHaveLength(5)
  })
})

describe('a harness that was taken over', () => {
  it('floods its own run alone: other agents answer, and its run can be cancelled', async () => {
    const id = await mesh.submit('begin', { agent: 'bad' })
    await eventually('the flood has begun', async () => (await mesh.run(id)).state === 'running')
    for (const session of ['one', 'two', 'three']) {
      const { outcome } = await mesh.ask('say |Fine.', { agent: 'writer', session })
      expect(outcome).toMatchObject({ status: 'done', text: '|Fine.' })
    }
    expect(await mesh.run(id)).toMatchObject({ state: 'running' })
    await mesh.call(meshHumanEndpoints.runCancel, { params: { id } })
    expect(await mesh.ended(id)).toMatchObject({ state: 'cancelled' })
  })
})

describe('a kill in the middle of a call of a harness', () => {
  const order = () => ({
    url: `http://127.0.0.1:${web.port}/orders`,
    method: 'POST',
    body: 'one',
    timeout_ms: 120_000,
  })
  /** Submits a run that looks something up and then sends a request, and waits until the request arrives. */
  async function sending(session: string) {
    open = []
    const before = web.requests.length
    const lines = [
      'mesh read_blackboard {"key":"tasks/none"}',
      `mesh http_request ${JSON.stringify(order())}`,
      'say |end',
    ]
    const id = await mesh.submit(lines.join('\n'), { agent: 'sender', session })
    const sent = () => web.requests.length - before
    await eventually('the request arrives', () => sent() === 1)
    return { id, sent }
  }
  const answer = () => {
    for (const response of open.splice(0)) response.writeHead(201).end('ordered')
  }

  it('of the agent sends the request once, and the repeated call gets its answer', async () => {
    const { id, sent } = await sending('agent')
    await killAgent('sender')
    await eventually('another attempt has begun', async () => (await mesh.run(id)).attempt === 2)
    answer()
    const { outcome } = await mesh.ended(id)
    expect(outcome).toMatchObject({ status: 'done', text: expect.stringMatching(/"status": 201.*\|end$/s) })
    expect(sent()).toBe(1)
  })

  it('of the mesh sends the request once, and its outcome is unknown', async () => {
    const { id, sent } = await sending('mesh')
    await mesh.kill9()
    answer()
    await mesh.restart()
    const { outcome } = await mesh.ended(id)
    expect(outcome).toMatchObject({ status: 'done', text: expect.stringMatching(/outcome-unknown.*\|end$/s) })
    expect(sent()).toBe(1)
  })
})

describe('a kill in the middle of a turn of a harness', () => {
  it.each(['mesh', 'agent', 'mesh and agent'])(
    'of the %s loses nothing and repeats no effect',
    async (what) => {
      const name = what.replaceAll(' ', '-')
      const write = `mesh write_blackboard ${JSON.stringify({ key: `tasks/${name}`, value: 'first' })}`
      const lines = [write, `run echo ran >> ran-${name}`, `until go-${name}`, write, 'say |Whole.']
      const id = await mesh.submit(lines.join('\n'), { agent: 'writer', session: name })
      await eventually('the harness works', async () => dataFile('writer', `ran-${name}`).catch(() => null))
      if (what.includes('mesh')) await mesh.kill9()
      if (what.includes('agent')) await killAgent('writer')
      await writeFile(join(mesh.dataOf('writer'), `go-${name}`), '')
      if (what.includes('mesh')) await mesh.restart()
      const { outcome } = await mesh.ended(id)
      expect(outcome).toMatchObject({ status: 'done', text: expect.stringMatching(/\|Whole\.$/) })
      const entry = await mesh.call(blackboardHumanEndpoints.blackboardHistory, {
        params: { key: `tasks/${name}` },
      })
      // The run writes twice, and no attempt writes again what an earlier one has written.
      expect(entry.json(), entry.text).toMatchObject({ entry: { version: 2 } })
    },
  )
})
