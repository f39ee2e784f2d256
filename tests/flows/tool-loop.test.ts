import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { agentApi } from '@flotilla/protocol/agent-api'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startAgent } from '../../packages/agent/src/testing/agent-process.ts'
import { modelAnswers, startFakeMesh } from '../../packages/agent/src/testing/fake-mesh.ts'
import { agentProgram } from '../support/programs.ts'
import { verifies } from '../verifies.ts'

interface Said {
  readonly role: string
  readonly content: string
}

/** A real agent process whose model asks for these calls, one after the other, and then says that it is done. */
async function anAgentThatCalls(calls: readonly { name: string; arguments: object }[]) {
  const mesh = await startFakeMesh([
    ({ path }) => (path === '/mesh/lease' ? { lease_until: Date.now() + 60_000 } : undefined),
    modelAnswers([...calls.map((call) => ({ calls: [call] })), { text: 'done' }]),
  ])
  onTestFinished(() => mesh.close())
  const agent = await startAgent({
    spawnMain: (environment) =>
      spawn(process.execPath, [agentProgram()], {
        env: { PATH: process.env['PATH'], ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    meshUrl: mesh.url,
  })
  onTestFinished(async () => void (await agent.stop()))
  return {
    data: agent.data,
    /** Returns the outcome of one chat turn as the agent reports it. */
    async chat() {
      const body = {
        run_id: 'run_1',
        fence: 1,
        message: 'go on',
        session: 'main',
        origin: { kind: 'human', channel: 'cli' },
      }
      const reply = await agent.call('POST', '/chat', { body })
      return agentApi.chat.response.parse(reply.json())
    },
    /** Returns all messages that the model received, call by call. */
    asked: (): readonly (readonly Said[])[] =>
      mesh.requests
        .filter(({ path }) => path === '/v1/chat/completions')
        .map(({ body }) => (body as { messages: Said[] }).messages),
  }
}

const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item)
const command = (text: string) => ({ name: 'run_command', arguments: { command: text } })
/** Finds system messages in the middle of a conversation, which only the loop writes there. */
const warningsIn = (messages: readonly Said[]) =>
  messages.slice(1).filter(({ role, content }) => role === 'system' && content.includes('different approach'))

describe('an agent that makes the same call again and again', () => {
  it('an agent that makes the same call again and again is warned at the 2nd repeat, skipped at the 4th and ended as failed at the 9th', async () => {
    verifies(
      'states:tool-loop:warned',
      'states:tool-loop:warning-message',
      'states:tool-loop:blocked',
      'states:tool-loop:call-skipped',
      'states:tool-loop:terminated',
      'states:tool-loop:failure-status',
    )
    const agent = await anAgentThatCalls(times(20, command('echo again | tee -a made')))
    const end = await agent.chat()
    expect(end).toMatchObject({ status: 'failed', error: { code: 'tool-loop-terminated' } })
    // The call and its first three repeats ran; repeats from the 4th on did not.
    expect(readFileSync(join(agent.data, 'made'), 'utf8')).toBe('again\n'.repeat(4))
    expect(end.tool_outputs.map(({ ok }) => ok)).toEqual([...times(4, true), ...times(5, false)])
    for (const { output } of end.tool_outputs.slice(4)) expect(output).toMatch(/^Error: .*skipped/)
    const asked = agent.asked()
    // The call and nine repeats, and no model call after the ninth.
    expect(asked).toHaveLength(10)
    expect(asked.map((messages) => warningsIn(messages).length > 0)).toEqual([
      ...times(3, false),
      ...times(7, true),
    ])
    const told = asked[5]?.findLast(({ role }) => role === 'tool')
    expect(told?.content).toMatch(/^Error: .*skipped/)
  })

  it.each([
    ['another result each time', times(10, command('echo again >> made; wc -l < made'))],
    ['other parameters each time', Array.from({ length: 10 }, (_, index) => command(`true ${index}`))],
  ])(
    'an agent that makes the same call again and again with %s is not repeating itself',
    async (_what, calls) => {
      verifies('states:tool-loop:same-triple')
      const agent = await anAgentThatCalls(calls)
      expect(await agent.chat()).toMatchObject({ status: 'complete', response: 'done' })
      expect(agent.asked()).toHaveLength(calls.length + 1)
      expect(agent.asked().flatMap(warningsIn)).toEqual([])
    },
  )

  it.each([
    [13, true],
    [14, false],
  ])(
    'an agent that makes the same call again and again with %i other results in between is warned: %s, since only a window counts',
    async (between, warned) => {
      verifies('states:tool-loop:sliding-window', 'states:tool-loop:same-triple')
      const agent = await anAgentThatCalls(times(between + 3, command('head -n 1 says; sed -i 1d says')))
      const numbers = Array.from({ length: between }, (_, index) => `${index}`)
      writeFileSync(join(agent.data, 'says'), ['same', 'same', ...numbers, 'same', ''].join('\n'))
      expect(await agent.chat()).toMatchObject({ status: 'complete', response: 'done' })
      expect(agent.asked().flatMap(warningsIn).length > 0).toBe(warned)
    },
  )

  it('an agent that makes the same call again and again may search its memory as often as it likes', async () => {
    verifies('states:tool-loop:memory-search-exempt', 'resources:tool:memory-search-exempt')
    const search = { name: 'memory_search', arguments: { query: 'tea' } }
    const agent = await anAgentThatCalls(times(12, search))
    const end = await agent.chat()
    expect(end).toMatchObject({ status: 'complete', response: 'done' })
    expect(end.tool_outputs.map(({ ok }) => ok)).toEqual(times(12, true))
    expect(new Set(end.tool_outputs.map(({ output }) => output)).size).toBe(1)
    expect(agent.asked().flatMap(warningsIn)).toEqual([])
  })
})
