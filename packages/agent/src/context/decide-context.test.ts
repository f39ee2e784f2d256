import { expect, test } from 'vitest'
import { decideContext } from './decide-context.ts'

test.each([
  [0.59, false, true, 'none'],
  [0.6, false, true, 'flush'],
  [0.65, true, true, 'none'],
  [0.7, false, true, 'compact'],
  [0.7, true, true, 'compact'],
  [0.75, false, false, 'flush'],
  [0.85, true, false, 'none'],
  [0.9, true, false, 'prune'],
  [1.5, true, true, 'compact'],
] as const)('at %d of the window, flushed %s, with groups to cut %s: %s', (...row) => {
  const [share, flushed, canCut, step] = row
  const standing = { tokens: share * 1000, windowTokens: 1000, flushed, canClear: false, canCut }
  expect(decideContext(standing)).toBe(step)
})

test.each([
  [0.69, 'none'],
  [0.7, 'clear'],
  [1.5, 'clear'],
] as const)('at %d of the window, with old results to cut: %s', (share, step) => {
  const standing = { tokens: share * 1000, windowTokens: 1000, flushed: true, canClear: true, canCut: true }
  expect(decideContext(standing)).toBe(step)
})
