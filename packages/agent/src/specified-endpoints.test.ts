import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { agentProgram } from '../../../tests/support/programs.ts'
import { verifies } from '../../../tests/verifies.ts'
import { startAgent } from './testing/agent-process.ts'
import { modelAnswers, startFakeMesh } from './testing/fake-mesh.ts'
import type { MeshAnswer, ScriptedAnswer } from './testing/fake-mesh.ts'

// The methods and paths of the specification, written out: the names used in the code prove nothing about them.

/** The program as `npm test` built it, or its sources if it was not built. */
const main = agentProgram()
const complete: MeshAnswer = ({ path }) =>
  path === '/mesh/tasks/task_1/complete' ? { id: 'task_1' } : undefined

/** A real agent process whose model answers by the script. */
async function anAgent(...script: readonly ScriptedAnswer[]) {
  const mesh = await startFakeMesh([modelAnswers(script), complete])
  onTestFinished(() => mesh.close())
  const agent = await startAgent({
    spawnMain: (environment) =>
      spawn(process.execPath, [main], {
        env: { PATH: process.env['PATH'], ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    meshUrl: mesh.url,
  })
  onTestFinished(async () => void (await agent.stop('SIGKILL')))
  const ask = async (method: string, path: string, body?: unknown) => {
    const reply = await agent.call(method, path, { body })
    expect(reply.status, reply.body).toBe(200)
    return reply.json()
  }
  /** The prompts of the model calls, oldest first. */
  const prompts = () =>
    mesh.requests
      .filter(({ path }) => path === '/v1/chat/completions')
      .map(({ body }) => body as { messages: unknown[]; tools: { function: { name: string } }[] })
  return { ask, prompts, data: agent.data }
}

const chat = (run: string, fence: number, message: string) => ({
  run_id: run,
  fence,
  message,
  session: 'main',
})
const task = {
  task_id: 'task_1',
  run_id: 'run_1',
  fence: 1,
  task_type: 'count',
  input_data: { what: 'files' },
  context: {},
  timeout_s: 60,
  max_retries: 0,
  token_budget: null,
}
const closes: ScriptedAnswer = {
  calls: [{ name: 'complete_task', arguments: { summary: 'three', result: { files: 3 } } }],
}

test('POST /task assigns a task, and GET /result tells how it ended', async () => {
  verifies('endpoints:agent:post-task', 'endpoints:agent:get-result')
  const { ask, prompts } = await anAgent(closes)
  expect(await ask('GET', '/result?run_id=run_1&wait_s=0')).toEqual({ state: 'unknown' })
  expect(await ask('POST', '/task', task)).toEqual({ accepted: true, status: 'executing' })
  expect(await ask('GET', '/result?run_id=run_1&wait_s=30')).toMatchObject({
    state: 'finished',
    result: { task_id: 'task_1', status: 'complete', result: { files: 3 } },
  })
  expect(JSON.stringify(prompts()[0]?.messages)).toContain('files')
})

test('POST /chat sends a message and is answered, and POST /chat/reset lets it be forgotten', async () => {
  verifies('endpoints:agent:post-chat', 'endpoints:agent:post-chat-reset')
  const { ask, prompts } = await anAgent({ text: 'good morning' })
  const answered = await ask('POST', '/chat', chat('run_1', 1, 'it is eight o’clock'))
  expect(answered).toMatchObject({ status: 'complete', response: 'good morning' })
  await ask('POST', '/chat', chat('run_2', 2, 'and now?'))
  expect(JSON.stringify(prompts()[1])).toContain('eight o’clock')
  await ask('POST', '/chat/reset', { session: 'main' })
  await ask('POST', '/chat', chat('run_3', 3, 'and now?'))
  expect(JSON.stringify(prompts()[2])).not.toContain('eight o’clock')
})

test('GET /status tells who it is, whether it works, and what it has done', async () => {
  verifies('endpoints:agent:get-status')
  const { ask } = await anAgent(closes)
  const idle = { agent_id: 'worker-1', role: 'tester', state: 'idle', current: null }
  expect(await ask('GET', '/status')).toMatchObject({ ...idle, tasks_completed: 0 })
  await ask('POST', '/task', task)
  await ask('GET', '/result?run_id=run_1&wait_s=30')
  expect(await ask('GET', '/status')).toMatchObject({ ...idle, tasks_completed: 1, tasks_failed: 0 })
})

test('GET /capabilities tells of every tool that its model is offered or may find, and of no other', async () => {
  verifies('endpoints:agent:get-capabilities')
  const { ask, prompts } = await anAgent({ text: 'hello' })
  await ask('POST', '/chat', chat('run_1', 1, 'hello'))
  const { agent_id: id, tools } = await ask('GET', '/capabilities')
  expect(id).toBe('worker-1')
  const told = tools as { name: string; description: string; parameters: object }[]
  const offered = prompts()[0]?.tools.map((tool) => tool.function)
  expect(told.map(({ name, description, parameters }) => ({ name, description, parameters }))).toEqual(
    expect.arrayContaining(offered ?? []),
  )
  const inPrompt = (offered ?? []).map(({ name }) => name)
  expect(inPrompt).toEqual(expect.arrayContaining(['run_command', 'find_tools', 'call_tool']))
  const named = JSON.stringify(prompts()[0]?.messages[0])
  const others = told.map(({ name }) => name).filter((name) => !inPrompt.includes(name))
  expect(others).toEqual(expect.arrayContaining(['hand_off', 'set_cron']))
  // A long group names some of its tools.
  for (const name of others.filter((one) => !one.startsWith('browser_'))) expect(named, name).toContain(name)
})

test('GET /workspace lists the nine files; PUT and GET /workspace/{file} write and read one', async () => {
  verifies(
    'endpoints:agent:get-workspace',
    'endpoints:agent:put-workspace-file',
    'endpoints:agent:get-workspace-file',
  )
  const { ask, data } = await anAgent({ text: 'hello' })
  await ask('PUT', '/workspace/SOUL.md', { content: 'kind' })
  expect(readFileSync(join(data, 'workspace', 'SOUL.md'), 'utf8')).toBe('kind')
  expect(await ask('GET', '/workspace/SOUL.md')).toEqual({ filename: 'SOUL.md', content: 'kind' })
  const { files } = (await ask('GET', '/workspace')) as { files: { name: string; is_default: boolean }[] }
  expect(files.map(({ name }) => name).toSorted()).toEqual([
    'AGENTS.md',
    'HEARTBEAT.md',
    'INSTRUCTIONS.md',
    'INTERFACE.md',
    'MEMORY.md',
    'PROJECT.md',
    'SOUL.md',
    'SYSTEM.md',
    'USER.md',
  ])
  expect(files.filter(({ is_default: isDefault }) => !isDefault).map(({ name }) => name)).toEqual(['SOUL.md'])
})

test('GET /heartbeat-context tells the rules, what was done lately and how full the disk is', async () => {
  verifies('endpoints:agent:get-heartbeat-context')
  const { ask } = await anAgent({ text: 'the tide is out' })
  expect(await ask('GET', '/heartbeat-context')).toMatchObject({
    is_default_heartbeat: true,
    has_recent_activity: false,
    daily_logs: '',
  })
  await ask('PUT', '/workspace/HEARTBEAT.md', { content: 'look at the tide' })
  await ask('POST', '/chat', chat('run_1', 1, 'how is the tide?'))
  const enriched = await ask('GET', '/heartbeat-context')
  expect(enriched).toMatchObject({
    heartbeat_rules: 'look at the tide',
    is_default_heartbeat: false,
    has_recent_activity: true,
  })
  expect(enriched['daily_logs']).toContain('the tide is out')
  expect(enriched['disk_used_percent']).toBeGreaterThan(0)
})
