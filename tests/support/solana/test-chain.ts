import { base58 } from '@scure/base'
import { createSvm } from './svm.ts'
import type { Svm, SvmAccount } from './svm.ts'
import { stillLands } from './svm-failures.ts'

/** Blocks for which a blockhash is taken. */
const hashLifeBlocks = 150
/** After so many further blocks a transaction is confirmed, and then final. */
export const votes = { confirmed: 2, finalized: 32 } as const

export interface Landed {
  readonly slot: number
  readonly err: unknown
}

/**
 * Blocks of a chain around the virtual machine, which has none: a blockhash each, transactions that land in the newest one,
 * and votes as blocks come after it. Time goes on by `advance` alone.
 */
export interface TestChain {
  readonly svm: Svm
  readonly slot: () => number
  readonly height: () => number
  readonly newestHash: () => { readonly hash: string; readonly lastHeight: number }
  advance(blocks: number): void
  /** Takes in a signed transaction as a validator does; null where it is dropped without a trace. */
  land(wire: Uint8Array): Landed | null
  /** What would become of it; the error of a blockhash that is not taken comes before all others. */
  simulate(wire: Uint8Array): ReturnType<Svm['simulate']>
  landed(signature: string): Landed | null
  /** The oldest slot whose transactions are remembered. */
  oldestSlot: number
}

/** The heights are behind the slots: some had no block. */
const skippedSlots = 1_000

export function createTestChain(): TestChain {
  const svm = createSvm()
  const hashes = new Map<string, number>()
  const landed = new Map<string, Landed>()
  let height = 0

  function advance(blocks: number): void {
    for (let block = 0; block < blocks; block += 1) {
      height += 1
      svm.nextBlock(BigInt(height + skippedSlots))
      hashes.set(svm.newestBlockhash(), height)
    }
  }

  function isHashTaken(wire: Uint8Array): boolean {
    const bornAt = hashes.get(blockhashOf(wire))
    return bornAt !== undefined && height <= bornAt + hashLifeBlocks
  }

  const chain: TestChain = {
    svm,
    oldestSlot: skippedSlots,
    slot: () => height + skippedSlots,
    height: () => height,
    newestHash: () => ({ hash: svm.newestBlockhash(), lastHeight: height + hashLifeBlocks }),
    advance,
    land(wire) {
      if (!isHashTaken(wire)) return null
      const { err } = svm.send(wire)
      if (err !== null && !stillLands(err)) return null
      const done = { slot: chain.slot(), err }
      landed.set(signatureOf(wire), done)
      return done
    },
    simulate(wire) {
      const said = svm.simulate(wire)
      return isHashTaken(wire) ? said : { ...said, err: 'BlockhashNotFound' }
    },
    landed: (signature) => {
      const found = landed.get(signature)
      return found !== undefined && found.slot >= chain.oldestSlot ? found : null
    },
  }
  advance(hashLifeBlocks + votes.finalized)
  return chain
}

/** The first one, by which the chain names a transaction. */
export function signatureOf(wire: Uint8Array): string {
  return base58.encode(wire.subarray(1, 65))
}

function blockhashOf(wire: Uint8Array): string {
  const [signatures = 0] = wire
  const message = wire.subarray(1 + signatures * 64)
  const head = ((message[0] ?? 0) & 0x80) === 0 ? 3 : 4
  const from = head + 1 + (message[head] ?? 0) * 32
  return base58.encode(message.subarray(from, from + 32))
}

/** An account that holds nothing but coins. */
export function coinAccount(lamports: bigint): SvmAccount {
  return { lamports, data: Buffer.alloc(0), owner: new Uint8Array(32), executable: false }
}
