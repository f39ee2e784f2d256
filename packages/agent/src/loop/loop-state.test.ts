import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import type { PromptMessage, RequestedCall } from '../llm/language-model.ts'
import { answeredLater, freshState, waitsForOthers, openCalls } from './loop-state.ts'

const content = sanitizeForPrompt('x')
const call = (id: string): RequestedCall => ({ id, name: 'read_file', arguments: '{}' })
const asks = (...ids: string[]): PromptMessage => ({
  role: 'assistant',
  content,
  toolCalls: ids.map(call),
})
const answers = (toolCallId: string): PromptMessage => ({ role: 'tool', toolCallId, content })
const says: PromptMessage = { role: 'user', content }
const notes: PromptMessage = { role: 'system', content }

describe('the calls that a run still has to make when its agent starts again', () => {
  const idsOf = (messages: readonly PromptMessage[]) => openCalls(messages).map(({ id }) => id)

  test('the calls that a run still has to make when its agent starts again are those of the latest answer without a result, in their order', () => {
    expect(idsOf([says, asks('a', 'b', 'c'), answers('b')])).toEqual(['a', 'c'])
    expect(idsOf([says, asks('a', 'b')])).toEqual(['a', 'b'])
  })

  test('the calls that a run still has to make when its agent starts again are empty once each has its result: a finished call is not repeated', () => {
    expect(idsOf([says, asks('a', 'b'), answers('a'), answers('b')])).toEqual([])
  })

  test('the calls that a run still has to make when its agent starts again exclude those of an earlier answer, and of one that was followed by a person’s message', () => {
    expect(idsOf([asks('old'), asks('new'), answers('new')])).toEqual([])
    expect(idsOf([asks('old'), says])).toEqual([])
    expect(idsOf([asks('old'), says, answers('x')])).toEqual([])
  })

  test('the calls that a run still has to make when its agent starts again are empty where no tool was called', () => {
    expect(idsOf([])).toEqual([])
    expect(idsOf([answers('a')])).toEqual([])
    expect(idsOf([notes])).toEqual([])
  })

  test('the calls that a run still has to make when its agent starts again do not hide behind a note of the system', () => {
    expect(idsOf([asks('a'), notes])).toEqual(['a'])
  })
})

describe('a turn waits for others', () => {
  const made = (tool: string, ok: boolean) => waitsForOthers({ toolOutputs: [{ tool, ok }] as never })

  test.each(['hand_off', 'delete_agent'])(
    'a turn waits for others with a %s that succeeded, and only with one',
    (tool) => {
      expect(answeredLater).toContain(tool)
      expect(made(tool, true)).toBe(true)
      expect(made(tool, false)).toBe(false)
    },
  )

  test('a turn waits for others with no other tool, and not with none', () => {
    expect(made('read_file', true)).toBe(false)
    expect(waitsForOthers({ toolOutputs: [] })).toBe(false)
  })

  test.each([
    ['block', true, true],
    ['block', false, false],
    ['progress', true, false],
    ['accept', true, false],
  ])('a turn waits for others where it said %s of its task (taken: %s): %s', (action, ok, waits) => {
    const toolOutputs = [{ tool: 'update_task', input: { action, note: 'Which folder?' }, ok }] as never
    expect(waitsForOthers({ toolOutputs })).toBe(waits)
  })

  test('a turn waits for others with one among others', () => {
    const toolOutputs = [
      { tool: 'read_file', ok: true },
      { tool: 'hand_off', ok: false },
      { tool: 'hand_off', ok: true },
    ] as never
    expect(waitsForOthers({ toolOutputs })).toBe(true)
  })
})

describe('a run begins', () => {
  const start = {
    runId: 'run_1',
    inputHash: 'abc',
    startedAt: 5,
    step: 3,
    messages: [says],
    rounds: { turn: 0, session: 2, continues: 1 },
  }

  test('a run begins with nothing done: no calls to be warned of, nothing pending, nothing closed', () => {
    expect(freshState(start)).toEqual({
      ...start,
      tokens: 0,
      costUsd: 0,
      flushed: false,
      calls: [],
      toolOutputs: [],
      pending: [],
      nudged: false,
      completion: null,
      steers: [],
      unacknowledged: 0,
    })
  })

  test('a run begins with what earlier turns of the task have used', () => {
    expect(freshState({ ...start, tokens: 7, costUsd: 0.5, flushed: true })).toMatchObject({
      tokens: 7,
      costUsd: 0.5,
      flushed: true,
    })
  })
})
