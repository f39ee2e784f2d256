import { Problem } from '@flotilla/protocol/problem'
import { evmChains } from '@flotilla/protocol/wallet-api'
import { Transaction } from 'micro-eth-signer'
import { feeMaxOf, feesOf } from './evm-fees.ts'
import type { EvmFees, EvmSession } from './evm-fees.ts'
import { doesOf, unsignedText } from './evm-unsigned.ts'
import type { EvmUnsigned } from './evm-unsigned.ts'
import { quantitySchema } from './json-rpc.ts'
import type { Place, Replacement, Replacing } from './paying-chain.ts'

/** The fees of a replacement, in percent of the fees before. Nodes require 110 %, some 112.5 %. */
const raisedPercent = 125n
/** Gas limit of a transfer to oneself, in tenths of its estimate. */
const gasTenths = 12n

/** Plans the same transaction with higher fees, or an empty transfer to oneself, with the nonce of the signed one. */
export async function replaceEvm(
  far: EvmSession,
  { from, bytes, place }: { readonly from: string; readonly bytes: string; readonly place: Place },
  how: Replacing,
): Promise<Replacement> {
  const { session, name } = far
  const before = readSigned(bytes)
  const fees = raised(before, await feesOf(far))
  const after = how === 'cancel' ? { ...(await nothing(far, from)), ...fees } : { ...before, ...fees }
  const feeMaxRaw = await feeMaxOf(far, after)
  const holds = await session.ask('eth_getBalance', [from, 'latest'], quantitySchema)
  if (holds < after.value + feeMaxRaw) {
    throw new Problem('unprocessable', {
      detail: `${from} has too little ${evmChains[name].coin} for the higher fee`,
      repair: 'Send coins to this address first, or wait until fees are lower.',
    })
  }
  return {
    feeBeforeRaw: await feeMaxOf(far, before),
    plan: {
      from,
      to: after.to,
      unsigned: unsignedText(after),
      does: doesOf(name, after),
      feeMaxRaw,
      place,
      // Only one of the two transactions lands, and the payment's effects were counted when the first was signed.
      simulation: { kind: 'moves', effects: { changes: [], payees: [], grants: [] } },
      warnings: [],
    },
  }
}

async function nothing({ session }: EvmSession, from: string): Promise<Omit<EvmUnsigned, keyof EvmFees>> {
  const gas = await session.ask('eth_estimateGas', [{ from, to: from, value: '0x0' }], quantitySchema)
  return { to: from, data: '0x', value: 0n, gasLimit: (gas * gasTenths) / 10n }
}

/** Returns fees high enough for nodes to accept the replacement, and at least the current fees. Pure. */
function raised(before: EvmFees, now: EvmFees): EvmFees {
  const more = (fee: bigint): bigint => (fee * raisedPercent + 99n) / 100n
  const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)
  const maxPriorityFeePerGas = larger(more(before.maxPriorityFeePerGas), now.maxPriorityFeePerGas)
  return {
    maxPriorityFeePerGas,
    maxFeePerGas: larger(larger(more(before.maxFeePerGas), now.maxFeePerGas), maxPriorityFeePerGas),
  }
}

function readSigned(bytes: string): EvmUnsigned {
  const { type, raw } = Transaction.fromHex(bytes)
  if (type !== 'eip1559' || !('maxFeePerGas' in raw))
    throw new Error('only such transactions are signed here')
  const { to, data, value, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = raw
  return { to, data, value, gasLimit, maxFeePerGas, maxPriorityFeePerGas }
}
