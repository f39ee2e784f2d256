import { expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { closeAfter } from './close-after.ts'

/** Work and two closers, each of which goes wrong where its name is among the faulty. */
async function closing(...faulty: readonly ('work' | 'doors' | 'lock')[]) {
  const done: string[] = []
  const logged: unknown[] = []
  const step = (name: 'work' | 'doors' | 'lock') => async () => {
    done.push(name)
    if (faulty.includes(name)) throw new Error(name)
    return 7
  }
  const ended = closeAfter(step('work'), [step('doors'), step('lock')], {
    error: ({ err }) => logged.push(err),
  })
  const end = await ended.catch((error: unknown) => error)
  return { end, done, logged }
}

test.each([
  [[], 7, []],
  [['work'], new Error('work'), []],
  [['doors'], new Error('doors'), []],
  [['work', 'doors'], new Error('work'), [new Error('doors')]],
  [['doors', 'lock'], new Error('doors'), [new Error('lock')]],
] as const)('where %j go wrong all is closed, and the first is thrown', async (faulty, end, logged) => {
  heedsLesson(95)
  expect(await closing(...faulty)).toEqual({ end, done: ['work', 'doors', 'lock'], logged })
})
