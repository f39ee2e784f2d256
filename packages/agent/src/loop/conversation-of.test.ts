import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Origin } from '@flotilla/protocol/origin'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import { createScriptedModel } from '../llm/scripted-model.ts'
import { systemClock } from '../system-clock.ts'
import { aContextKeeper } from '../testing/context-parts.ts'
import { noMesh, silentHooks } from '../testing/loop-parts.ts'
import { createCheckpoints } from './run-files.ts'
import type { RunContext } from './loop-deps.ts'
import { runChatTurn } from './run-chat-turn.ts'
import { createSessions } from './sessions.ts'
import { runLoop } from './run-loop.ts'

/** A conversation limited to one round; each answer names it. */
async function aSpentConversation(session: string) {
  const data = mkdtempSync(join(tmpdir(), 'turn-'))
  const sessions = createSessions({ dataDirectory: data, clock: systemClock })
  const spent = { rounds: 1, continues: 5, flushed: false, taskId: null, trust: null }
  const said = { role: 'user', content: sanitizeForPrompt('long ago'), by: 'other' } as const
  await sessions.save(session, { ...spent, messages: [said] }, 0)
  const model = createScriptedModel([{ text: 'first' }, { text: 'second' }, { text: 'third' }])
  let runs = 0
  const turn = async (origin: Origin) => {
    const context: RunContext = {
      runLoop,
      inputHash: `asked ${++runs}`,
      stepsUsed: 0,
      hooks: silentHooks,
      signal: new AbortController().signal,
      mesh: noMesh,
      model,
      tools: [],
      context: aContextKeeper(),
      recordRun: async () => undefined,
      recordHeartbeat: async () => undefined,
      bounds: { taskIterationsMax: 1, chatRoundsPerTurnMax: 5, chatRoundsPerSessionMax: 1 },
      sessions,
      checkpoints: createCheckpoints(data),
      clock: systemClock,
      systemPrompt: async () => sanitizeForPrompt('be good'),
    }
    const run = { runId: `run_${runs}`, fence: runs, message: 'an event', session, steers: [], origin }
    return (await runChatTurn(context, { kind: 'chat', ...run })).result
  }
  const prompts = () => model.asked.map(({ messages }) => messages.map(({ content }) => content).join('\n'))
  return { turn, sessions, prompts }
}

describe('a conversation that has used all its rounds', () => {
  test.each([
    ['webhook:hook_1', { kind: 'webhook', channel: 'mesh', user: 'hook_1' }],
    ['watch-0123456789abcdef', { kind: 'watcher', channel: 'mesh', user: '/srv/inbox/*' }],
    ['blackboard-watch_1', { kind: 'watcher', channel: 'mesh', user: 'watch_1' }],
    ['agent:scout', { kind: 'agent', channel: 'agent', user: 'scout' }],
  ] as const)(
    'a conversation that has used all its rounds in %s, which no person could reset, starts anew with the next message',
    async (session, origin) => {
      const { turn, prompts, sessions } = await aSpentConversation(session)
      for (const text of ['first', 'second', 'third']) {
        expect(await turn(origin)).toMatchObject({ status: 'complete', response: text })
      }
      expect(prompts()[0]).not.toContain('long ago')
      expect((await sessions.list()).total).toBe(1)
    },
  )

  test('a conversation that has used all its rounds of a person stays theirs to reset, and says so', async () => {
    const { turn, sessions } = await aSpentConversation('watch-party')
    const person = { kind: 'human', channel: 'cli' } as const
    await turn(person)
    expect(await turn(person)).toMatchObject({ status: 'failed', error: { code: 'rounds-exhausted' } })
    expect((await sessions.load('watch-party')).messages[0]?.content).toBe('long ago')
  })

  test('a conversation that has used all its rounds is gone on with where work that it gave away comes back to it', async () => {
    const { turn, prompts } = await aSpentConversation('webhook:hook_1')
    await turn({ kind: 'agent', channel: 'agent' })
    expect(prompts()[0]).toContain('long ago')
  })
})
