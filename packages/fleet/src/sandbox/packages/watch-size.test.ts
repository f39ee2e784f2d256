import { expect, test } from 'vitest'
import { watchSize } from './watch-size.ts'

test('a failed measurement does not end the watch', async () => {
  const answers = [
    () => [{ SizeRw: 10 }],
    () => {
      throw new Error('the engine does not answer')
    },
    () => [{ SizeRw: 11 }],
  ]
  const removed = Promise.withResolvers<void>()
  const watched = watchSize(
    { docker: { listContainers: async () => (answers.shift() ?? (() => []))() as never } },
    { id: 'one' },
    {
      maxBytes: 10,
      clock: { sleep: async (_ms, signal) => signal?.throwIfAborted() },
      signal: new AbortController().signal,
      end: async () => removed.resolve(),
    },
  )
  await removed.promise
  expect(watched.isFull()).toBe(true)
  expect(answers).toHaveLength(0)
})

test('a watch that has ended measures no more', async () => {
  const paused = Promise.withResolvers<void>()
  const counted = { measurements: 0 }
  const watched = watchSize(
    {
      docker: {
        listContainers: async () => {
          counted.measurements += 1
          return []
        },
      },
    },
    { id: 'one' },
    {
      maxBytes: 10,
      clock: {
        sleep: async (_ms, signal) => {
          await paused.promise
          signal?.throwIfAborted()
        },
      },
      signal: new AbortController().signal,
      end: async () => undefined,
    },
  )
  watched.end()
  paused.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  expect(counted.measurements).toBe(0)
  expect(watched.isFull()).toBe(false)
})
