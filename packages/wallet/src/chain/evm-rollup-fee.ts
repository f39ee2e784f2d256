import type { EvmChainName } from '@flotilla/protocol/wallet-api'
import * as z from 'zod'
import { encodeCall } from './evm-call.ts'
import type { RpcSession } from './json-rpc.ts'

/**
 * OP Stack chains charge for the transaction's bytes on Ethereum in addition to its gas, and the sender cannot
 * limit that fee.
 */
const chainsWithDataFee: readonly EvmChainName[] = ['base']
/** The contract that reports the data fee on each such chain. */
const oracle = '0x420000000000000000000000000000000000000F'
/** The maximum size of an unsigned EIP-1559 transaction without its data, in bytes. */
const envelopeMaxBytes = 120
/** The factor for the data fee, which follows Ethereum's base fee. That at most doubles within six blocks. */
const dataFeeTimes = 2n
/** Matches the error that nodes return when the contract is too old for the query. */
const undone = /revert/i

const amountSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((text) => BigInt(text))

/**
 * Returns the maximum cost of a transaction with this data (hexadecimal digits) in addition to its
 * gas: its bytes on Ethereum, and the chain operator's fee for the gas. 0 on chains without such
 * fees, null if the chain does not report it.
 */
export async function rollupFeeOf(
  session: RpcSession,
  name: EvmChainName,
  { data, gasLimit }: { readonly data: string; readonly gasLimit: bigint },
): Promise<bigint | null> {
  if (!chainsWithDataFee.includes(name)) return 0n
  const size = envelopeMaxBytes + (data.length - 2) / 2
  const dataFee = await quotedFee(session, 'getL1FeeUpperBound(uint256)', size)
  const operatorFee = await quotedFee(session, 'getOperatorFee(uint256)', String(gasLimit))
  if (dataFee === null || dataFee === 'undone' || operatorFee === null) return null
  return dataFeeTimes * dataFee + (operatorFee === 'undone' ? 0n : operatorFee)
}

async function quotedFee(
  session: RpcSession,
  name: string,
  arg: number | string,
): Promise<bigint | 'undone' | null> {
  const { data } = encodeCall({ function: name, args: [arg] })
  const reply = await session.answer('eth_call', [{ to: oracle, data }, 'latest'])
  if (reply.kind === 'refused') return undone.test(reply.reason) ? 'undone' : null
  const amount = amountSchema.safeParse(reply.result)
  return amount.success ? amount.data : null
}
