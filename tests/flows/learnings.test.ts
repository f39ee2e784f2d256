import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAgent } from '../../packages/agent/src/testing/agent-process.ts'
import type { TestAgent } from '../../packages/agent/src/testing/agent-process.ts'
import { modelAnswers, startFakeMesh } from '../../packages/agent/src/testing/fake-mesh.ts'
import type { FakeMesh } from '../../packages/agent/src/testing/fake-mesh.ts'
import { agentProgram } from '../support/programs.ts'
import { verifies } from '../verifies.ts'

type SaidTo = [fence: number, message: string, by?: object, session?: string]

describe('the learnings of an agent', () => {
  let mesh: FakeMesh
  let agent: TestAgent
  const say = (...[fence, message, by = {}, session = 'main']: SaidTo) => {
    const origin = { kind: 'human', channel: 'cli', ...by }
    const body = { run_id: `run_${fence}`, fence, message, session, origin }
    return agent.call('POST', '/chat', { body })
  }
  /** Returns the texts of the last model call with this role. */
  const textsOf = (wanted: 'system' | 'user'): readonly string[] => {
    const asked = mesh.requests.findLast(({ path }) => path === '/v1/chat/completions')
    const { messages } = (asked?.body ?? { messages: [] }) as {
      messages: { role: string; content: string }[]
    } // as agents send it
    return messages.filter(({ role }) => role === wanted).map(({ content }) => content)
  }
  const systemPrompt = (): string => textsOf('system')[0] ?? ''
  const conversation = (): string => textsOf('user').join('\n')

  beforeAll(async () => {
    mesh = await startFakeMesh([
      ({ path }) => (path === '/mesh/lease' ? { lease_until: Date.now() + 60_000 } : undefined),
      modelAnswers([
        { calls: [{ name: 'read_file', arguments: { path: 'no/such/file' } }] },
        { text: 'It is Tuesday.' },
        { text: 'Monday it is.' },
        { text: 'Hello.' },
        { text: 'It is sunny.' },
        { text: 'As you say.' },
      ]),
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

  it('failures and corrections are in the prompt of the next session', async () => {
    verifies(
      'purpose:learnings:injected',
      'purpose:learnings:errors-file',
      'purpose:learnings:corrections-file',
    )
    const kept = (name: string) => readFile(join(agent.data, 'learnings', name), 'utf8')
    expect((await say(1, 'read it')).json()).toMatchObject({ response: 'It is Tuesday.' })
    expect(systemPrompt()).not.toContain('read_file')
    expect((await say(2, 'No, it is Monday')).json()).toMatchObject({ response: 'Monday it is.' })
    // A running conversation gets it behind its messages, so that its beginning stays in the provider's cache.
    expect(systemPrompt()).not.toContain('read_file')
    expect(conversation()).toMatch(/Learnings since[^]*\*\*read_file\*\*: Error \(not-found\)/)
    await say(3, 'hello', {}, 'next')
    expect(systemPrompt()).toMatch(/What failed before:\n- \[.*\] \*\*read_file\*\*: Error \(not-found\)/)
    expect(await kept('errors.md')).toContain('**read_file**')
    expect(await kept('corrections.md')).toContain('"No, it is Monday"')
    expect(systemPrompt()).toContain('I said: "It is Tuesday." Correction: "No, it is Monday"')
    // A message of a person who is not the owner is not recorded as a correction.
    await say(4, 'and now?')
    await say(5, 'No, it is Sunday', { user: 'ann', role: 'member' })
    expect(await kept('corrections.md')).not.toContain('Sunday')
  })
})
