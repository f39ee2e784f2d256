import { taskActions } from '@flotilla/protocol/task-actions'
import { expect, it } from 'vitest'
import { describeTaskStep } from './describe-task-step.ts'

it('each step of a task has words of its own, and an unknown one keeps its name', () => {
  for (const action of ['given', 'review', ...Object.keys(taskActions)])
    expect(describeTaskStep(action), action).toMatch(/^[a-z]+ [a-z ]+$/)
  expect(describeTaskStep('lose')).toBe('stopped it')
  expect(describeTaskStep('toString')).toBe('toString')
})
