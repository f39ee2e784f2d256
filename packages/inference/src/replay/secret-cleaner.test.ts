import { expect, test } from 'vitest'
import { createSecret } from '../../../egress/src/credentials/secret.ts'
import { inOneGo } from '../../../egress/src/credentials/index.ts'
import { createSecretCleaner } from './secret-cleaner.ts'

test('what cleans is the same function until another value is held, and knows that one from then on', () => {
  const held = new Map([['first', createSecret('first', 'a-first-long-secret')]])
  const cleaner = createSecretCleaner({
    names: () => ({ system: [...held.keys()], agent: [] }),
    system: (name) => held.get(name),
    agentTier: () => undefined,
  })
  const before = cleaner()
  expect(cleaner()).toBe(before)
  expect(inOneGo(before('say a-first-long-secret'))).not.toContain('a-first-long-secret')

  held.set('second', createSecret('second', 'a-second-long-secret'))
  const after = cleaner()
  expect(after).not.toBe(before)
  expect(inOneGo(after('say a-second-long-secret'))).not.toContain('a-second-long-secret')
})
