import { expect, it } from 'vitest'
import { describeDeletion } from './agent-uses.ts'

it.each([
  [[], 'delete removes agent scout and its data permanently'],
  [['a job'], 'delete removes agent scout and its data permanently, although 1 trigger can start it'],
  [
    ['a job', 'a hook'],
    'delete removes agent scout and its data permanently, although 2 triggers can start it',
  ],
])('the deletion of an agent with the triggers %j is described', (uses, words) => {
  expect(describeDeletion('scout', uses)).toBe(words)
})
