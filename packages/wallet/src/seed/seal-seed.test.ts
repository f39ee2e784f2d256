import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openSeed, sealedSeedSchema, sealSeed } from './seal-seed.ts'
import type { SealedSeed } from './seal-seed.ts'

const seed = Buffer.alloc(64, 5)
const key = Buffer.alloc(32, 9)
const header = { owner_address: `0x${'a'.repeat(40)}`, made: 'generated', made_at: 1000 } as const

const seal = (passphrase: string | null) => sealSeed(seed, header, { key, passphrase, randomBytes })

/** A text of the same length with another value. */
function turned(text: string): string {
  return `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`
}

test('only its own key opens a seed that was sealed without a passphrase', async () => {
  const sealed = await seal(null)
  expect(sealedSeedSchema.parse(JSON.parse(JSON.stringify(sealed)))).toEqual(sealed)
  expect(await openSeed(sealed, { key, passphrase: null })).toEqual(seed)
  expect(await openSeed(sealed, { key: Buffer.alloc(32, 8), passphrase: null })).toBeNull()
  expect(await openSeed(sealed, { key, passphrase: 'whatever it may be' })).toBeNull()
})

test('a seed with a passphrase needs key and passphrase, in any Unicode composition', async () => {
  const sealed = await seal('caf\u00e9 au lait')
  expect(await openSeed(sealed, { key, passphrase: 'cafe\u0301 au lait' })).toEqual(seed)
  expect(await openSeed(sealed, { key, passphrase: null })).toBeNull()
})

test('a change of any field of a sealed seed is detected', async () => {
  const sealed = await seal(null)
  const changes: readonly Partial<SealedSeed>[] = [
    { owner_address: `0x${'b'.repeat(40)}` },
    { made: 'imported' },
    { made_at: 1001 },
    { nonce: turned(sealed.nonce) },
    { box: turned(sealed.box) },
    { box: `${sealed.box.slice(0, 90)}${turned(sealed.box.slice(90))}` },
  ]
  for (const change of changes) {
    expect(
      await openSeed({ ...sealed, ...change }, { key, passphrase: null }),
      Object.keys(change)[0],
    ).toBeNull()
  }
})

test('two seals of one seed have nothing in common', async () => {
  const [one, other] = [await seal(null), await seal(null)]
  expect(one.nonce).not.toBe(other.nonce)
  expect(one.box.slice(0, 20)).not.toBe(other.box.slice(0, 20))
})

test('a seed file with other scrypt costs than the mesh writes is rejected', async () => {
  const sealed = await seal(null)
  const costly = { ...sealed, scrypt: { salt: 'A'.repeat(22), n: 2 ** 24, r: 8, p: 1 } }
  expect(sealedSeedSchema.safeParse(costly).success).toBe(false)
})
