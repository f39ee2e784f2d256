import { jsonLimits } from '@flotilla/protocol/limits'
import type * as z from 'zod'
import { readJsonQuietly } from '@flotilla/foundation/intake'

/**
 * Limits for one gateway packet. The packets come from the other end of the connection, and the platform's library
 * trusts their content.
 */
export const gatewayLimits = {
  /** The maximum size of a packet, in bytes. Some Discord guilds list thousands of channels in one packet. */
  packetMaxBytes: 8 * 1024 * 1024,
  /** The maximum length of an identifier: a type, a session, an envelope. */
  nameMaxChars: 256,
  urlMaxChars: 500,
} as const

export type ReadPacket<T> = { readonly packet: T } | { readonly fault: string; readonly isTooLong?: true }

/** Returns the parsed packet, or the fault that makes it invalid, without its content. Pure. */
export function readPacket<T extends z.ZodType>(data: unknown, schema: T): ReadPacket<z.output<T>> {
  if (typeof data !== 'string') return { fault: 'is not text' }
  if (Buffer.byteLength(data) > gatewayLimits.packetMaxBytes) {
    return { fault: `has more than ${gatewayLimits.packetMaxBytes} bytes`, isTooLong: true }
  }
  const value = readJsonQuietly(data, jsonLimits.gatewayPacket)
  if (value === undefined) return { fault: 'is not JSON, or exceeds the limits' }
  const read = schema.safeParse(value)
  return read.success ? { packet: read.data } : { fault: 'has an unknown form' }
}
