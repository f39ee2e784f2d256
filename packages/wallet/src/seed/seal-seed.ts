import { createCipheriv, createDecipheriv, hkdfSync, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { walletMakings } from '@flotilla/protocol/wallet-api'
import * as z from 'zod'

/**
 * The seed as stored on disk. The seed opens only with the key in the file beside it, together with the
 * passphrase if it has one. The clear fields are authenticated, so that a change of any of them is detected.
 */
export const sealedSeedSchema = z.strictObject({
  version: z.literal(1),
  /** The EVM address at index 0, which is public and identifies the seed. */
  owner_address: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
  made: z.enum(walletMakings),
  made_at: z.number().int(),
  /** The parameters of scrypt; null for a seed without a passphrase. */
  scrypt: z
    .strictObject({ salt: z.base64url().length(22), n: z.literal(131_072), r: z.literal(8), p: z.literal(1) })
    .nullable(),
  nonce: z.base64url().length(16),
  box: z.base64url().length(107),
})
export type SealedSeed = z.infer<typeof sealedSeedSchema>
export type SeedHeader = Pick<SealedSeed, 'owner_address' | 'made' | 'made_at'>

/** BIP-39: PBKDF2 with HMAC-SHA512, 2048 rounds, over the words. */
const seedBytes = 64
export const sealKeyBytes = 32
const tagBytes = 16
const cipher = 'aes-256-gcm'
const label = 'flotilla wallet seed 1'
/** The cost of scrypt: each guess of a passphrase takes 128 MB and about 0.4 s. */
const cost = { n: 131_072, r: 8, p: 1 } as const
/** The maximum memory of the key derivation from the passphrase, in bytes. */
const scryptMaxBytes = 256 * 1024 * 1024

const derive = promisify<
  string,
  Uint8Array,
  number,
  { N: number; r: number; p: number; maxmem: number },
  Buffer
>(scrypt)

export async function sealSeed(
  seed: Uint8Array,
  header: SeedHeader,
  under: {
    readonly key: Uint8Array
    readonly passphrase: string | null
    readonly randomBytes: (count: number) => Buffer
  },
): Promise<SealedSeed> {
  const salt = under.passphrase === null ? null : under.randomBytes(16).toString('base64url')
  const nonce = under.randomBytes(12)
  const clear = {
    version: 1,
    ...header,
    scrypt: salt === null ? null : { salt, ...cost },
    nonce: nonce.toString('base64url'),
  } as const
  const key = await boxKey(under.key, clear.scrypt, under.passphrase)
  const box = createCipheriv(cipher, key, nonce).setAAD(boundText(clear))
  const sealed = Buffer.concat([box.update(seed), box.final(), box.getAuthTag()])
  key.fill(0)
  return { ...clear, box: sealed.toString('base64url') }
}

/** Opens a sealed seed. Null if key or passphrase is wrong or a field was changed. The caller wipes the result. */
export async function openSeed(
  sealed: SealedSeed,
  under: { readonly key: Uint8Array; readonly passphrase: string | null },
): Promise<Buffer | null> {
  if ((sealed.scrypt === null) !== (under.passphrase === null)) return null
  const key = await boxKey(under.key, sealed.scrypt, under.passphrase)
  const bytes = Buffer.from(sealed.box, 'base64url')
  try {
    const box = createDecipheriv(cipher, key, Buffer.from(sealed.nonce, 'base64url'), {
      authTagLength: tagBytes,
    })
      .setAAD(boundText(sealed))
      .setAuthTag(bytes.subarray(seedBytes))
    return Buffer.concat([box.update(bytes.subarray(0, seedBytes)), box.final()])
  } catch {
    return null
  } finally {
    key.fill(0)
  }
}

async function boxKey(key: Uint8Array, by: SealedSeed['scrypt'], passphrase: string | null): Promise<Buffer> {
  const stretched =
    by === null || passphrase === null
      ? Buffer.alloc(0)
      : await derive(passphrase.normalize('NFKC'), Buffer.from(by.salt, 'base64url'), 32, {
          N: by.n,
          r: by.r,
          p: by.p,
          maxmem: scryptMaxBytes,
        })
  const both = Buffer.concat([key, stretched])
  try {
    return Buffer.from(hkdfSync('sha256', both, Buffer.alloc(0), label, 32))
  } finally {
    both.fill(0)
    stretched.fill(0)
  }
}

function boundText({
  version,
  owner_address,
  made,
  made_at,
  scrypt: by,
}: Omit<SealedSeed, 'box' | 'nonce'>): Buffer {
  return Buffer.from(JSON.stringify([version, owner_address, made, made_at, by?.salt, by?.n, by?.r, by?.p]))
}
