import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withoutMoment } from '@flotilla/protocol/moment-text'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAgent } from '../../packages/agent/src/testing/agent-process.ts'
import type { TestAgent } from '../../packages/agent/src/testing/agent-process.ts'
import { modelAnswers, startFakeMesh } from '../../packages/agent/src/testing/fake-mesh.ts'
import type { FakeMesh, MeshAnswer, ScriptedAnswer } from '../../packages/agent/src/testing/fake-mesh.ts'
import { bundleAgent } from '../../packages/fleet/src/sandbox/image/bundle-agent.ts'
import { repositoryRoot } from '../support/mesh-process.ts'

/** Writes the name of every module when it is loaded. */
const listener = (list: string) => `
  const { appendFileSync } = require('node:fs')
  const Module = require('node:module')
  const load = Module._load
  Module._load = function (name, ...rest) {
    appendFileSync(${JSON.stringify(list)}, name + '\\n')
    return load.call(this, name, ...rest)
  }`

/** Answers the conversation that starts a sub-agent, and the conversation of the sub-agent. */
const byGoal: MeshAnswer = (request, response) => {
  const { messages = [] } = (request.body ?? {}) as { messages?: { role: string; content: string | null }[] }
  const words = messages.map(({ content }) => withoutMoment(content ?? ''))
  const isPart = words.includes('the part')
  if (!isPart && !words.includes('in parts')) return undefined
  const turn = messages.length - words.indexOf('in parts')
  const steps: readonly ScriptedAnswer[] = [
    { calls: [{ name: 'spawn_subagent', arguments: { goal: 'the part' } }] },
    { calls: [{ name: 'wait_for_subagent', arguments: {} }] },
    { text: words.at(-1) ?? '' },
  ]
  const step = isPart ? { text: 'done by a part' } : (steps[(turn - 1) / 2] ?? {})
  return modelAnswers([step])(request, response)
}

describe('the bundle of an agent', () => {
  let folder: string
  let mesh: FakeMesh
  let agent: TestAgent
  const loaded = () => readFileSync(join(folder, 'loaded'), 'utf8').split('\n')
  const chat = (runId: string, fence: number, message: string) =>
    agent.call('POST', '/chat', { body: { run_id: runId, fence, message, session: 'main' } })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'late-'))
    const entry = join(repositoryRoot, 'packages', 'agent', 'src', 'main.ts')
    const bundle = await bundleAgent({ entry, cacheDirectory: folder })
    const hook = join(folder, 'listener.cjs')
    writeFileSync(hook, listener(join(folder, 'loaded')))
    mesh = await startFakeMesh([
      ({ path }) => (path === '/mesh/lease' ? { lease_until: Date.now() + 60_000 } : undefined),
      byGoal,
      modelAnswers([
        { text: 'Hello.' },
        { calls: [{ name: 'memory_save', arguments: { content: 'tea is at four' } }] },
        { text: 'Saved.' },
      ]),
    ])
    agent = await startAgent({
      spawnMain: (environment) =>
        spawn(process.execPath, ['--require', hook, bundle.files[0]?.path ?? ''], {
          env: { PATH: process.env['PATH'], ...environment },
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      meshUrl: mesh.url,
    })
  })
  afterAll(async () => {
    await agent?.stop()
    await mesh?.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('the bundle of an agent loads SQLite with the first use of the memory and not before', async () => {
    expect((await agent.call('GET', '/status')).status).toBe(200)
    expect((await chat('run_1', 1, 'hello')).json()).toMatchObject({ status: 'complete' })
    expect(loaded()).toContain('node:http')
    expect(loaded()).not.toContain('node:sqlite')
    expect(loaded().filter((name) => name.includes('parts/'))).toEqual([])
    expect(existsSync(join(agent.data, '.flotilla', 'memory.db'))).toBe(false)

    expect((await chat('run_2', 2, 'remember')).json()).toMatchObject({ status: 'complete' })
    expect(loaded()).toContain('node:sqlite')
    expect(existsSync(join(agent.data, '.flotilla', 'memory.db'))).toBe(true)
    expect(loaded()).not.toContain('./parts/mcp.cjs')
  })

  it('the bundle of an agent loads the client of MCP with the first run that has a server, and not before', async () => {
    const server = { kind: 'local', name: 'none', command: 'no-such-program', args: [], env: {}, tools: null }
    const brief = [{ ...server, startupTimeoutMs: 5000, callTimeoutMs: 5000 }]
    writeFileSync(join(agent.data, 'briefing', 'mcp.json'), JSON.stringify(brief))
    await chat('run_3', 3, 'hello again')
    expect(loaded()).toContain('./parts/mcp.cjs')
  })

  it('the bundle of an agent has sub-agents, whose code is loaded late', async () => {
    const reply = (await chat('run_4', 4, 'in parts')).json()
    expect(reply).toMatchObject({ status: 'complete' })
    expect(reply['response']).toContain('done by a part')
  })
})
