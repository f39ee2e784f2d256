import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { TaskResult } from '@flotilla/protocol/agent-api'
import { agentApi } from '@flotilla/protocol/agent-api'
import { describe, expect, it } from 'vitest'
import { startAgent } from '../../packages/agent/src/testing/agent-process.ts'
import type { TestAgent } from '../../packages/agent/src/testing/agent-process.ts'
import { modelAnswers, startFakeMesh } from '../../packages/agent/src/testing/fake-mesh.ts'
import type { FakeMesh, MeshAnswer, ScriptedAnswer } from '../../packages/agent/src/testing/fake-mesh.ts'
import { makeMeshKey } from '../../packages/agent/src/testing/mesh-proof.ts'
import { repositoryRoot } from '../support/mesh-process.ts'
import { agentProgram } from '../support/programs.ts'
import { patient } from '../support/patience.ts'

/** Where a run is interrupted: at a write of its own state, or at a mesh request whose reply is lost or just read. */
type Boundary =
  | { readonly at: 'write'; readonly moment: string }
  | { readonly at: 'request'; readonly number: number; readonly reply: 'lost' | 'sent' }

const commands = ['first', 'second'] as const
const call = (name: string, input: object) => ({ name, arguments: input })

/** The model's answers by the number of earlier tool calls, so that a repeated question gets the same answer. */
function script(effects: string): readonly ScriptedAnswer[] {
  const append = (word: string) => call('run_command', { command: `echo ${word} >> ${effects}` })
  return [
    { text: 'I begin.', calls: [append('first')] },
    {
      calls: [
        call('notify_user', { message: 'half done' }),
        call('write_blackboard', { key: 'team/n', value: 7 }),
      ],
    },
    { calls: [append('second')] },
    {
      calls: [
        call('complete_task', { summary: 'all done', result: { n: 7 }, promote: { 'team/done': true } }),
      ],
    },
  ]
}

interface Life {
  readonly result: TaskResult
  readonly wasKilled: boolean
  readonly writes: number
  readonly requests: number
  /** Calls that change something in the mesh, by idempotency key. */
  readonly effects: ReadonlyMap<string, string>
  readonly lines: readonly string[]
}

