import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import { createScriptedModel } from '../llm/scripted-model.ts'
import { systemClock } from '../system-clock.ts'
import { aContextKeeper } from '../testing/context-parts.ts'
import { fakeTool, noMesh, silentHooks } from '../testing/loop-parts.ts'
import { createCheckpoints } from './run-files.ts'
import type { RunContext } from './loop-deps.ts'
import { notices } from './notices.ts'
import { runChatTurn } from './run-chat-turn.ts'
import { createSessions } from './sessions.ts'
import { runLoop } from './run-loop.ts'

/** An agent that makes the same call in each turn; the mesh answers each with the id of a new task. */
function anAgent(toolName: string, effect: 'mesh' | 'none') {
  const data = mkdtempSync(join(tmpdir(), 'waiting-'))
  const sessions = createSessions({ dataDirectory: data, clock: systemClock })
  let tasks = 0
  const tool = fakeTool(toolName, effect, async () => {
    tasks += 1
    return `{"task_id":"task_${String(tasks).padStart(16, '0')}","state":"pending"}`
  })
  let turns = 0
  const turn = async (runId: string) => {
    turns += 1
    const context: RunContext = {
      runLoop,
      inputHash: `input ${turns}`,
      stepsUsed: 3 * turns,
      hooks: silentHooks,
      signal: new AbortController().signal,
      mesh: noMesh,
      model: createScriptedModel([
        { toolCalls: [{ id: `c${turns}`, name: toolName, arguments: '{"value":"compare"}' }] },
        { text: `turn ${turns}` },
      ]),
      tools: [tool],
      context: aContextKeeper(),
      recordRun: async () => undefined,
      recordHeartbeat: async () => undefined,
      bounds: { taskIterationsMax: 5, chatRoundsPerTurnMax: 5, chatRoundsPerSessionMax: 500 },
      sessions,
      checkpoints: createCheckpoints(data),
      clock: systemClock,
      systemPrompt: async () => sanitizeForPrompt('be good'),
    }
    const run = { runId, fence: turns, message: 'A task is done.', session: 'main', steers: [] }
    return (await runChatTurn(context, { kind: 'chat', ...run })).result
  }
  const said = async () => (await sessions.load('main')).messages.map(({ content }) => String(content))
  return { turn, said, calls: () => tool.keys.length }
}

describe('a run that waits between its turns', () => {
  test('the same hand-off in each turn is warned of, skipped, and ends the run', async () => {
    const { turn, said, calls } = anAgent('hand_off', 'mesh')
    await turn('run_1')
    await turn('run_1')
    expect(await said()).not.toContain(notices.repeated)
    await turn('run_1')
    expect(await said()).toContain(notices.repeated)
    await turn('run_1')
    expect(calls()).toBe(4)
    await turn('run_1')
    expect(calls()).toBe(4)
    expect(await said()).toContain(notices.skipped)
  })

  test('another run of the conversation may make the same call', async () => {
    const { turn, said, calls } = anAgent('hand_off', 'mesh')
    for (const run of [1, 2, 3, 4, 5, 6]) await turn(`run_${run}`)
    expect(calls()).toBe(6)
    expect(await said()).not.toContain(notices.repeated)
  })

  test('a new id in a result of a call without effects is news', async () => {
    const { turn, said } = anAgent('list_tasks', 'none')
    for (const _ of [1, 2, 3, 4, 5, 6]) await turn('run_1')
    expect(await said()).not.toContain(notices.repeated)
  })
})
