import { expect, test } from 'vitest'
import { useOf } from './measure-containers.ts'

test('container statistics are converted to memory without page cache and to processor seconds', () => {
  const answer = {
    memory_stats: { usage: 50_000, limit: 100_000, stats: { inactive_file: 8000 } },
    cpu_stats: { cpu_usage: { total_usage: 2_500_000_000 }, online_cpus: 2 },
  }
  expect(useOf(answer)).toEqual({ memoryBytes: 42_000, memoryLimitBytes: 100_000, cpuSeconds: 2.5 })
})

test.each([
  ['one that does not run', { memory_stats: {}, cpu_stats: { cpu_usage: { total_usage: 0 } } }],
  ['an answer of another form', { memory: 5 }],
  ['nothing', null],
])('%s takes nothing', (_what, answer) => {
  expect(useOf(answer)).toBeNull()
})
