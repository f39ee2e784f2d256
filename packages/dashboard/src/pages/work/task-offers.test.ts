import { manageActions, mayAct, taskOutcomes, taskStates } from '@flotilla/protocol/task-actions'
import { describe, expect, it } from 'vitest'
import { columnsOf, givenAnew, offersOf } from './task-offers.ts'

const none = new Set<string>()

describe('what a person is offered of a task', () => {
  it.each(taskStates)('the offer for a task that is %s is what the table of tasks allows', (state) => {
    const { manage, review } = offersOf({ id: 'task_1', state, outcome: null }, none)
    // A cancelled task has no result to judge.
    const judged = state === 'done' || state === 'failed'
    const asNew = state === 'failed' || state === 'cancelled'
    expect(manage).toEqual(
      manageActions.filter((action) => mayAct(action, state) || (asNew && action === 'retry')),
    )
    expect(review).toEqual(judged ? taskOutcomes : [])
  })

  it('the offer for a task is no second verdict', () => {
    expect(offersOf({ id: 'task_1', state: 'done', outcome: 'accepted' }, none)).toEqual({
      manage: [],
      review: [],
    })
  })

  it('the offer for a task is nothing that gives it anew where that was done', () => {
    const again = givenAnew([{ previous_task_id: 'task_1' }, { previous_task_id: null }])
    expect(offersOf({ id: 'task_1', state: 'failed', outcome: null }, again)).toEqual({
      manage: [],
      review: ['accepted', 'rejected'],
    })
  })
})

describe('the columns of the board', () => {
  it('the columns of the board are the states of the table, in its order, each with its tasks', () => {
    const columns = columnsOf([{ state: 'done' }, { state: 'pending' }, { state: 'done' }])
    expect(columns.map(({ state }) => state)).toEqual(taskStates)
    expect(columns.find(({ state }) => state === 'done')?.tasks).toHaveLength(2)
  })
})
