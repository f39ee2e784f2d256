import * as z from 'zod'
import { jsonColumn } from '@flotilla/foundation/storage'
import type { Place } from './paying-chain.ts'

/** All signed fields of an EIP-1559 transaction except chain and nonce. `data` in hexadecimal digits, with 0x. */
export interface EvmUnsigned {
  readonly to: string
  readonly data: string
  readonly value: bigint
  readonly gasLimit: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

export interface EvmCallRequest {
  readonly from: string
  readonly to: string
  /** The call data in hexadecimal digits, with 0x. */
  readonly data: string
  readonly value: bigint
}

const digits = z.string().regex(/^\d+$/)

/** The database column with the JSON of `Plan.unsigned`. */
export const unsignedColumn = jsonColumn(
  z.strictObject({
    to: z.string(),
    data: z.string(),
    value: digits,
    gasLimit: digits,
    maxFeePerGas: digits,
    maxPriorityFeePerGas: digits,
  }),
)

/** Serializes the signed fields. Pure. */
export function unsignedText(unsigned: EvmUnsigned): string {
  const { to, data, value, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = unsigned
  const text = (amount: bigint): string => String(amount)
  return JSON.stringify({
    to,
    data,
    value: text(value),
    gasLimit: text(gasLimit),
    maxFeePerGas: text(maxFeePerGas),
    maxPriorityFeePerGas: text(maxPriorityFeePerGas),
  })
}

/** Identifies a payment by its transaction: a token transfer equals a call of the token's `transfer`. Pure. */
export function doesOf(
  chain: string,
  { to, data, value }: Pick<EvmUnsigned, 'to' | 'data' | 'value'>,
): string {
  return `${chain} ${to} ${data} ${value}`.toLowerCase()
}

export function requireNonce(place: Place): number {
  if (place.kind === 'nonce') return place.nonce
  throw new Error('a transaction of the EVM has a nonce')
}
