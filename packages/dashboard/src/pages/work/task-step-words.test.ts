import { taskActions } from '@flotilla/protocol/task-actions'
import { expect, it } from 'vitest'
import { taskStepWords } from './task-step-words.ts'

it('each step of a task has words of its own, and an unknown one keeps its name', () => {
  for (const action of ['given', 'review', ...Object.keys(taskActions)])
    expect(taskStepWords(action), action).toMatch(/^[a-z]+ [a-z ]+$/)
  expect(taskStepWords('lose')).toBe('stopped it')
  expect(taskStepWords('toString')).toBe('toString')
})
