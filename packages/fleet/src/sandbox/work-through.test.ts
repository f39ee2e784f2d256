import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createStartGate } from './start-gate.ts'
import { workThrough } from './work-through.ts'

const count = 5_000
const items = Array.from({ length: count }, (_, index) => index)

describe('processing a list', () => {
  it('processes all items within the concurrency limit', async () => {
    const done = new Set<number>()
    let [inside, most] = [0, 0]
    await workThrough(items, 7, async (item) => {
      inside += 1
      most = Math.max(most, inside)
      if (item % 100 === 0) await turn()
      inside -= 1
      done.add(item)
    })
    expect([done.size, most]).toEqual([count, 7])
  })

  it('processing a list passes a gate with a queue limit of 2,000', async () => {
    const gate = createStartGate(4)
    let done = 0
    await workThrough(items, 16, (item) =>
      gate(async () => {
        if (item % 100 === 0) await turn()
        done += 1
      }),
    )
    expect(done).toBe(count)
  })

  it('processing a list fails as its first failure does', async () => {
    const work = workThrough(items, 3, (item) => (item === 9 ? Promise.reject(new Error('nine')) : turn()))
    await expect(work).rejects.toThrow('nine')
  })

  it('processing a list is nothing where there is nothing', async () => {
    await expect(workThrough([], 3, () => Promise.reject(new Error('never')))).resolves.toBeUndefined()
  })
})
