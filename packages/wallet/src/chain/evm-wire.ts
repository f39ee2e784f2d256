import * as z from 'zod'
import { quantitySchema } from './json-rpc.ts'
import type { EvmCallRequest } from './evm-unsigned.ts'

/** The maximum number of logs of one call that are read; an answer with more counts as unreadable. */
export const logsMax = 5000

export const bytesSchema = z.string().regex(/^0x(?:[0-9a-fA-F]{2})*$/)
export const addressSchema = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
export const logSchema = z.looseObject({
  address: addressSchema,
  topics: z.array(z.string().regex(/^0x[0-9a-fA-F]{64}$/)).max(4),
  data: bytesSchema,
})

export const feeBlockSchema = z.looseObject({
  number: quantitySchema,
  timestamp: quantitySchema,
  baseFeePerGas: quantitySchema.optional(),
})

/** A call in the form of JSON-RPC. */
export function wire({ from, to, data, value }: EvmCallRequest) {
  return { from, to, data, value: hex(value) }
}

export function hex(value: bigint | number): string {
  return `0x${value.toString(16)}`
}
