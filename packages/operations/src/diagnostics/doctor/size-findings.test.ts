import { expect, test } from 'vitest'
import { sizeFindings } from './size-findings.ts'

const availableBytes = 4096 * 1024 * 1024
const sizes = (...memory: readonly number[]) => ({
  availableBytes,
  beside: [],
  sizes: memory.map((memoryMb, index) => ({ agentId: `a${index}`, memoryMb })),
})

test('without sizes there is nothing to report', () => {
  expect(sizeFindings(sizes())).toEqual([])
})

test.each([
  { memory: [2048, 2048], level: 'ok', words: 'need 4096 MB together (a0 2048 MB, a1 2048 MB)' },
  { memory: [2048, 2049], level: 'warning', words: 'their runs wait for each other' },
  { memory: [5000], level: 'warning', words: 'a0 can never start' },
])('the finding about sizes of $memory MB is $level', ({ memory, level, words }) => {
  const [finding] = sizeFindings(sizes(...memory))
  expect(finding).toMatchObject({ id: 'agent-sizes', level, detail: expect.stringContaining(words) })
})

test('a build of an image and browsers count, and are named', () => {
  const beside = [
    { name: 'a build of an image', memoryMb: 2048 },
    { name: 'the browser of a0', memoryMb: 2048 },
  ]
  const [finding] = sizeFindings({ ...sizes(1024), beside })
  expect(finding).toMatchObject({
    level: 'warning',
    detail: expect.stringContaining(
      'agents with a size of their own, and what may run beside them, need 5120 MB together (a0 1024 MB, a build of an image 2048 MB, the browser of a0 2048 MB)',
    ),
  })
  expect(sizeFindings({ ...sizes(), beside })).toEqual([])
})
