import { describe, expect, onTestFinished, test } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import { taskLimits } from '@flotilla/protocol/task-actions'
import type { TaskOutcome } from '@flotilla/protocol/task-actions'
import type { Action, Caller } from '../../../identity/src/access/index.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'

/** A task of the operator that the worker ended. `refused` is used for each permission check from then on. */
async function aDoneTask(work: { readonly description?: string } = {}) {
  const requests: string[] = []
  const refusing = new Set<Action['do']>()
  const harness = aLedgerHarness({
    guard: (caller: Caller, action: Action) => {
      requests.push(`${caller.kind} ${action.do}${'to' in action ? ` ${action.to}` : ''}`)
      if (refusing.has(action.do)) throw new Problem('denied', { detail: action.do })
    },
  })
  onTestFinished(() => harness.ledger.close())
  harness.ledger.start()
  await harness.clock.settle()
  harness.chat('operator')
  await harness.clock.settle()
  const operator = harness.callerOf('operator')
  const task = { to: 'worker', title: 'count', description: 'all', data: {}, ...work }
  const { task_id: taskId } = harness.handOff(operator, task)
  await harness.clock.settle()
  harness.completeTask(harness.callerOf('worker'), { taskId, status: 'done', summary: 'seven', result: null })
  harness.agents.finish('worker')
  await harness.clock.settle()
  requests.length = 0
  const review = (caller: Caller, outcome: TaskOutcome, comment = '') =>
    harness.tasks.reviewTask(caller, { taskId, outcome, comment })
  return { harness, taskId, operator, asked: requests, refusing, review }
}

const problemOf = (act: () => unknown): Partial<Problem> => {
  try {
    act()
    return { code: undefined as never }
  } catch (error) {
    return error as Problem
  }
}

describe('the review of a task', () => {
  test("a review is stored in the row, the history and the agent's learnings", async () => {
    const { harness, taskId, review } = await aDoneTask()
    const { task, rework } = review(person, 'rejected', '  made up  ')
    expect(rework).toBeNull()
    expect(task).toMatchObject({ state: 'done', outcome: 'rejected', feedback: 'made up' })
    expect(harness.taskTable.find(taskId)).toMatchObject({
      outcome_by: 'human:cli',
      outcome_at: harness.clock.now(),
      updated_at: harness.clock.now(),
    })
    const steps = harness.tasks.readTask(person, taskId).history.map(({ action, words }) => [action, words])
    expect(steps.at(-1)).toEqual(['review', 'rejected: made up'])
    expect(harness.fleetEvents.feedbackFor.ask('worker')).toMatchObject([
      { taskId, outcome: 'rejected', comment: 'made up', by: 'human:cli' },
    ])
    expect(harness.feedbackGiven).toEqual(['worker'])
  })

  test('a review `accepted` needs no comment, any other does', async () => {
    const { harness, taskId, review } = await aDoneTask()
    for (const [outcome, words] of [
      ['rework', ' \n'],
      ['rejected', ''],
    ] as const) {
      const { code, detail } = problemOf(() => review(person, outcome, words))
      expect([code, detail]).toEqual([
        'bad-request',
        expect.stringContaining(`say why the task is ${outcome}`),
      ])
    }
    expect(review(person, 'accepted').task.outcome).toBe('accepted')
    const steps = harness.tasks.readTask(person, taskId).history.map(({ words }) => words)
    expect(steps.at(-1)).toBe('accepted')
  })

  test('a repeated review has no effect, and a different one is a conflict', async () => {
    const { harness, review } = await aDoneTask()
    review(person, 'rejected', 'made up')
    expect(review(person, 'rejected', 'made up').rework).toBeNull()
    expect(problemOf(() => review(person, 'rejected', 'and late')).code).toBe('conflict')
    expect(problemOf(() => review(person, 'accepted', 'made up'))).toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining('already has a review: rejected'),
    })
    expect(harness.feedbackGiven).toEqual(['worker'])
  })

  test('a review is cut to the limit', async () => {
    const { review } = await aDoneTask()
    const { task } = review(person, 'rejected', 'x'.repeat(taskLimits.feedbackMaxChars + 5))
    expect(task.feedback).toHaveLength(taskLimits.feedbackMaxChars)
  })
})

test('an open task cannot be reviewed', async () => {
  const { harness, operator } = await aDoneTask()
  const { task_id: open } = harness.handOff(operator, { to: 'third', title: 'b', description: '', data: {} })
  const judge = () => harness.tasks.reviewTask(person, { taskId: open, outcome: 'accepted', comment: '' })
  expect(problemOf(judge)).toMatchObject({
    code: 'conflict',
    detail: expect.stringContaining('review it after it has ended'),
  })
})

describe('a rework', () => {
  test('a rework needs the permissions to route tasks and to reach the agent', async () => {
    const { review, operator, asked, refusing, harness } = await aDoneTask()
    for (const right of ['route-tasks', 'message-agent'] as const) {
      refusing.add(right)
      expect(problemOf(() => review(operator, 'rework', 'count MIT too'))).toMatchObject({
        code: 'denied',
        detail: right,
      })
      refusing.clear()
    }
    refusing.add('submit-run')
    expect(problemOf(() => review(person, 'rework', 'count MIT too')).code).toBe('denied')
    refusing.clear()
    expect(harness.feedbackGiven).toEqual([])
    asked.length = 0
    review(operator, 'rework', 'count MIT too')
    expect(asked).toContain('agent route-tasks')
    expect(asked).toContain('agent message-agent worker')
  })

  test('other reviews need no permission to route tasks', async () => {
    const { review, operator, refusing } = await aDoneTask()
    refusing.add('message-agent')
    refusing.add('route-tasks')
    expect(review(operator, 'rejected', 'made up').rework).toBeNull()
  })

  test('a rework contains the earlier result and the comment, within the limit of a task', async () => {
    const { review } = await aDoneTask({ description: 'd'.repeat(50_000) })
    const { rework } = review(person, 'rework', 'count MIT too')
    expect(rework?.description).toHaveLength(50_000)
    expect(rework?.description).toMatch(/^d+\n\n.*seven\n.*count MIT too$/s)
  })
})
