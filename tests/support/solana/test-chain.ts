import { base58 } from '@scure/base'
import {
  readTokenAccount,
  token2022Program,
  tokenProgram,
} from '../../../packages/wallet/src/solana/token-layout.ts'
import { createSvm } from './svm.ts'
import type { Svm, SvmAccount } from './svm.ts'
import { stillLands } from './svm-failures.ts'

/** Number of blocks for which a blockhash is valid. */
const hashLifeBlocks = 150
/** Number of further blocks after which a transaction is confirmed, and finalized. */
export const votes = { confirmed: 2, finalized: 32 } as const

export interface Landed {
  readonly slot: number
  readonly err: unknown
  /** Addresses in base 58, signers first, beginning with the fee payer. */
  readonly accounts: readonly string[]
  readonly signers: number
  /** State of each of the accounts before the transaction. */
  readonly before: readonly (SvmAccount | null)[]
  readonly after: readonly (SvmAccount | null)[]
  /** The fee: what all accounts together have lost. */
  readonly fee: bigint
}

/**
 * Blocks around the virtual machine, which has none: each has a blockhash, transactions land in the newest one, and
 * later blocks confirm earlier ones. Time passes only through `advance`.
 */
export interface TestChain {
  readonly svm: Svm
  readonly slot: () => number
  readonly height: () => number
  readonly newestHash: () => { readonly hash: string; readonly lastHeight: number }
  advance(blocks: number): void
  /** Accepts a signed transaction as a validator does; null if it is dropped without a trace. */
  land(wire: Uint8Array): Landed | null
  /** Simulates a transaction; an invalid blockhash is reported before any other error. */
  simulate(wire: Uint8Array): ReturnType<Svm['simulate']>
  landed(signature: string): Landed | null
  /** Signatures of transactions that involve an address, newest first. */
  withPartOf(address: string): readonly string[]
  /** A function that moves further funds within the next transaction that lands. */
  alsoMoves: ((signature: string) => void) | null
  /** The oldest slot whose transactions are stored. */
  oldestSlot: number
}

/** Block heights are lower than slots, because some slots had no block. */
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
    const bornAt = hashes.get(partsOf(wire).blockhash)
    return bornAt !== undefined && height <= bornAt + hashLifeBlocks
  }

  const chain: TestChain = {
    svm,
    alsoMoves: null,
    withPartOf: (address) =>
      [...landed]
        .flatMap(([signature, { accounts }]) => (accounts.includes(address) ? [signature] : []))
        .toReversed(),
    oldestSlot: skippedSlots,
    slot: () => height + skippedSlots,
    height: () => height,
    newestHash: () => ({ hash: svm.newestBlockhash(), lastHeight: height + hashLifeBlocks }),
    advance,
    land(wire) {
      if (!isHashTaken(wire)) return null
      const { accounts, signers } = partsOf(wire)
      const now = () => accounts.map((one) => svm.account(base58.decode(one)))
      const before = now()
      const { err } = svm.send(wire)
      if (err !== null && !stillLands(err)) return null
      const fee = coinsOf(before) - coinsOf(now())
      chain.alsoMoves?.(signatureOf(wire))
      chain.alsoMoves = null
      const done = { slot: chain.slot(), err, accounts, signers, before, after: now(), fee }
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

/** Returns the first signature, by which the chain names a transaction. */
export function signatureOf(wire: Uint8Array): string {
  return base58.encode(wire.subarray(1, 65))
}

/** Returns the message's accounts, its number of signers, and its blockhash. */
function partsOf(wire: Uint8Array) {
  const [signatures = 0] = wire
  const message = wire.subarray(1 + signatures * 64)
  const isVersioned = ((message[0] ?? 0) & 0x80) !== 0
  const head = isVersioned ? 4 : 3
  const count = message[head] ?? 0
  const key = (at: number): string => {
    const from = head + 1 + at * 32
    return base58.encode(message.subarray(from, from + 32))
  }
  return {
    accounts: Array.from({ length: count }, (_, at) => key(at)),
    signers: message[isVersioned ? 1 : 0] ?? 0,
    blockhash: key(count),
  }
}

function coinsOf(accounts: readonly (SvmAccount | null)[]): bigint {
  return accounts.reduce((sum, account) => sum + (account?.lamports ?? 0n), 0n)
}

/** Returns token balances as the chain records them. */
export function holdingsOf(accounts: readonly (SvmAccount | null)[]) {
  const programs = [tokenProgram, token2022Program]
  return accounts.flatMap((account, accountIndex) => {
    const isToken = account !== null && programs.includes(base58.encode(account.owner))
    const held = isToken ? readTokenAccount(account.data) : null
    return held === null
      ? []
      : [{ accountIndex, mint: held.mint, owner: held.owner, uiTokenAmount: { amount: String(held.raw) } }]
  })
}

/** Returns an account that holds coins only. */
export function coinAccount(lamports: bigint): SvmAccount {
  return { lamports, data: Buffer.alloc(0), owner: new Uint8Array(32), executable: false }
}
