import { jsonLimits } from '@flotilla/protocol/limits'
import type * as z from 'zod'
import { readJsonQuietly } from '../../intake/index.ts'

/**
 * What one packet of a platform's gateway may be. Whoever holds the other end of the line says what comes, and the
 * platform's own library believes it: it reads what it is sent by the names that it expects, on the mesh's own stack.
 */
export const gatewayLimits = {
  /** Some guilds of Discord tell of thousands of channels at once, bytes. */
  packetMaxBytes: 8 * 1024 * 1024,
  /** Of each name that a packet is known by: a kind, a session, an envelope. */
  nameMaxChars: 256,
  urlMaxChars: 500,
} as const

export type ReadPacket<T> = { readonly packet: T } | { readonly fault: string }

/** One packet of the form that we know, or why not, in words that say nothing of what it holds. Pure. */
export function readPacket<T extends z.ZodType>(data: unknown, schema: T): ReadPacket<z.output<T>> {
  if (typeof data !== 'string') return { fault: 'is no text' }
  if (Buffer.byteLength(data) > gatewayLimits.packetMaxBytes) {
    return { fault: `has more than ${gatewayLimits.packetMaxBytes} bytes` }
  }
  const value = readJsonQuietly(data, jsonLimits.gatewayPacket)
  if (value === undefined) return { fault: 'is no JSON, or has more in it than is read' }
  const read = schema.safeParse(value)
  return read.success ? { packet: read.data } : { fault: 'is of a form that is not known' }
}
