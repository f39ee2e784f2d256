import { randomBytes } from 'node:crypto'
import { HDKey } from '@scure/bip32'
import { expect, onTestFinished, test, vi } from 'vitest'
import { evmKey, solanaKey } from './derive-keys.ts'
import { seedOf } from './make-seed.ts'
import type { SeedFiles } from './seed-files.ts'
import { createSeedStore } from './seed-store.ts'

const junk = `${'test '.repeat(11)}junk`
const given = { words: junk, made: 'imported', passphrase: null } as const

/** A store with files in memory, of which the key was written first. */
function aStore() {
  const keys: string[] = []
  let found: Awaited<ReturnType<SeedFiles['read']>> = { kind: 'none' }
  const files: SeedFiles = {
    read: async () => found,
    stage: async (sealed, key) => ({
      place: async () => {
        keys.unshift(Buffer.from(key).toString('hex'))
        found = { kind: 'sealed', sealed, key: Buffer.from(key) }
      },
      discard: async () => {},
    }),
    removeSeed: async () => void (found = { kind: 'none' }),
  }
  const create = () => createSeedStore({ files, now: () => 7, randomBytes })
  return { keys, create, seed: create() }
}

test('a store that is not loaded has no wallet, and nothing unlocks it', async () => {
  const { seed } = aStore()
  expect([seed.state(), seed.fault(), seed.header(), seed.hasPassphrase()]).toEqual([
    'none',
    null,
    null,
    false,
  ])
  expect(await seed.unlock('')).toBe(false)
  expect(() => seed.opened()).toThrow(expect.objectContaining({ code: 'no-wallet' }))
})

test('an open seed is overwritten when it is closed or replaced', async () => {
  const { seed } = aStore()
  const made = vi.spyOn(HDKey, 'fromMasterSeed')
  onTestFinished(() => made.mockRestore())
  const seeds = () => [...new Set(made.mock.calls.map(([bytes]) => bytes))].map((one) => one.some(Boolean))
  await seed.put(given, () => {})
  expect(seeds()).toEqual([true])
  await seed.put(given, () => {})
  expect(seeds()).toEqual([false, true])
  const refuses = () => {
    throw new Error('not this one')
  }
  await expect(seed.put(given, refuses)).rejects.toThrow('not this one')
  expect(seeds()).toEqual([false, true, false])
  expect(seed.state()).toBe('open')
  seed.close()
  expect(seeds()).toEqual([false, false, false])
  expect(seed.state()).toBe('none')
})

test('the sealing key of a seed stays the same with any passphrase, and another seed gets another', async () => {
  const { keys, seed } = aStore()
  await seed.put(given, () => {})
  await seed.put({ ...given, passphrase: 'a horse' }, () => {})
  expect(seed.hasPassphrase()).toBe(true)
  expect(keys[0]).toBe(keys[1])
  await seed.put({ ...given, words: `${'abandon '.repeat(11)}about` }, () => {})
  expect(keys[0]).not.toBe(keys[1])
  expect(seed.hasPassphrase()).toBe(false)
})

test('only its passphrase unlocks a seed, also in a home whose rows do not know it', async () => {
  const { create, seed } = aStore()
  await seed.put({ ...given, passphrase: 'a horse' }, () => {})
  const next = create()
  await next.load(null)
  expect([next.state(), next.fault(), next.hasPassphrase()]).toEqual(['locked', null, true])
  expect(await next.unlock('another')).toBe(false)
  expect(await next.unlock('a horse')).toBe(true)
  expect([next.state(), next.fault(), next.hasPassphrase()]).toEqual(['open', null, true])
  // The seed is open; another passphrase does not close it.
  expect(await next.unlock('another')).toBe(true)
  expect(next.header()).toMatchObject({ made: 'imported', made_at: 7 })
})

test('a key is overwritten after its use, whatever the result', async () => {
  const { seed } = aStore()
  await seed.put(given, () => {})
  const expected = Buffer.from(evmKey(await seedOf(junk), 1)).toString('hex')
  const lent: Uint8Array[] = []
  const shown = seed.opened().withEvmKey(1, (key) => {
    lent.push(key)
    return Buffer.from(key).toString('hex')
  })
  expect(shown).toBe(expected)
  const ofSolana = seed.opened().withSolanaKey(1, 'slip-10', (key) => Buffer.from(key).toString('hex'))
  expect(ofSolana).toBe(Buffer.from(solanaKey(await seedOf(junk), 1, 'slip-10')).toString('hex'))
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
