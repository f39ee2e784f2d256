import { unconfirmedSummary } from '@flotilla/protocol/task-actions'
import type { TaskView } from '@flotilla/protocol/task'
import { expect, it } from 'vitest'
import { describeTask } from './describe-task.ts'

const now = Date.parse('2026-11-29T12:00:00Z')
const aTask = (of: Partial<TaskView>) =>
  describeTask(
    {
      state: 'working',
      waits_for: null,
      blocked_by: null,
      progress: null,
      summary: null,
      outcome: null,
      ...of,
    } as TaskView,
    now,
  )
const spent =
  'budget-exhausted: the daily budget of agent courier has 0.005610 of 0.01 USD left and this call may need 0.006158 or more; the budget resets at 2026-11-30T00:00:00.000Z'

it('a task that a problem stopped is described in a person’s words, with the code for its repair', () => {
  expect(aTask({ state: 'blocked', blocked_by: 'budget', summary: spent })).toEqual({
    words:
      'Out of budget for today: $0.0056 of the $0.01 a day of agent courier is left, less than the next call may cost. It resets in 12 h.',
    code: 'budget-exhausted',
  })
  expect(aTask({ state: 'failed', summary: 'model-unknown: gpu-box answered 404' })).toEqual({
    words: 'gpu-box answered 404',
    code: 'model-unknown',
  })
})

it('the words of an agent are not taken for a problem of the mesh', () => {
  const asked = 'budget-exhausted: what shall I do?'
  expect(aTask({ state: 'blocked', blocked_by: 'question', summary: asked })).toEqual({
    words: asked,
    code: null,
  })
  expect(aTask({ state: 'done', summary: asked })).toEqual({ words: asked, code: null })
  expect(aTask({ state: 'failed', summary: 'note: nothing found' })).toEqual({
    words: 'note: nothing found',
    code: null,
  })
})

it('an unconfirmed result is shown without the note, and a waiting task with its reason first', () => {
  expect(aTask({ state: 'done', summary: unconfirmedSummary('412 licences') }).words).toBe('412 licences')
  expect(aTask({ waits_for: 'a place in the lane', progress: 'half' }).words).toBe('a place in the lane')
  expect(aTask({ progress: 'half' }).words).toBe('half')
  expect(aTask({}).words).toBe('')
})
