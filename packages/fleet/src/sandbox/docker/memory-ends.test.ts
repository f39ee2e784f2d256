import { expect, it } from 'vitest'
import { createMemoryEnds } from './memory-ends.ts'

const oom = (at: number | null) => ({ action: 'oom', containerId: 'c1', at })

it('an end that comes with the kill is for want of memory, and one that comes later is not', () => {
  const ends = createMemoryEnds()
  ends.record(oom(1000))
  expect(ends.isOf('c1', 1200)).toBe(true)
  ends.record(oom(1000))
  expect(ends.isOf('c1', 24_000)).toBe(false)
  ends.record(oom(1000))
  ends.record(oom(23_500))
  expect(ends.isOf('c1', 24_000)).toBe(true)
})

it('an end without a received event follows the engine, and containers are independent', () => {
  const ends = createMemoryEnds()
  expect(ends.isOf('c1', 24_000)).toBe(true)
  ends.record(oom(null))
  expect(ends.isOf('c1', 24_000)).toBe(true)
  ends.record(oom(1000))
  expect(ends.isOf('c2', 24_000)).toBe(true)
  expect(ends.isOf('c1', null)).toBe(true)
  ends.record({ action: 'start', containerId: 'c1', at: 1000 })
  expect(ends.isOf('c1', 24_000)).toBe(true)
})

it('more containers than a fleet has are not kept', () => {
  const ends = createMemoryEnds()
  for (let one = 0; one <= 1000; one++) ends.record({ action: 'oom', containerId: `c${one}`, at: 1000 })
  expect(ends.isOf('c1', 24_000)).toBe(true)
  expect(ends.isOf('c1000', 24_000)).toBe(false)
})
