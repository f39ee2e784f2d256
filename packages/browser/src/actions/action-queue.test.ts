import { expect, test } from 'vitest'
import { createActionQueue } from './action-queue.ts'

test('actions run one by one in their order, one that fails holds none up, and the tenth is refused', async () => {
  const queue = createActionQueue()
  const order: number[] = []
  let working = 0
  const begun = Promise.withResolvers<void>()
  const works = Array.from({ length: 9 }, (_, at) =>
    queue.run(async () => {
      working += 1
      if (at === 0) await begun.promise
      expect(working).toBe(1)
      order.push(at)
      working -= 1
      if (at === 3) throw new Error('third')
    }),
  )
  await expect(queue.run(async () => order.push(99))).rejects.toMatchObject({ code: 'browser-busy' })
  const last = queue.runLast(async () => order.push(9))
  expect(queue.busy).toBe(true)
  begun.resolve()
  const ends = await Promise.allSettled([...works, last])
  expect(ends.filter((end) => end.status === 'rejected')).toHaveLength(1)
  expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(queue.busy).toBe(false)
})
