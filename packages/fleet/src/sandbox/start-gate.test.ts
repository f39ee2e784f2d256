import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createStartGate } from './start-gate.ts'

describe('createStartGate', () => {
  it('createStartGate limits concurrency to its width and admits every caller in the end', async () => {
    const gate = createStartGate(3)
    let inside = 0
    let most = 0
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        gate(async () => {
          inside += 1
          most = Math.max(most, inside)
          await delay(1)
          inside -= 1
          return index
        }),
      ),
    )
    expect(most).toBe(3)
    expect(results).toHaveLength(20)
  })

  it('a failure frees its place', async () => {
    const gate = createStartGate(1)
    await expect(gate(() => Promise.reject(new RangeError('no')))).rejects.toThrow('no')
    expect(await gate(async () => 'next')).toBe('next')
  })

  it('createStartGate refuses more than 2,000 waiting', async () => {
    const gate = createStartGate(1)
    const leave = Promise.withResolvers<void>()
    const waiting = Array.from({ length: 2_001 }, () => gate(() => leave.promise))
    await expect(gate(async () => {})).rejects.toThrow(/2000/)
    leave.resolve()
    await Promise.all(waiting)
  })
})
