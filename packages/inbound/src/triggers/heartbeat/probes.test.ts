import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import { aLedgerHarness } from '../../../../testing/src/ledger-harness.ts'
import { emptyTask } from '../../../../work/src/tasks/hand-off.ts'
import { alertLines, createOpenTasks, runProbes } from './probes.ts'
import type { ProbeFacts } from './probes.ts'

const calm: ProbeFacts = {
  diskUsedPercent: 10,
  signals: { count: 0, newest: [] },
  tasks: { count: 0, newest: [] },
  messages: { count: 0, oldest: [] },
  changes: [],
}
const probesOf = (changes: Partial<ProbeFacts>) =>
  runProbes({ ...calm, ...changes }).map(({ probe }) => probe)

describe('the built-in probes', () => {
  test('the probes report nothing for a calm agent', () => {
    expect(probesOf({})).toEqual([])
  })

  test.each([
    [85, []],
    [85.1, ['disk_usage']],
    [100, ['disk_usage']],
    [null, []],
  ])('%s percent of the disk gives %j', (diskUsedPercent, expected) => {
    verifies('limits:disk-probe', 'events:heartbeat:probe-disk-usage')
    expect(probesOf({ diskUsedPercent })).toEqual(expected)
  })

  test('any unread signal and any open hand-off is reported', () => {
    verifies('events:heartbeat:probe-pending-signals', 'events:heartbeat:probe-pending-tasks')
    expect(probesOf({ signals: { count: 1, newest: [] } })).toEqual(['pending_signals'])
    expect(probesOf({ tasks: { count: 1, newest: [] } })).toEqual(['pending_tasks'])
  })
})

describe('the text of the probes', () => {
  const textsOf = (changes: Partial<ProbeFacts>) =>
    runProbes({ ...calm, ...changes }).map(({ text }) => String(text))

  test('a probe reports the used share and the threshold, and counts', () => {
    expect(textsOf({ diskUsedPercent: 91 })).toEqual([
      'disk_usage: 91 % of what you may keep below /data is used (alert above 85 %).',
    ])
    expect(textsOf({ signals: { count: 1, newest: [] }, tasks: { count: 1, newest: [] } })).toEqual([
      'pending_signals: 1 unread signal.',
      'pending_tasks: 1 open task given to you.',
    ])
    expect(textsOf({ signals: { count: 2, newest: [] }, tasks: { count: 3, newest: [] } })).toEqual([
      'pending_signals: 2 unread signals.',
      'pending_tasks: 3 open tasks given to you.',
    ])
  })

  test('alerts are list items in the order of the probes', () => {
    const alerts = runProbes({ ...calm, diskUsedPercent: 91, tasks: { count: 3, newest: [] } })
    expect(alertLines(alerts).split('\n')).toEqual([
      '- disk_usage: 91 % of what you may keep below /data is used (alert above 85 %).',
      '- pending_tasks: 3 open tasks given to you.',
    ])
    expect(alertLines([])).toBe('')
  })
})

describe('open hand-offs', () => {
  const aTask = (
    id: string,
    assignee: string,
    more: { state: 'pending' | 'blocked' | 'done'; run_id: string },
  ) => ({
    ...emptyTask,
    ...more,
    id,
    creator: 'operator',
    assignee,
    title: `title of ${id}`,
    description: '',
    data: {},
    origin: { kind: 'system', channel: 'mesh' } as const,
    parent_run_id: null,
    result: null,
    summary: null,
    created_at: 1,
    updated_at: 1,
    completed_at: null,
  })

  test('open hand-offs are read for exactly this agent from the table of tasks', () => {
    heedsLesson(76)
    const harness = aLedgerHarness()
    const openTasks = createOpenTasks(harness.taskTable)
    const add = (id: string, assignee: string, state: 'pending' | 'blocked' | 'done') =>
      harness.taskTable.insert(aTask(id, assignee, { state, run_id: harness.chat('other').id }))
    add('task_1', 'agent2', 'pending')
    expect(openTasks('agent').count).toBe(0)
    add('task_2', 'agent', 'blocked')
    add('task_3', 'agent', 'done')
    expect(openTasks('agent')).toMatchObject({ count: 1, newest: [{ id: 'task_2' }] })
    for (let more = 10; more < 20; more += 1) add(`task_${more}`, 'agent', 'pending')
    expect(openTasks('agent').count).toBe(11)
    expect(openTasks('agent').newest).toHaveLength(5)
  })
})
