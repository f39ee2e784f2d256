import type { Problem } from '@flotilla/protocol/problem'
import type { EvmChainName } from '@flotilla/protocol/wallet-api'
import { rollupFeeOf } from './evm-rollup-fee.ts'
import { feeBlockSchema } from './evm-wire.ts'
import type { EvmUnsigned } from './evm-unsigned.ts'
import { quantitySchema } from './json-rpc.ts'
import type { RpcSession } from './json-rpc.ts'

/** The factor for the base fee, which can at most double within six blocks. */
const baseFeeTimes = 2n

/** A session with an endpoint of one chain. */
export interface EvmSession {
  readonly session: RpcSession
  readonly name: EvmChainName
  readonly failed: (what: string) => Problem
}

export type EvmFees = Pick<EvmUnsigned, 'maxFeePerGas' | 'maxPriorityFeePerGas'>

/** Returns the current gas price, with room for the base fee to rise. */
export async function feesOf({ session, failed }: Pick<EvmSession, 'session' | 'failed'>): Promise<EvmFees> {
  const { baseFeePerGas } = await session.ask('eth_getBlockByNumber', ['latest', false], feeBlockSchema)
  if (baseFeePerGas === undefined) throw failed('the endpoint reports no base fee')
  const tip = await session.ask('eth_maxPriorityFeePerGas', [], quantitySchema)
  const maxPriorityFeePerGas = tip === 0n ? 1n : tip
  return { maxPriorityFeePerGas, maxFeePerGas: baseFeeTimes * baseFeePerGas + maxPriorityFeePerGas }
}

/** Returns the maximum cost of a transaction: its gas, and on a rollup the additional data fee. */
export async function feeMaxOf(
  { session, name, failed }: EvmSession,
  { gasLimit, maxFeePerGas, data }: Pick<EvmUnsigned, 'gasLimit' | 'maxFeePerGas' | 'data'>,
): Promise<bigint> {
  const onTop = await rollupFeeOf(session, name, { data, gasLimit })
  if (onTop === null) throw failed('the endpoint does not report the costs of a transaction besides its gas')
  return gasLimit * maxFeePerGas + onTop
}
