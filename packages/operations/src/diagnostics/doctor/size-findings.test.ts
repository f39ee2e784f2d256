import { expect, test } from 'vitest'
import { sizeFindings } from './size-findings.ts'

const availableBytes = 4096 * 1024 * 1024
const sizes = (...memory: readonly number[]) => ({
  availableBytes,
  sizes: memory.map((memoryMb, index) => ({ agentId: `a${index}`, memoryMb })),
})

test('without sizes there is nothing to report', () => {
  expect(sizeFindings(sizes())).toEqual([])
})

test.each([
  ['a sum that fits exactly', [2048, 2048], 'ok', 'need 4096 MB together (a0 2048 MB, a1 2048 MB)'],
  ['a sum that does not fit', [2048, 2049], 'warning', 'their runs wait for each other'],
  ['an agent that can never start', [5000], 'warning', 'a0 can never start'],
])('%s', (_what, memory, level, words) => {
  const [finding] = sizeFindings(sizes(...memory))
  expect(finding).toMatchObject({ id: 'agent-sizes', level, detail: expect.stringContaining(words) })
})
