import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { agentApi } from '@flotilla/protocol/agent-api'
import type { TaskResult } from '@flotilla/protocol/agent-api'
import { operatorEndpoints } from '@flotilla/protocol/operator-endpoints'
import { expect, onTestFinished, test } from 'vitest'
import { agentProgram } from '../../../tests/support/programs.ts'
import { startAgent } from './testing/agent-process.ts'
import type { Reply } from './testing/agent-process.ts'
import { modelAnswers, startFakeMesh } from './testing/fake-mesh.ts'
import type { MeshAnswer } from './testing/fake-mesh.ts'

/** The program as `npm test` built it, or its sources if it was not built. */
const main = agentProgram()
const spawnMain = (environment: Record<string, string>): ChildProcess =>
  spawn(process.execPath, [main], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
const environment = { FLOTILLA_AGENT_KIND: 'operator' }
const result = (reply: Reply): TaskResult => agentApi.chat.response.parse(reply.json())

/** An operator that waits for its tools while the mesh is away, until the mesh is available again. */
async function anOperatorThatWaits() {
  const state = { away: true }
  const tools: MeshAnswer = ({ path }, response) => {
    if (path !== operatorEndpoints.tools.path) return undefined
    if (!state.away) return { tools: [] }
    response.destroy()
    return undefined
  }
  const mesh = await startFakeMesh([tools, modelAnswers([{ text: 'there' }])])
  onTestFinished(() => mesh.close())
  const agent = await startAgent({ spawnMain, meshUrl: mesh.url, environment })
  onTestFinished(async () => void (await agent.stop('SIGKILL')))
  const chat = (fence: number, of = agent) =>
    of.call('POST', '/chat', { body: { run_id: 'run_1', fence, message: 'hello', session: 'main' } })
  const first = chat(1)
  first.catch(() => undefined)
  await expect.poll(() => mesh.requests.some(({ path }) => path === operatorEndpoints.tools.path)).toBe(true)
  return { agent, mesh, chat, first, back: () => void (state.away = false) }
}

test('a run that is given out anew while it waits for the mesh is done, and has not failed', async () => {
  const { chat, first, back } = await anOperatorThatWaits()
  const second = chat(2)
  expect(result(await first)).toMatchObject({ status: 'cancelled', error: { code: 'stale-fence' } })
  back()
  expect(result(await second)).toMatchObject({ status: 'complete', response: 'there', fence: 2 })
})

test('a run whose agent is stopped while it waits for the mesh is left to the next process', async () => {
  const { agent, mesh, chat, back } = await anOperatorThatWaits()
  await agent.stop('SIGTERM')
  back()
  const { data, key } = agent
  const next = await startAgent({ spawnMain, meshUrl: mesh.url, environment, data, key })
  onTestFinished(async () => void (await next.stop('SIGKILL')))
  expect(result(await chat(2, next))).toMatchObject({ status: 'complete', response: 'there' })
})

test('a run that is cancelled while it waits for the mesh is cancelled', async () => {
  const { agent, first } = await anOperatorThatWaits()
  await agent.call('POST', '/cancel', { body: { run_id: 'run_1', fence: 1 } })
  expect(result(await first)).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } })
})
