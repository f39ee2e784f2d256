import { Problem } from '@flotilla/protocol/problem'
import type { WalletState } from '@flotilla/protocol/wallet-api'
import type { SolanaDerivation } from './derive-keys.ts'
import type { FoundSeed, SeedFiles } from './seed-files.ts'
import type { SeedHeader } from './seal-seed.ts'

/** Public addresses of an open seed and access to its keys; no key outlives its use. */
export interface OpenSeed {
  evmAddress(index: number): string
  /** Synchronous only: the key is overwritten when `use` returns. */
  withEvmKey<T>(index: number, use: (key: Uint8Array) => T): T
  solanaAddress(index: number, derivation: SolanaDerivation): string
  withSolanaKey<T>(index: number, derivation: SolanaDerivation, use: (key: Uint8Array) => T): T
}

type HeldSeed =
  | { readonly kind: 'none' }
  | { readonly kind: 'lost'; readonly fault: string }
  | { readonly kind: 'locked'; readonly found: SealedFound }
  | { readonly kind: 'open'; readonly found: SealedFound; readonly seed: Buffer }
type SealedFound = Extract<FoundSeed, { kind: 'sealed' }>

export interface GivenSeed {
  readonly words: string
  readonly made: SeedHeader['made']
  readonly passphrase: string | null
}

export interface SeedStore {
  state(): WalletState
  fault(): string | null
  header(): SeedHeader | null
  hasPassphrase(): boolean
  /** Loads the files; `expected` is the owner's address in the rows, null if they have none. */
  load(expected: string | null): Promise<void>
  /** Opens the seed. Resolves with false if the passphrase is wrong. */
  unlock(passphrase: string): Promise<boolean>
  /**
   * Seals the seed of these words and keeps it open. `accept` is called when both files are on the
   * disk and before they replace the current files; if `accept` throws, the current seed is kept.
   */
  put(given: GivenSeed, accept: (ownerAddress: string) => void): Promise<void>
  /** Deletes a seed whose words no person has seen, after `put`. */
  discard(): Promise<void>
  /** Returns the open seed. Throws the Problems `no-wallet`, `wallet-locked`, and `conflict` for a lost seed. */
  opened(): OpenSeed
  close(): void
}

/**
 * The seed in the memory of this process, and nowhere else in clear.
 *
 * 1. The words are not stored: the sealed seed is derived from them and cannot be reversed.
 *
 * 2. Files are on disk before a seed is returned or used.
 *
 * 3. A seed is overwritten when it is released.
 */
export function createSeedStore(deps: {
  readonly files: SeedFiles
  readonly now: () => number
  readonly randomBytes: (count: number) => Buffer
}): SeedStore {
  const { files } = deps
  let held: HeldSeed = { kind: 'none' }
  /** Loaded with the first seed, so that a mesh without a seed does not load the crypto libraries. */
  let keys: typeof import('./derive-keys.ts') | null = null

  function hold(next: HeldSeed): void {
    if (held.kind === 'open') held.seed.fill(0)
    held = next
  }

  async function openWith(found: SealedFound, passphrase: string | null): Promise<boolean> {
    const { openSeed } = await import('./seal-seed.ts')
    const seed = await openSeed(found.sealed, { key: found.key, passphrase })
    if (seed === null) return false
    keys ??= await import('./derive-keys.ts')
    hold({ kind: 'open', found, seed })
    return true
  }

  return {
    state: () => held.kind,
    fault: () => (held.kind === 'lost' ? held.fault : null),
    header: () => (held.kind === 'locked' || held.kind === 'open' ? held.found.sealed : null),
    hasPassphrase: () =>
      (held.kind === 'locked' || held.kind === 'open') && held.found.sealed.scrypt !== null,
    async load(expected) {
      const found = await files.read()
      if (found.kind === 'none') {
        hold(expected === null ? found : { kind: 'lost', fault: 'the files of the seed are missing' })
        return
      }
      // A key file without a seed file, in a home without a seed: the writing of a first seed was interrupted.
      if (found.kind === 'key-only' && expected === null) return hold({ kind: 'none' })
      if (found.kind !== 'sealed') return hold({ kind: 'lost', fault: found.fault })
      const { owner_address: address, scrypt } = found.sealed
      if (expected !== null && address !== expected) {
        return hold({
          kind: 'lost',
          fault: `the stored seed belongs to ${address}, but the wallet of this home has the seed of ${expected}`,
        })
      }
      if (scrypt !== null) return hold({ kind: 'locked', found })
      if (!(await openWith(found, null))) {
        hold({
          kind: 'lost',
          fault: 'the key does not decrypt the stored seed, or one of the two files was changed',
        })
      }
    },
    async unlock(passphrase) {
      if (held.kind === 'open') return true
      return held.kind === 'locked' && openWith(held.found, passphrase)
    },
    async put({ words: mnemonic, made, passphrase }, accept) {
      const [{ seedOf }, { sealSeed, sealKeyBytes }] = [
        await import('./make-seed.ts'),
        await import('./seal-seed.ts'),
      ]
      keys ??= await import('./derive-keys.ts')
      const seed = await seedOf(mnemonic)
      try {
        const ownerAddress = keys.evmAddress(seed, 0)
        const key = keyFor(ownerAddress, await files.read()) ?? deps.randomBytes(sealKeyBytes)
        const header = { owner_address: ownerAddress, made, made_at: deps.now() }
        const sealed = await sealSeed(seed, header, { key, passphrase, randomBytes: deps.randomBytes })
        const staged = await files.stage(sealed, key)
        try {
          accept(ownerAddress)
        } catch (error) {
          await staged.discard().catch(() => undefined)
          throw error
        }
        await staged.place()
        hold({ kind: 'open', found: { kind: 'sealed', sealed, key }, seed })
      } catch (error) {
        seed.fill(0)
        throw error
      }
    },
    async discard() {
      await files.removeSeed()
      hold({ kind: 'none' })
    },
    opened() {
      if (held.kind === 'none') throw new Problem('no-wallet')
      if (held.kind === 'locked') throw new Problem('wallet-locked')
      if (held.kind === 'lost') throw lost(held.fault)
      const { seed } = held
      const derive = keys
      if (derive === null) throw new Error('a seed is open and nothing derives of it')
      return {
        evmAddress: (index) => derive.evmAddress(seed, index),
        withEvmKey: (index, use) => usedOnce(derive.evmKey(seed, index), use),
        solanaAddress: (index, derivation) => derive.solanaAddress(seed, index, derivation),
        withSolanaKey: (index, derivation, use) => usedOnce(derive.solanaKey(seed, index, derivation), use),
      }
    },
    close: () => hold({ kind: 'none' }),
  }
}

/**
 * Returns the key to reuse: the key of the same seed, so that the two files fit together whichever is older,
 * or a key without a seed, because the owner may store the seed elsewhere. Null if a new key is needed.
 */
function keyFor(ownerAddress: string, before: FoundSeed): Buffer | null {
  if (before.kind === 'key-only') return before.key
  return before.kind === 'sealed' && before.sealed.owner_address === ownerAddress ? before.key : null
}

function usedOnce<T>(key: Uint8Array, use: (key: Uint8Array) => T): T {
  try {
    return use(key)
  } finally {
    key.fill(0)
  }
}

/** Returns the problem for a seed that existed and cannot be read. */
export function lost(fault: string): Problem {
  return new Problem('conflict', {
    detail: `the seed of the wallet cannot be read: ${fault}`,
    repair:
      'Restore data/wallet-seed and data/wallet-key from a backup and restart the mesh, or import the words of the seed with flotilla wallet import.',
  })
}
