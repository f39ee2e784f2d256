import { expect, test } from 'vitest'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { createEventLanes } from './event-lanes.ts'
import { createRecentIds } from '../recent-ids.ts'
import { createRetryPace } from './retry-pace.ts'

const clock = createManualClock()
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('work of one conversation stays in order and blocks no other conversation', async () => {
  const lanes = createEventLanes(10)
  const done: string[] = []
  const first = Promise.withResolvers<void>()
  lanes.run('a', () => first.promise.then(() => void done.push('a1')))
  lanes.run('a', async () => void done.push('a2'))
  lanes.run('b', async () => void done.push('b1'))
  await turn()
  expect(done).toEqual(['b1'])
  first.resolve()
  await lanes.idle(clock)
  expect(done).toEqual(['b1', 'a1', 'a2'])
})

test('failing work blocks nothing', async () => {
  const lanes = createEventLanes(10)
  const done: string[] = []
  lanes.run('a', () => Promise.reject(new Error('no')))
  lanes.run('a', async () => void done.push('after'))
  await lanes.idle(clock)
  expect(done).toEqual(['after'])
})

test('work above the limit is rejected, and accepted again once there is space', async () => {
  const lanes = createEventLanes(2)
  const first = Promise.withResolvers<void>()
  expect(lanes.run('a', () => first.promise)).toBe(true)
  expect(lanes.run('b', () => first.promise)).toBe(true)
  expect(lanes.run('c', async () => {})).toBe(false)
  first.resolve()
  await lanes.idle(clock)
  expect(lanes.run('c', async () => {})).toBe(true)
})

test('the shutdown does not wait for ever', async () => {
  const lanes = createEventLanes(2)
  lanes.run('a', () => new Promise(() => {}))
  const idle = lanes.idle(clock)
  await turn()
  await clock.advance(3000)
  await expect(idle).resolves.toBeUndefined()
})

test('the oldest ids are forgotten first', () => {
  const ids = createRecentIds(2)
  for (const id of ['1', '2', '1', '3']) ids.add(id)
  expect(['1', '2', '3'].map(ids.has)).toEqual([true, false, true])
})

test('failures increase the delay up to a minute, and a long connection resets it', async () => {
  const pauses: number[] = []
  const time = { now: 0 }
  const pace = createRetryPace({
    now: () => time.now,
    sleep: async (ms) => void pauses.push(ms),
  })
  const never = new AbortController().signal
  for (let count = 0; count < 12; count++) await pace.afterFailure(never, 0)
  expect(pauses.slice(0, 4)).toEqual([250, 500, 1000, 2000])
  expect(pauses.at(-1)).toBe(60_000)
  await pace.afterFailure(never, 90_000)
  expect(pauses.at(-1)).toBe(90_000)
  pace.began()
  time.now += 3_600_000
  await pace.afterEnd(never)
  expect(pauses.at(-1)).toBe(0)
  pace.began()
  await pace.afterEnd(never)
  expect(pauses.at(-1)).toBe(250)
})
