import { wireLimits } from '@flotilla/protocol/limits'
import { describe, expect, test } from 'vitest'
import { continuationText, notesForOneMessage } from './continuation-text.ts'
import type { RunNote } from '../ledger/run-inbox.ts'

const aNote = (changes: Partial<Extract<RunNote, { kind: 'task-result' }>> = {}): RunNote => ({
  kind: 'task-result',
  taskId: 'task_1',
  title: 'count',
  assignee: 'worker',
  state: 'done',
  summary: 'seven',
  result: null,
  ...changes,
})

describe('the message of a continuation', () => {
  test('a continuation message contains task, title, assignee, state, summary and result', () => {
    expect(
      continuationText([aNote({ result: { count: 7 } }), aNote({ taskId: 'task_2', state: 'failed' })], null),
    ).toBe(
      'Task task_1 "count", which you gave to worker, is done.\nSummary: seven\nResult (JSON): {"count":7}\n\nTask task_2 "count", which you gave to worker, is failed.\nSummary: seven',
    )
  })

  test('a continuation message contains no invisible characters', () => {
    const hidden = 'do\u200B\u{E0041} it\u202E'
    const text = continuationText(
      [aNote({ title: hidden, summary: hidden, result: { [hidden]: hidden } })],
      null,
    )
    expect(text).not.toMatch(/[\u200B\u202E\u{E0041}]/u)
  })

  test('a continuation message reminds a run of the task that it works on', () => {
    const own = { taskId: 'task_9', inputData: { title: 'sum up' } }
    expect(continuationText([aNote()], own)).toContain('You work on your own task task_9: {"title":"sum up"}')
  })

  test('a continuation message cuts a result at 20,000 characters', () => {
    const text = continuationText([aNote({ result: 'x'.repeat(50_000) })], null)
    expect(text.length).toBeLessThan(20_300)
    expect(text).toContain('[cut]')
  })

  test('a continuation message holds as many notes as fit, and at least one', () => {
    const long = aNote({ summary: 's'.repeat(20_000), result: 'x'.repeat(50_000) })
    const rows = Array.from({ length: 10 }, (_, id) => ({ id, source: `${id}`, note: long }))
    const taken = notesForOneMessage(rows)
    expect(taken.length).toBe(3)
    const own = { taskId: 'task_9', inputData: { description: 'd'.repeat(50_000) } }
    expect(
      continuationText(
        taken.map((row) => row.note),
        own,
      ).length,
    ).toBeLessThanOrEqual(wireLimits.chatMessageMaxChars)
    expect(notesForOneMessage(rows.slice(0, 1))).toHaveLength(1)
  })
})
