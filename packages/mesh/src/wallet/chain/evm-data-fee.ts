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

const amountSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((text) => BigInt(text))

/**
 * The most that a transaction with this data, in hexadecimal digits, may cost beside its gas: 0 on chains without such a fee,
 * null where the chain does not say.
 */
export async function dataFeeOf(
  session: RpcSession,
  name: EvmChainName,
  data: string,
): Promise<bigint | null> {
  if (!chainsWithDataFee.includes(name)) return 0n
  const size = envelopeMaxBytes + (data.length - 2) / 2
  const call = encodeCall({ function: 'getL1FeeUpperBound(uint256)', args: [size] })
  const said = await session.answer('eth_call', [{ to: oracle, data: call.data }, 'latest'])
  const amount = amountSchema.safeParse(said.kind === 'result' ? said.result : null)
  return amount.success ? dataFeeTimes * amount.data : null
}