/** Runs one task, kills the agent once at the boundary, and restarts it as the mesh does: same data, higher fence. */
async function live(boundary: Boundary | null): Promise<Life> {
  const folder = mkdtempSync(join(tmpdir(), 'killed-'))
  const list = join(folder, 'writes')
  const effectsFile = join(folder, 'effects')
  const effects = new Map<string, string>()
  let requests = 0
  let agent: TestAgent | null = null

  const kill = () => agent?.child.kill('SIGKILL')
  const watch: MeshAnswer = ({ method, path, headers, body }, response) => {
    if (path === '/mesh/lease') return { lease_until: 0 }
    const key = headers['idempotency-key']
    if (method !== 'GET' && typeof key === 'string') {
      const words = `${method} ${path} ${JSON.stringify(body)}`
      // The mesh would reject the same key for another call.
      expect(effects.get(key) ?? words).toBe(words)
      effects.set(key, words)
    }
    const isHere = boundary?.at === 'request' && boundary.number === requests
    requests += 1
    if (isHere && boundary.reply === 'lost') {
      kill()
      response.destroy()
    } else if (isHere) response.on('finish', kill)
    return undefined
  }
  const answers = script(effectsFile)
  const model: MeshAnswer = (request, response) => {
    const { messages = [] } = (request.body ?? {}) as {
      messages?: { role: string; tool_calls?: unknown[] }[]
    }
    const called = messages.filter((message) => message.tool_calls !== undefined).length
    return modelAnswers([answers[called] ?? { text: 'Nothing is left to do.' }])(request, response)
  }
  const accepts: MeshAnswer = ({ method }) => (method === 'GET' ? undefined : { id: 'note_1' })
  const mesh: FakeMesh = await startFakeMesh([watch, model, accepts])
  const key = makeMeshKey()
  const data = join(folder, 'data')
  const spawnMain = (killAt: string) => (environment: Record<string, string>) =>
    spawn(
      process.execPath,
      ['--import', join(repositoryRoot, 'tests', 'support', 'kill-at-write.mjs'), agentProgram()],
      {
        env: { PATH: process.env['PATH'], ...environment, KILL_AT: killAt, WRITES_LIST: list },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
  const begin = (killAt: string) => startAgent({ spawnMain: spawnMain(killAt), meshUrl: mesh.url, data, key })
  const work = async (fence: number): Promise<TaskResult> => {
    const body = {
      task_id: 'task_1',
      run_id: 'run_1',
      fence,
      task_type: 'hand_off',
      input_data: { what: 'files' },
      context: {},
      timeout_s: 60,
      max_retries: 0,
      token_budget: null,
    }
    await agent?.call('POST', '/task', { body })
    const reply = await agent?.call('GET', '/result?run_id=run_1&wait_s=25')
    const parsed = agentApi.result.response.parse(reply?.json())
    if (parsed.state !== 'finished') throw new Error(`the run is ${parsed.state}`)
    return parsed.result
  }
  try {
    agent = await begin(boundary?.at === 'write' ? boundary.moment : '')
    const gone = new Promise<true>((resolve) => agent?.child.once('exit', () => resolve(true)))
    let result: TaskResult | null = await Promise.race([work(1).catch(() => null), gone.then(() => null)])
    // The process may still be exiting when its connection breaks.
    const wasKilled =
      boundary !== null &&
      (await Promise.race([gone, new Promise<false>((resolve) => setTimeout(() => resolve(false), 2000))]))
    if (wasKilled) {
      agent = await begin('')
      result = await work(2)
    }
    if (result === null) throw new Error(`no result: ${agent.log()}`)
    const written = readFileSync(list, 'utf8').split('\n').length - 1
    const lines = readFileSync(effectsFile, { encoding: 'utf8', flag: 'a+' }).split('\n').filter(Boolean)
    return { result, wasKilled, writes: written, requests, effects, lines }
  } finally {
    await agent?.stop('SIGKILL')
    await mesh.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs several boundaries concurrently: most of the time is spent waiting for processes. */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const lane = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all([lane(), lane()])
}

describe('a task', () => {
  it(
    'a task survives a kill at every write and every request: no call to the mesh is made twice, no command silently',
    async () => {
      const whole = await live(null)
      expect(whole.result).toMatchObject({
        status: 'complete',
        response: 'all done',
        result: { n: 7 },
        promote_to_blackboard: { 'team/done': true },
      })
      expect(whole.lines).toEqual([...commands])
      const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)
      const boundaries: Boundary[] = [
        ...numbers(whole.writes).flatMap((number) =>
          ['before', 'after'].map((when) => ({ at: 'write', moment: `${when} ${number}` }) as const),
        ),
        ...numbers(whole.requests).flatMap((number) =>
          (['lost', 'sent'] as const).map((reply) => ({ at: 'request', number, reply }) as const),
        ),
      ]
      expect(boundaries.length).toBeGreaterThan(40)
      // The step is coprime to the number of pairs, so that the sample has both kinds of each.
      const share = process.env['FLOTILLA_SOAK'] === '1' ? 1 : 15
      const chosen = boundaries.filter((_, index) => index % share === 0)
      await eachOf(chosen, async (boundary) => {
        const where = JSON.stringify(boundary)
        const life = await live(boundary)
        expect(life.wasKilled, where).toBe(true)
        expect(life.result, where).toMatchObject({
          status: 'complete',
          response: 'all done',
          result: { n: 7 },
          promote_to_blackboard: { 'team/done': true },
        })
        // The same effects as of a run without a kill, each once.
        expect([...life.effects.values()].toSorted(), where).toEqual([...whole.effects.values()].toSorted())
        for (const command of commands) {
          const ran = life.lines.filter((line) => line === command).length
          const told = life.result.tool_outputs.find(
            ({ tool, input }) => tool === 'run_command' && JSON.stringify(input).includes(command),
          )
          const isUnknown = told?.output.includes('outcome-unknown') === true
          expect(ran, where).toBeLessThanOrEqual(1)
          expect(ran === 1 || isUnknown, `${where}: ${command} did not run, and nobody said so`).toBe(true)
          expect(told?.ok, where).toBe(!isUnknown)
        }
      })
    },
    patient(300_000),
  )
})
