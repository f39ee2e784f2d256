import { expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { closeAfter } from './close-after.ts'

/** Work and two closers, which fail if their name is in `faulty`. */
async function closing(...faulty: readonly ('work' | 'listeners' | 'lock')[]) {
  const done: string[] = []
  const logged: unknown[] = []
  const step = (name: 'work' | 'listeners' | 'lock') => async () => {
    done.push(name)
    if (faulty.includes(name)) throw new Error(name)
    return 7
  }
  const ended = closeAfter(step('work'), [step('listeners'), step('lock')], {
    error: ({ err }) => logged.push(err),
  })
  const end = await ended.catch((error: unknown) => error)
  return { end, done, logged }
}

test.each([
  [[], 7, []],
  [['work'], new Error('work'), []],
  [['listeners'], new Error('listeners'), []],
  [['work', 'listeners'], new Error('work'), [new Error('listeners')]],
  [['listeners', 'lock'], new Error('listeners'), [new Error('lock')]],
] as const)('if %j fail, everything is closed and the first error is thrown', async (faulty, end, logged) => {
  heedsLesson(95)
  expect(await closing(...faulty)).toEqual({ end, done: ['work', 'listeners', 'lock'], logged })
})
