import type { EvmChainName } from '@flotilla/protocol/wallet-api'
import * as z from 'zod'
import { encodeCall } from './evm-call.ts'
import type { RpcSession } from './json-rpc.ts'

/** Of the OP stack: what the bytes of a transaction cost on Ethereum comes on top of its gas, and whoever signs can set no bound to it. */
const chainsWithDataFee: readonly EvmChainName[] = ['base']
/** The contract of each such chain that tells it. */
const oracle = '0x420000000000000000000000000000000000000F'
/** Of an unsigned transaction of EIP-1559, all but its data. */
const envelopeMaxBytes = 120
/** It follows the base fee of Ethereum, which doubles within six blocks at most. */
const dataFeeTimes = 2n
/** In the words of nodes: the contract is older than what it was asked. */
const undone = /revert/i

const amountSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((text) => BigInt(text))

/**
 * The most that a transaction with this data, in hexadecimal digits, may cost beside its gas: its bytes on Ethereum, and what whoever
 * runs the chain takes for so much gas. 0 on chains without such fees, null where the chain does not say.
 */
export async function rollupFeeOf(
  session: RpcSession,
  name: EvmChainName,
  { data, gasLimit }: { readonly data: string; readonly gasLimit: bigint },
): Promise<bigint | null> {
  if (!chainsWithDataFee.includes(name)) return 0n
  const size = envelopeMaxBytes + (data.length - 2) / 2
  const dataFee = await told(session, 'getL1FeeUpperBound(uint256)', size)
  const operatorFee = await told(session, 'getOperatorFee(uint256)', String(gasLimit))
  if (dataFee === null || dataFee === 'undone' || operatorFee === null) return null
  return dataFeeTimes * dataFee + (operatorFee === 'undone' ? 0n : operatorFee)
}

async function told(
  session: RpcSession,
  name: string,
  arg: number | string,
): Promise<bigint | 'undone' | null> {
  const { data } = encodeCall({ function: name, args: [arg] })
  const said = await session.answer('eth_call', [{ to: oracle, data }, 'latest'])
  if (said.kind === 'refused') return undone.test(said.reason) ? 'undone' : null
  const amount = amountSchema.safeParse(said.result)
  return amount.success ? amount.data : null
}
