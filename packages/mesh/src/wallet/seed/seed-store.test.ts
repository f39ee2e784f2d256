import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { evmKey } from './derive-keys.ts'
import { seedOf } from './make-seed.ts'
import { createSeedStore } from './seed-store.ts'

const junk = `${'test '.repeat(11)}junk`

test('a key is lent while it is used, and overwritten whatever came of that', async () => {
  const seed = createSeedStore({
    files: { read: async () => ({ kind: 'none' }), write: async () => {} },
    now: () => 0,
    randomBytes,
  })
  await seed.put({ words: junk, made: 'imported', passphrase: null }, () => {})
  const expected = Buffer.from(evmKey(await seedOf(junk), 1)).toString('hex')
  const lent: Uint8Array[] = []
  const shown = seed.opened().withEvmKey(1, (key) => {
    lent.push(key)
    return Buffer.from(key).toString('hex')
  })
  expect(shown).toBe(expected)
  const broken = (key: Uint8Array): never => {
    lent.push(key)
    throw new Error('it could not be used')
  }
  expect(() => seed.opened().withEvmKey(1, broken)).toThrow('it could not be used')
  expect(lent).toHaveLength(2)
  for (const key of lent) expect(key.every((byte) => byte === 0)).toBe(true)
  seed.close()
  expect(() => seed.opened()).toThrow(expect.objectContaining({ code: 'no-wallet' }))
})
