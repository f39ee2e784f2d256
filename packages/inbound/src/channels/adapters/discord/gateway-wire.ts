import * as z from 'zod'
import { gatewayLimits } from '../gateway-packet.ts'
import { snowflake } from './discord-wire.ts'

/** The accepted heartbeat intervals, in milliseconds. Discord asks for about 40 seconds. */
const heartbeatMs = { min: 100, max: 10 * 60_000 } as const

const name = z.string().min(1).max(gatewayLimits.nameMaxChars)
const sequence = z.number().int().nonnegative()

/** A gateway packet by its operation. The consumers parse the data of a dispatch. */
export const gatewayPacketSchema = z.discriminatedUnion('op', [
  z.looseObject({ op: z.literal(0), t: name, s: sequence, d: z.unknown().optional() }),
  z.looseObject({ op: z.literal(1) }),
  z.looseObject({ op: z.literal(7) }),
  z.looseObject({ op: z.literal(9), d: z.boolean() }),
  z.looseObject({
    op: z.literal(10),
    d: z.looseObject({ heartbeat_interval: z.number().int().min(heartbeatMs.min).max(heartbeatMs.max) }),
  }),
  z.looseObject({ op: z.literal(11) }),
])
export type GatewayPacket = z.infer<typeof gatewayPacketSchema>

const sessionSchema = z.looseObject({
  session_id: name,
  resume_gateway_url: z.string().max(gatewayLimits.urlMaxChars),
  user: z.looseObject({ id: snowflake }),
  application: z.looseObject({ id: snowflake }),
})

/** The fields of the gateway response that are passed on to discord.js. */
export const gatewayAddressSchema = z.looseObject({
  url: z.string().max(gatewayLimits.urlMaxChars),
  shards: z.number().int().positive(),
  session_start_limit: z.looseObject({
    total: z.number(),
    remaining: z.number(),
    reset_after: z.number(),
    max_concurrency: z.number().int().positive(),
  }),
})

/**
 * Returns the part of a packet that discord.js gets: what it needs to maintain the session, without
 * content from users. Null for a session start of unknown form or with a foreign address. Pure.
 */
export function packetForLibrary(packet: GatewayPacket, api: string): unknown {
  if (packet.op === 10) return { op: 10, d: { heartbeat_interval: packet.d.heartbeat_interval } }
  if (packet.op === 9) return { op: 9, d: packet.d }
  if (packet.op !== 0) return { op: packet.op }
  const { t, s } = packet
  if (t === 'RESUMED') return { op: 0, t, s, d: {} }
  if (t !== 'READY') return { op: 0, t: 'OTHER', s, d: {} }
  const read = sessionSchema.safeParse(packet.d)
  if (!read.success || !isGateway(read.data.resume_gateway_url, api)) return null
  const { session_id, resume_gateway_url, user, application } = read.data
  const bot = { id: user.id, username: '', discriminator: '0', bot: true }
  const d = {
    v: 10,
    user: bot,
    guilds: [],
    session_id,
    resume_gateway_url,
    application: { id: application.id },
  }
  return { op: 0, t, s, d }
}

/**
 * True if the token may be sent to this gateway address. Allows Discord over TLS, and the owner's
 * own API host, unencrypted only if the API is unencrypted too. Pure.
 */
export function isGateway(address: string, api: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname, username, password } = new URL(address)
  if (username !== '' || password !== '') return false
  if (protocol === 'wss:' && /^(?:[a-z0-9-]+\.)*discord\.gg$/.test(hostname)) return true
  const apiUrl = new URL(api)
  const isAsSafe = protocol === 'wss:' || (protocol === 'ws:' && apiUrl.protocol === 'http:')
  return isAsSafe && hostname === apiUrl.hostname
}
