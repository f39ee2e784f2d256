import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { agentApi } from '@flotilla/protocol/agent-api'
import type { TaskTurn } from '@flotilla/protocol/task'
import { expect, onTestFinished, test } from 'vitest'
import { agentProgram } from '../../../tests/support/programs.ts'
import { verifies } from '../../../tests/verifies.ts'
import { startAgent } from './testing/agent-process.ts'
import { modelAnswers, startFakeMesh } from './testing/fake-mesh.ts'
import type { MeshAnswer, ScriptedAnswer } from './testing/fake-mesh.ts'

/** The program as `npm test` built it, or its sources if it was not built. */
const main = agentProgram()
const spawnMain = (environment: Record<string, string>): ChildProcess =>
  spawn(process.execPath, [main], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
const complete: MeshAnswer = ({ path }) =>
  path === '/mesh/tasks/task_1/complete' ? { id: 'task_1' } : undefined
const asked: MeshAnswer = ({ path }) =>
  path === '/mesh/tasks/task_1/update' ? { id: 'task_1', state: 'blocked' } : undefined
const given: MeshAnswer = ({ path }) => (path === '/mesh/tasks' ? { task_id: 'task_2' } : undefined)
const handOff: ScriptedAnswer = { calls: [{ name: 'hand_off', arguments: { to: 'w2', title: 'count' } }] }
const asks: ScriptedAnswer = {
  calls: [{ name: 'update_task', arguments: { action: 'block', note: 'Which folder?' } }],
}
const done: ScriptedAnswer = { calls: [{ name: 'complete_task', arguments: { summary: 'it was 7' } }] }
/** Each answer of the fake mesh uses 15 tokens and 0.001 USD. */
const works = Array.from({ length: 50 }, (_, step): ScriptedAnswer => ({
  calls: [{ name: 'run_command', arguments: { command: `echo ${step}` } }],
}))

/** A real agent with a task of which a part was handed off. */
async function aTask(
  script: readonly ScriptedAnswer[],
  { iterationsMax, budget = null }: { iterationsMax?: number; budget?: TaskTurn['token_budget'] } = {},
) {
  const mesh = await startFakeMesh([modelAnswers(script), given, asked, complete])
  onTestFinished(() => mesh.close())
  const environment: Record<string, string> =
    iterationsMax === undefined ? {} : { FLOTILLA_MAX_ITERATIONS: String(iterationsMax) }
  let agent = await startAgent({ spawnMain, meshUrl: mesh.url, environment })
  onTestFinished(async () => void (await agent.stop('SIGKILL')))
  const session = 'task:task_1'
  const rest = { task_type: 'count', input_data: {}, context: { session }, timeout_s: 60, max_retries: 0 }
  const first = { ...rest, task_id: 'task_1', run_id: 'run_1', fence: 1, token_budget: budget }
  let fence = 1
  return {
    asked: () =>
      mesh.requests
        .filter(({ path }) => path === '/v1/chat/completions')
        .map(
          ({ body }) =>
            body as {
              max_completion_tokens?: number
              tools?: { function: { name: string } }[]
              messages: { role: string; content: string | null }[]
            },
        ),
    begin: async () => {
      await agent.call('POST', '/task', { body: first })
      const reply = await agent.call('GET', '/result?run_id=run_1&wait_s=30')
      return agentApi.result.response.parse(reply.json())
    },
    answered: async (text: string) => {
      fence += 1
      const answer = { by: 'human:cli', text }
      await agent.call('POST', '/task', { body: { ...first, run_id: 'run_2', fence, answer } })
      const reply = await agent.call('GET', '/result?run_id=run_2&wait_s=30')
      return agentApi.result.response.parse(reply.json())
    },
    reset: () => agent.call('POST', '/chat/reset', { body: { session } }),
    restart: async () => {
      await agent.stop()
      const { data, key } = agent
      agent = await startAgent({ spawnMain, meshUrl: mesh.url, environment, data, key })
    },
    goOn: async (used: { tokens_used: number; cost_usd: number }) => {
      const task: TaskTurn = { task_id: 'task_1', token_budget: budget, ...used }
      const body = { run_id: 'run_1', fence: (fence += 1), message: 'task_2 is done: 7', session, task }
      return agentApi.chat.response.parse((await agent.call('POST', '/chat', { body })).json())
    },
  }
}

test('a task has twenty iterations by default, and the last is for its end', async () => {
  verifies('limits:task-iterations')
  const task = await aTask(works)
  expect(await task.begin()).toMatchObject({
    result: { status: 'failed', error: { code: 'rounds-exhausted' } },
  })
  const tools = task.asked().map((asked) => asked.tools?.map((tool) => tool.function.name) ?? [])
  expect(tools).toHaveLength(20)
  expect(tools[18]).toContain('run_command')
  expect(tools[19]).toEqual(['complete_task'])
})

test('a task has its iterations over all its turns, and the last of them must close it', async () => {
  const task = await aTask([handOff, { text: 'waiting for w2' }, ...works], { iterationsMax: 5 })
  expect(await task.begin()).toMatchObject({ result: { status: 'complete' } })
  await task.restart()
  const end = await task.goOn({ tokens_used: 30, cost_usd: 0.002 })
  expect(end).toMatchObject({
    task_id: 'task_1',
    status: 'failed',
    error: { code: 'rounds-exhausted' },
    tokens_used: 75,
  })
  expect(task.asked()).toHaveLength(5)
  expect(
    task
      .asked()
      .at(-1)
      ?.tools?.map((tool) => tool.function.name),
  ).toEqual(['complete_task'])
  expect(await task.goOn({ tokens_used: 75, cost_usd: 0.005 })).toMatchObject({ status: 'failed' })
  expect(task.asked()).toHaveLength(5)
})

test.each([
  ['tokens', { max_tokens: 60, max_cost_usd: null }],
  ['money', { max_tokens: null, max_cost_usd: 0.004 }],
])('a task that has used its %s in two turns ends there', async (_what, budget) => {
  const task = await aTask([handOff, { text: 'waiting for w2' }, ...works], { budget })
  await task.begin()
  const end = await task.goOn({ tokens_used: 30, cost_usd: 0.002 })
  expect(end).toMatchObject({ status: 'failed', error: { code: 'budget-exhausted' } })
  expect(task.asked()).toHaveLength(4)
  if (budget.max_tokens !== null) {
    expect(task.asked()[2]?.max_completion_tokens).toBeLessThanOrEqual(30)
    expect(task.asked()[3]?.max_completion_tokens).toBeLessThanOrEqual(15)
  }
})

test('a task whose agent gives work away with its last but one iteration keeps the last for the result', async () => {
  const task = await aTask([handOff, done], { iterationsMax: 2 })
  expect(await task.begin()).toMatchObject({ result: { status: 'complete', result: null } })
  expect(task.asked()).toHaveLength(1)
  const end = await task.goOn({ tokens_used: 15, cost_usd: 0.001 })
  expect(end).toMatchObject({ status: 'complete', response: 'it was 7' })
  expect(task.asked()).toHaveLength(2)
})

test('a task whose conversation was forgotten is a task all the same', async () => {
  const budget = { max_tokens: 45, max_cost_usd: null }
  const task = await aTask([handOff, { text: 'waiting for w2' }, ...works], { iterationsMax: 5, budget })
  await task.begin()
  expect((await task.reset()).status).toBe(200)
  const end = await task.goOn({ tokens_used: 30, cost_usd: 0.002 })
  expect(end).toMatchObject({ task_id: 'task_1', error: { code: 'budget-exhausted' } })
  expect(task.asked()).toHaveLength(3)
})

const look: ScriptedAnswer = { calls: [{ name: 'run_command', arguments: { command: 'echo looked' } }] }

test('an answer comes into the conversation in which it was asked for, and nothing is done again', async () => {
  const task = await aTask([look, asks, { text: 'I wait.' }, done])
  expect(await task.begin()).toMatchObject({ result: { status: 'complete' } })
  await task.restart()
  expect(await task.answered('the second')).toMatchObject({
    result: { status: 'complete', response: 'it was 7' },
  })
  const [before, after] = task.asked().slice(2)
  const words = after?.messages.map(({ content }) => content) ?? []
  const carried = before?.messages.slice(1).map(({ content }) => content) ?? []
  expect(words.slice(1, 1 + carried.length)).toEqual(carried)
  expect(words.at(-1)).toBe(
    'Your question about task task_1 was answered by human:cli: the second\nContinue the task from where you stopped.',
  )
  expect(words.filter((text) => text?.startsWith('Task task_1'))).toHaveLength(1)
  // The time is in the messages, so that a task that continues on another day keeps its cached prompt.
  expect(words[1]).toMatch(/\n\n\[It is [A-Z][a-z]+, \d{4}-\d\d-\d\d \d\d:\d\d UTC\.\]$/)
  expect(after?.messages[0]).toEqual(before?.messages[0])
  expect(words[0]).not.toContain(String(new Date().getUTCFullYear()))
})

test('a task whose conversation is gone is described again, and an answer does not start as a task', async () => {
  const task = await aTask([asks, { text: 'I wait.' }, done])
  await task.begin()
  await task.reset()
  await task.answered('the second')
  const last = task.asked().at(-1)?.messages ?? []
  expect(last.map(({ role }) => role)).toEqual(['system', 'user'])
  expect(last[1]?.content).toMatch(/^Task task_1/)
})
