import { describe, expect, test } from 'vitest'
import type { TaskState } from '@flotilla/protocol/task-actions'
import { emptyTask } from './hand-off.ts'
import { createMoveTask } from './move-task.ts'
import type { TaskMove } from './move-task.ts'
import type { TaskRecord } from './task-table.ts'

const base = { ...emptyTask, id: 'task_1', creator: 'giver', assignee: 'worker', title: 't' }

/** The effects of a move: row, notifications and records. */
function move(row: Partial<TaskRecord>, asked: Partial<TaskMove>, isReplaced = true) {
  const heard: unknown[] = []
  const moveTask = createMoveTask({
    database: { transaction: (work: () => unknown) => work() } as never,
    table: { replace: () => isReplaced } as never,
    history: { add: (id: string, step: object) => heard.push(['history', id, step]) } as never,
    journal: { append: (entry: object) => heard.push(['journal', entry]) },
    events: { publish: (event: object) => heard.push(['event', event]) } as never,
    workEvents: { taskChanged: { publish: (change: object) => heard.push(['changed', change]) } } as never,
    clock: { now: () => 500 } as never,
  })
  const told: unknown[] = []
  const task = { ...base, created_at: 1, updated_at: 1, ...row } as TaskRecord
  const next = moveTask(task, {
    action: 'done',
    actor: 'agent:worker',
    words: 'words',
    notify: (...said) => {
      told.push(said)
    },
    ...asked,
  })
  return { next, told, heard }
}

describe('moving a task', () => {
  test('an ended task has a timestamp, and an open one has none', () => {
    const ended = move({ state: 'working' }, { action: 'done', changes: { summary: 's' } }).next
    expect(ended).toMatchObject({ state: 'done', completed_at: 500, updated_at: 500, summary: 's' })
    const open = move({ state: 'blocked', completed_at: 3 }, { action: 'retry' }).next
    expect(open).toMatchObject({ state: 'pending', completed_at: null, blocked_by: null })
  })

  test('a task names its blocker only while it is blocked', () => {
    const blocked = move({ state: 'working' }, { action: 'block', changes: { blocked_by: 'question' } }).next
    expect(blocked?.blocked_by).toBe('question')
    expect(move({ state: 'blocked', blocked_by: 'budget' }, { action: 'begin' }).next?.blocked_by).toBeNull()
    const kept = move({ state: 'working', blocked_by: 'budget' }, { action: 'lose' }).next
    expect(kept?.blocked_by).toBe('budget')
  })

  test.each<[string, TaskState, boolean]>([
    ['the table does not allow it', 'done', true],
    ['its row has changed meanwhile', 'working', false],
  ])('a task is not moved, and no one is notified, if %s', (_why, state, isReplaced) => {
    const { next, told, heard } = move({ state, parent_run_id: 'run_1' }, { action: 'done' }, isReplaced)
    expect([next, told, heard]).toEqual([null, [], []])
  })

  test('the parent run is notified of an end or a block, once for each round', () => {
    const row = { state: 'working', parent_run_id: 'run_1' } as const
    const changes = { summary: 'seven', result: 7 } as never
    expect(move(row, { changes }).told).toEqual([
      [
        'run_1',
        'task:task_1:done',
        {
          kind: 'task-result',
          taskId: 'task_1',
          title: 't',
          assignee: 'worker',
          state: 'done',
          summary: 'seven',
          result: 7,
        },
      ],
    ])
    const again = move({ ...row, round: 2 }, { action: 'block' }).told
    expect(again).toEqual([['run_1', 'task:task_1:blocked:2', expect.objectContaining({ summary: '' })]])
    expect(move(row, { action: 'progress' }).told).toEqual([])
    expect(move({ ...row, parent_run_id: null }, {}).told).toEqual([])
    expect(move(row, { notify: null }).next?.state).toBe('done')
  })

  test.each([
    ['accept', 'pending', 'task.accept'],
    ['progress', 'working', 'task.progress'],
    ['answer', 'blocked', 'task.answer'],
    ['retry', 'blocked', 'task.retry'],
    ['reroute', 'working', 'task.reroute'],
    ['done', 'working', 'task.done'],
    ['block', 'working', 'task.blocked'],
    ['cancel', 'pending', 'task.cancelled'],
  ] as const)(
    'a move by %s is recorded in the history and the audit log, and published',
    (action, state, journaled) => {
      const { next, heard } = move({ state, project: 'acme' }, { action })
      const to = next?.state
      expect(heard).toEqual([
        ['history', 'task_1', { at: 500, actor: 'agent:worker', action, state: to, words: 'words' }],
        [
          'journal',
          { actor: 'agent:worker', action: journaled, subject: 'task_1', detail: { assignee: 'worker' } },
        ],
        [
          'event',
          {
            type: 'task.changed',
            task_id: 'task_1',
            assignee: 'worker',
            creator: 'giver',
            title: 't',
            state: to,
            action,
          },
        ],
        [
          'changed',
          { id: 'task_1', assignee: 'worker', creator: 'giver', project: 'acme', state: to, before: state },
        ],
      ])
    },
  )
})
