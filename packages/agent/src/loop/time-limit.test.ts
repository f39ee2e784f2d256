import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { createTimeLimit } from './time-limit.ts'

const over = new Error('the time is over')

describe('a limit in time', () => {
  test('a limit in time aborts with its reason when its time has come, and not before', async () => {
    const clock = createManualClock()
    const limit = createTimeLimit(clock, 1000, over)
    await clock.advance(999)
    expect(limit.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(limit.signal.reason).toBe(over)
    await limit.end()
  })

  test('a limit in time that ended in time releases the clock and never aborts', async () => {
    const clock = createManualClock()
    const limit = createTimeLimit(clock, 1000, over)
    await limit.end()
    expect(clock.sleepers()).toBe(0)
    await clock.advance(5000)
    expect(limit.signal.aborted).toBe(false)
  })

  test.each([0, -5])('a limit in time with %i ms left is over at once', async (leftMs) => {
    const asked: number[] = []
    const clock = {
      now: () => 0,
      sleep: async (ms: number) => void asked.push(ms),
    }
    const limit = createTimeLimit(clock, leftMs, over)
    await limit.end()
    expect(limit.signal.aborted).toBe(true)
    // A clock asked to wait a negative time may wait forever.
    expect(asked).toEqual([0])
  })
})
