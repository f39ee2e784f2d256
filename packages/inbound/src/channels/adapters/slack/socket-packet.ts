import * as z from 'zod'
import { gatewayLimits, readPacket } from '../gateway-packet.ts'
import type { ReadPacket } from '../gateway-packet.ts'

const name = z.string().min(1).max(gatewayLimits.nameMaxChars)

const helloSchema = z
  .looseObject({
    type: z.literal('hello'),
    num_connections: z.number().int().positive().nullish().catch(null),
  })
  .transform(({ num_connections: connections }) => ({
    kind: 'hello' as const,
    connections: connections ?? 1,
  }))
const goodbyeSchema = z
  .looseObject({ type: z.literal('disconnect') })
  .transform(() => ({ kind: 'goodbye' as const }))
const envelopeSchema = z
  .looseObject({ type: name, envelope_id: name, payload: z.unknown().optional() })
  .transform(({ type, envelope_id: id, payload }) => ({ kind: 'envelope' as const, type, id, payload }))

const packetSchema = z.union([helloSchema, goodbyeSchema, envelopeSchema])

/** `connections` is the number of open connections of the app, including this one. */
export type SocketPacket = z.output<typeof packetSchema>

/** Parses one packet of Socket Mode, bounded. Pure. */
export function readSocketPacket(data: unknown): ReadPacket<SocketPacket> {
  return readPacket(data, packetSchema)
}

/** The only envelope type that Slack's client gets. */
const relayed = 'relayed'

/**
 * Returns the part of a packet that Slack's client gets: what it needs to connect, end and acknowledge.
 * Names from the platform are left out, because the client emits an event under any received name. Pure.
 */
export function packetForClient(packet: SocketPacket): string {
  switch (packet.kind) {
    case 'hello':
      return JSON.stringify({ type: 'hello' })
    case 'goodbye':
      return JSON.stringify({ type: 'disconnect' })
    case 'envelope':
      return JSON.stringify({ type: relayed, envelope_id: packet.id, payload: {} })
  }
}
