import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { agentApi } from '@flotilla/protocol/agent-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAgent } from '../../packages/agent/src/testing/agent-process.ts'
import type { TestAgent } from '../../packages/agent/src/testing/agent-process.ts'
import { modelAnswers, startFakeMesh } from '../../packages/agent/src/testing/fake-mesh.ts'
import type { FakeMesh, MeshAnswer, ScriptedAnswer } from '../../packages/agent/src/testing/fake-mesh.ts'
import { agentProgram } from '../support/programs.ts'
import { heedsLesson, verifies } from '../verifies.ts'

interface Said {
  readonly role: string
  readonly content: string
}
const call = (name: string, input: object): ScriptedAnswer => ({ calls: [{ name, arguments: input }] })

/** Returns the model's answer to its last message. */
function decide(messages: readonly Said[]): ScriptedAnswer {
  const task = messages.find(({ role }) => role === 'user')?.content ?? ''
  const last = messages.findLast(({ role }) => role === 'tool')?.content
  if (task.includes('only talk')) return { text: 'I shall look into it.' }
  if (task.includes('look for it')) {
    if (last === undefined) return call('read_file', { path: 'no/such/file' })
    return call('complete_task', { summary: `It said ${last.slice(0, 17)}`, result: { found: false } })
  }
  // Each step gets its number from the result of the step before.
  const step = Number(/step (\d+)/.exec(last ?? '')?.[1] ?? 0) + 1
  return call('run_command', { command: `echo "step ${step}" | tee -a steps` })
}

describe('a task', () => {
  let mesh: FakeMesh
  let agent: TestAgent
  const questions = (): readonly (readonly Said[])[] =>
    mesh.requests
      .filter(({ path }) => path === '/v1/chat/completions')
      .map(({ body }) => (body as { messages: Said[] }).messages)

  beforeAll(async () => {
    const model: MeshAnswer = (request, response) => {
      if (request.path !== '/v1/chat/completions') return undefined
      const { messages } = request.body as { messages: Said[] }
      return modelAnswers([decide(messages)])(request, response)
    }
    mesh = await startFakeMesh([
      ({ path }) => (path === '/mesh/lease' ? { lease_until: Date.now() + 60_000 } : undefined),
      model,
      ({ method }) => (method === 'GET' ? undefined : { id: 'task_1' }),
    ])
    agent = await startAgent({
      spawnMain: (environment) =>
        spawn(process.execPath, [agentProgram()], {
          env: { PATH: process.env['PATH'], ...environment },
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      meshUrl: mesh.url,
    })
  })
  afterAll(async () => {
    await agent?.stop()
    await mesh?.close()
  })

  async function work(number: number, what: string) {
    const body = {
      task_id: `task_${number}`,
      run_id: `run_${number}`,
      fence: number,
      task_type: 'hand_off',
      input_data: { what },
      context: {},
      timeout_s: 300,
      max_retries: 0,
      token_budget: null,
    }
    expect((await agent.call('POST', '/task', { body })).status).toBe(200)
    for (;;) {
      const reply = await agent.call('GET', `/result?run_id=run_${number}&wait_s=25`)
      const told = agentApi.result.response.parse(reply.json())
      if (told.state === 'finished') return told.result
      expect(told.state).toBe('running')
    }
  }

  it('a task is decided on, acted on and learned from, step by step, and what failed is known to the next', async () => {
    verifies('purpose:task-mode:bounded-loop', 'purpose:task-mode:returns-task-result')
    expect(await work(1, 'look for it')).toMatchObject({
      task_id: 'task_1',
      run_id: 'run_1',
      status: 'complete',
      response: 'It said Error (not-found)',
      result: { found: false },
      tool_outputs: [
        { tool: 'read_file', ok: false },
        { tool: 'complete_task', ok: true },
      ],
    })
    expect(questions()).toHaveLength(2)
    expect(readFileSync(join(agent.data, 'learnings', 'errors.md'), 'utf8')).toContain('read_file')
    expect(questions()[0]?.[0]?.content).not.toContain('What failed before')
    const before = questions().length
    await work(2, 'look for it again, and look for it well')
    expect(questions()[before]?.[0]?.content).toMatch(/What failed before:\n- \[.*\] \*\*read_file\*\*/)
  })

  it('a task without end is over after 20 decisions, whatever is left to do', async () => {
    verifies('purpose:task-mode:bounded-loop')
    const before = questions().length
    const result = await work(3, 'count')
    expect(result).toMatchObject({ status: 'failed', error: { code: 'rounds-exhausted' } })
    expect(questions().length - before).toBe(20)
    const steps = readFileSync(join(agent.data, 'steps'), 'utf8').trim().split('\n')
    expect(steps).toEqual(Array.from({ length: steps.length }, (_, index) => `step ${index + 1}`))
    expect(steps.length).toBe(20)
  })

  it('the text of an agent never closes a task, even after a reminder', async () => {
    heedsLesson(46)
    const before = questions().length
    expect(await work(4, 'only talk')).toMatchObject({
      status: 'complete',
      response: 'I shall look into it.',
      result: null,
      tool_outputs: [],
    })
    expect(questions().length - before).toBe(2)
    expect(questions().at(-1)?.at(-1)?.content).toContain('The task is still open')
    expect(mesh.requests.filter(({ path }) => path.includes('task_4'))).toEqual([])
  })
})
