import { createRequire } from 'node:module'
import { failureName } from './svm-failures.ts'
import type { NativeFailure } from './svm-failures.ts'

/** The used part of litesvm's native module, the virtual machine of Solana in this process. */
interface NativeSvm {
  setSigverify(on: boolean): void
  setBlockhashCheck(on: boolean): void
  minimumBalanceForRentExemption(bytes: bigint): bigint
  getAccount(address: Uint8Array): NativeAccount | null
  airdrop(address: Uint8Array, lamports: bigint): unknown
  latestBlockhash(): string
  expireBlockhash(): void
  warpToSlot(slot: bigint): void
  getClock(): NativeClock
  setClock(clock: NativeClock): void
  setAccount(address: Uint8Array, account: NativeAccount): void
  sendLegacyTransaction(wire: Uint8Array): NativeOutcome
  sendVersionedTransaction(wire: Uint8Array): NativeOutcome
  simulateLegacyTransaction(wire: Uint8Array): NativeSimulation
  simulateVersionedTransaction(wire: Uint8Array): NativeSimulation
}

interface NativeClock {
  slot: bigint
  epoch: bigint
}

interface NativeAccount {
  lamports(): bigint
  data(): Uint8Array
  owner(): Uint8Array
  executable(): boolean
}

interface NativeMetadata {
  logs(): string[]
  computeUnitsConsumed(): bigint
}

type NativeOutcome = NativeMetadata | (NativeFailure & { meta(): NativeMetadata })
type NativeSimulation =
  | {
      meta(): NativeMetadata
      postAccounts(): { address: Uint8Array; account(): NativeAccount }[]
    }
  | (NativeFailure & { meta(): NativeMetadata })

interface Native {
  readonly LiteSvm: new () => NativeSvm
  readonly Account: new (
    lamports: bigint,
    data: Uint8Array,
    owner: Uint8Array,
    executable: boolean,
    rentEpoch: bigint,
  ) => NativeAccount
}

export interface SvmAccount {
  readonly lamports: bigint
  readonly data: Buffer
  readonly owner: Uint8Array
  readonly executable: boolean
}

export interface SvmOutcome {
  /** The error as JSON-RPC names it; null for success. */
  readonly err: unknown
  readonly logs: readonly string[]
  readonly units: bigint
}

export interface Svm {
  account(address: Uint8Array): SvmAccount | null
  put(address: Uint8Array, account: SvmAccount): void
  airdrop(address: Uint8Array, lamports: bigint): void
  rentExemption(bytes: number): bigint
  newestBlockhash(): string
  /** Adds one block, with a new hash. */
  nextBlock(slot: bigint): void
  epoch(): bigint
  setEpoch(epoch: bigint): void
  send(wire: Uint8Array): SvmOutcome
  simulate(wire: Uint8Array): SvmOutcome & { after(address: Uint8Array): SvmAccount | null }
}

/** Null if there is no build for this processor. */
export const nativeSvm = findNative()

function findNative(): Native | null {
  try {
    return createRequire(import.meta.url)(`litesvm-linux-${process.arch}-gnu`) as Native
  } catch {
    return null
  }
}

/** A virtual machine with the chain's own programs; the caller checks blockhashes. */
export function createSvm(): Svm {
  if (nativeSvm === null) throw new Error('there is no litesvm here')
  const { LiteSvm, Account } = nativeSvm
  const svm = new LiteSvm()
  svm.setBlockhashCheck(false)

  function simulate(wire: Uint8Array): NativeSimulation {
    svm.setSigverify(false)
    try {
      return isVersioned(wire) ? svm.simulateVersionedTransaction(wire) : svm.simulateLegacyTransaction(wire)
    } finally {
      svm.setSigverify(true)
    }
  }

  return {
    account: (address) => plainAccount(svm.getAccount(address)),
    put: (address, { lamports, data, owner, executable }) =>
      svm.setAccount(address, new Account(lamports, data, owner, executable, 0n)),
    airdrop: (address, lamports) => void svm.airdrop(address, lamports),
    rentExemption: (bytes) => svm.minimumBalanceForRentExemption(BigInt(bytes)),
    newestBlockhash: () => svm.latestBlockhash(),
    nextBlock(slot) {
      svm.expireBlockhash()
      svm.warpToSlot(slot)
    },
    epoch: () => svm.getClock().epoch,
    setEpoch(epoch) {
      const clock = svm.getClock()
      clock.epoch = epoch
      svm.setClock(clock)
    },
    send: (wire) =>
      outcomeOf(isVersioned(wire) ? svm.sendVersionedTransaction(wire) : svm.sendLegacyTransaction(wire)),
    simulate(wire) {
      const said = simulate(wire)
      const changed = 'postAccounts' in said ? said.postAccounts() : []
      return {
        ...outcomeOf(said),
        after: (address) => {
          const found = changed.find((one) => Buffer.from(one.address).equals(address))
          return plainAccount(found === undefined ? svm.getAccount(address) : found.account())
        },
      }
    },
  }
}

function outcomeOf(said: NativeOutcome | NativeSimulation): SvmOutcome {
  const meta = 'meta' in said ? said.meta() : said
  return {
    err: 'err' in said ? failureName(said) : null,
    logs: meta.logs(),
    units: meta.computeUnitsConsumed(),
  }
}

function plainAccount(account: NativeAccount | null): SvmAccount | null {
  if (account === null || account.lamports() === 0n) return null
  return {
    lamports: account.lamports(),
    data: Buffer.from(account.data()),
    owner: account.owner(),
    executable: account.executable(),
  }
}

/** After the signatures, a message begins with its version, or with the number of its signers. */
function isVersioned(wire: Uint8Array): boolean {
  const [signatures = 0] = wire
  return ((wire[1 + signatures * 64] ?? 0) & 0x80) !== 0
}
