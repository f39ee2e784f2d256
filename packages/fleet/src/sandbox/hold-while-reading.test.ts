import { expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { readWhileHeld } from './hold-while-reading.ts'

function aReading() {
  const clock = createManualClock()
  const done: string[] = []
  async function* tar() {
    yield Buffer.from('a')
    yield Buffer.from('b')
  }
  const reading = readWhileHeld({
    tar: tar(),
    isHeld: true,
    release: async () => void done.push('released'),
    close: async () => void done.push('closed'),
    clock,
  })
  return { reading, clock, done }
}

test('a reading that reaches its end releases the hold once', async () => {
  const { reading, done } = aReading()
  expect(await Array.fromAsync(reading.tar)).toHaveLength(2)
  await reading.leave()
  expect([reading.held(), done]).toEqual([true, ['released', 'closed']])
})

test('an unread reading releases the hold when its reader leaves', async () => {
  const { reading, done } = aReading()
  await Promise.all([reading.leave(), reading.leave()])
  expect(done).toEqual(['released', 'closed'])
})

test('a reading that was neither read nor left releases the hold at the time limit', async () => {
  const { reading, clock, done } = aReading()
  await clock.advance(29_999)
  expect(done).toEqual([])
  await clock.advance(1)
  expect([reading.held(), done]).toEqual([false, ['released']])
})
