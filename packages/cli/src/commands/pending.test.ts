import { expect, test } from 'vitest'
import { stateWords } from './pending.ts'

test.each([
  ['done', 'human:cli', 'done by human:cli'],
  ['expired', 'human:cli', 'confirmed by human:cli, then expired'],
  ['expired', 'system', 'expired'],
  ['pending', null, 'pending'],
] as const)('an approval that is %s by %s is shown as such', (state, by, words) => {
  expect(stateWords({ state, resolved_by: by })).toBe(words)
})
