import { base58 } from '@scure/base'
import { holdingsOf, signatureOf, votes } from './test-chain.ts'
import type { TestChain } from './test-chain.ts'
import type { SvmAccount } from './svm.ts'

export class RpcRefusal extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

type Params = readonly unknown[]
export type RpcMethods = Readonly<Record<string, (params: Params) => unknown>>

interface Options {
  readonly commitment?: string
  readonly dataSlice?: { readonly offset: number; readonly length: number }
  readonly accounts?: { readonly addresses: readonly string[] }
  readonly sigVerify?: boolean
  readonly skipPreflight?: boolean
  readonly replaceRecentBlockhash?: boolean
  readonly minContextSlot?: number
  readonly limit?: number
  readonly until?: string
  readonly before?: string
}

/** The part of Solana's JSON-RPC that wallets use, in its documented format. 64-bit integers are bigints. */
export function rpcMethods(chain: TestChain, genesis: string): RpcMethods {
  const { svm } = chain
  const behind = ({ commitment = 'finalized' }: Options): number =>
    commitment === 'processed' ? 0 : commitment === 'confirmed' ? votes.confirmed : votes.finalized
  const now = <T>(value: T) => ({ context: { slot: chain.slot(), apiVersion: '2.3.0' }, value })
  const account = (text: unknown, { dataSlice }: Options) => shown(svm.account(bytesOf(text)), dataSlice)

  function simulate(wire: Uint8Array, options: Options) {
    const { err, logs, units, after } = chain.simulate(wire)
    return now({
      err,
      logs,
      unitsConsumed: units,
      accounts: options.accounts?.addresses.map((one) => shown(after(bytesOf(one)))) ?? null,
    })
  }

  return {
    getGenesisHash: () => genesis,
    getVersion: () => ({ 'solana-core': '2.3.0', 'feature-set': 0 }),
    getHealth: () => 'ok',
    getSlot: ([options]) => chain.slot() - behind(optionsOf(options)),
    getBlockHeight: ([options]) => chain.height() - behind(optionsOf(options)),
    getEpochInfo: ([options]) => ({
      absoluteSlot: chain.slot() - behind(optionsOf(options)),
      blockHeight: chain.height() - behind(optionsOf(options)),
      epoch: svm.epoch(),
      slotIndex: 0,
      slotsInEpoch: 432_000,
      transactionCount: null,
    }),
    getFirstAvailableBlock: () => chain.oldestSlot,
    getBlock: ([slot]) => ({
      blockHeight: Number(slot) - (chain.slot() - chain.height()),
      blockTime: null,
      blockhash: base58.encode(new Uint8Array(32)),
      parentSlot: Number(slot) - 1,
      previousBlockhash: base58.encode(new Uint8Array(32)),
    }),
    getLatestBlockhash: () => {
      const { hash, lastHeight } = chain.newestHash()
      return now({ blockhash: hash, lastValidBlockHeight: lastHeight })
    },
    getMinimumBalanceForRentExemption: ([bytes]) => svm.rentExemption(Number(bytes)),
    getRecentPrioritizationFees: () =>
      [0n, 0n, 40n, 2_000n].map((prioritizationFee, at) => ({ slot: chain.slot() - at, prioritizationFee })),
    getBalance: ([address]) => now(svm.account(bytesOf(address))?.lamports ?? 0n),
    getAccountInfo: ([address, options]) => now(account(address, optionsOf(options))),
    getMultipleAccounts: ([addresses, options]) =>
      now((addresses as unknown[]).map((address) => account(address, optionsOf(options)))),
    requestAirdrop: ([address, lamports]) => {
      svm.airdrop(bytesOf(address), BigInt(String(lamports)))
      return base58.encode(new Uint8Array(64))
    },
    simulateTransaction: ([wire, options]) => {
      const asked = optionsOf(options)
      if ((asked.minContextSlot ?? 0) > chain.slot()) {
        throw new RpcRefusal(-32_016, 'Minimum context slot has not been reached')
      }
      if (asked.replaceRecentBlockhash === true || asked.sigVerify === true) {
        throw new RpcRefusal(-32_602, 'not built here')
      }
      return simulate(Buffer.from(String(wire), 'base64'), asked)
    },
    sendTransaction: ([text, options]) => {
      const wire = Buffer.from(String(text), 'base64')
      if (optionsOf(options).skipPreflight !== true) {
        const { value } = simulate(wire, {})
        if (value.err !== null) {
          throw new RpcRefusal(-32_002, `Transaction simulation failed: ${JSON.stringify(value.err)}`)
        }
      }
      chain.land(wire)
      return signatureOf(wire)
    },
    getSignaturesForAddress: ([address, options]) => {
      const { limit = 1000, until, before, ...commitment } = optionsOf(options)
      const stays = chain.slot() - behind(commitment)
      const all = chain.withPartOf(String(address))
      return all
        .slice(
          before === undefined ? 0 : all.indexOf(before) + 1,
          until === undefined || !all.includes(until) ? all.length : all.indexOf(until),
        )
        .flatMap((signature) => {
          const found = chain.landed(signature)
          return found === null || found.slot > stays
            ? []
            : [{ signature, slot: found.slot, err: found.err, memo: null, blockTime: null }]
        })
        .slice(0, limit)
    },
    getTransaction: ([signature, options]) => {
      const found = chain.landed(String(signature))
      if (found === null || found.slot > chain.slot() - behind(optionsOf(options))) return null
      const lamports = (accounts: typeof found.before) => accounts.map((one) => one?.lamports ?? 0n)
      const [paidFrom, paidTo] = [lamports(found.before), lamports(found.after)]
      return {
        slot: found.slot,
        blockTime: null,
        meta: {
          err: found.err,
          fee: found.fee,
          preBalances: paidFrom,
          postBalances: paidTo,
          preTokenBalances: holdingsOf(found.before),
          postTokenBalances: holdingsOf(found.after),
        },
        transaction: {
          signatures: [signature],
          message: {
            accountKeys: found.accounts,
            header: { numRequiredSignatures: found.signers },
          },
        },
      }
    },
    getSignatureStatuses: ([signatures]) =>
      now(
        (signatures as string[]).map((signature) => {
          const found = chain.landed(signature)
          if (found === null) return null
          const age = chain.slot() - found.slot
          return {
            slot: found.slot,
            confirmations: age >= votes.finalized ? null : age,
            err: found.err,
            status: found.err === null ? { Ok: null } : { Err: found.err },
            confirmationStatus:
              age >= votes.finalized ? 'finalized' : age >= votes.confirmed ? 'confirmed' : 'processed',
          }
        }),
      ),
  }
}

function shown(account: SvmAccount | null, slice?: { readonly offset: number; readonly length: number }) {
  if (account === null) return null
  const { data, lamports, owner, executable } = account
  const wanted = slice === undefined ? data : data.subarray(slice.offset, slice.offset + slice.length)
  return {
    data: [wanted.toString('base64'), 'base64'],
    executable,
    lamports,
    owner: base58.encode(owner),
    rentEpoch: 2n ** 64n - 1n,
    space: data.length,
  }
}

function optionsOf(options: unknown): Options {
  return typeof options === 'object' && options !== null ? options : {}
}

function bytesOf(text: unknown): Uint8Array {
  const bytes = base58.decode(String(text))
  if (bytes.length !== 32) throw new RpcRefusal(-32_602, 'Invalid param: Invalid')
  return bytes
}
