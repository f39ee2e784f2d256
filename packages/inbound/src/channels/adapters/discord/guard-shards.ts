import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type { IShardingStrategy } from 'discord.js'
import { gatewayLimits, readPacket } from '../gateway-packet.ts'
import { gatewayPacketSchema, packetForLibrary } from './gateway-wire.ts'
import type { GatewayPacket } from './gateway-wire.ts'

type Dispatch = Extract<GatewayPacket, { readonly op: 0 }>

export interface ShardGuard {
  readonly api: string
  /** Receives each dispatch in order, after discord.js processed its sequence number. */
  readonly onDispatch: (packet: Dispatch) => void
  /** Called when a packet was dropped; `fault` is the reason. */
  readonly onFault: (fault: string) => void
  /**
   * Called when the packet that starts the session was dropped. discord.js would identify again
   * every few seconds, and Discord limits that per day.
   */
  readonly onNoSession: () => void
}

/** The WebSocket of discord.js; `terminate` closes it without a handshake. */
type Line = Pick<EventEmitter, 'once'> & { terminate(): void }

interface Shard {
  onMessage(data: unknown, isBinary: boolean): Promise<void>
  connection: Line | null
}

/**
 * Filters packets between the gateway connection and discord.js. discord.js sees only bounded
 * packets of a known form, and only the fields that maintain the session. Without this filter a
 * malformed packet ends the process, because discord.js throws where no handler catches.
 */
export function guardShards(strategy: IShardingStrategy, guard: ShardGuard): void {
  const spawn = strategy.spawn.bind(strategy)
  strategy.spawn = async (ids) => {
    await spawn(ids)
    const shards: unknown = Reflect.get(strategy, 'shards')
    if (!(shards instanceof Map) || shards.size === 0) throw unknownForm()
    for (const shard of shards.values()) guardShard(shard as unknown, guard)
  }
}

/** The dispatches that start a session. */
const beginsSession: ReadonlySet<string> = new Set(['READY', 'RESUMED'])

function guardShard(given: unknown, { api, onDispatch, onFault, onNoSession }: ShardGuard): void {
  if (!isShard(given)) throw unknownForm()
  const shard = given
  const pass = shard.onMessage.bind(shard)
  let readBytes = 0
  let hasHello = false
  let hasSession = false
  let last: Promise<void> = Promise.resolve()

  boundLine(shard, {
    begun: () => {
      readBytes = 0
      hasHello = false
      hasSession = false
    },
    bytes: (count, line) => {
      readBytes += count
      if (readBytes <= gatewayLimits.packetMaxBytes) return
      onFault(`has more than ${gatewayLimits.packetMaxBytes} bytes`)
      line.terminate()
    },
  })

  shard.onMessage = async (data) => {
    readBytes = 0
    const read = readPacket(data, gatewayPacketSchema)
    if ('fault' in read) {
      onFault(read.fault)
      // A packet just above the limit can arrive as a whole before its last bytes are counted.
      if (read.isTooLong === true) shard.connection?.terminate()
      return
    }
    const { packet } = read
    const known = packetForLibrary(packet, api)
    // A second hello would start another heartbeat timer, so it is dropped.
    if (known === null || (packet.op === 10 && hasHello)) {
      onFault('starts a session in an unknown form')
      if (known === null && !hasSession) onNoSession()
      return
    }
    if (packet.op === 0 && beginsSession.has(packet.t)) hasSession = true
    if (packet.op === 10) hasHello = true
    const text = JSON.stringify(known)
    const take = async () => {
      try {
        await pass(text, false)
        if (packet.op === 0) onDispatch(packet)
      } catch {
        onFault('could not be processed')
      }
    }
    // discord.js processes a hello until the first heartbeat; dispatches must not wait for it. They stay in order.
    if (packet.op !== 0) return take()
    last = last.then(take)
    return last
  }
}

/** Counts a packet's bytes while they arrive, so that a huge packet is detected before its end. */
function boundLine(
  shard: Shard,
  on: { readonly begun: () => void; readonly bytes: (count: number, line: Line) => void },
): void {
  let line = shard.connection
  Object.defineProperty(shard, 'connection', {
    configurable: true,
    get: () => line,
    set: (next: Line | null) => {
      line = next
      if (next === null) return
      on.begun()
      next.once('upgrade', ({ socket }: { readonly socket: Socket }) => {
        // Added after the WebSocket's own listener: a listener before it would consume the first packet.
        next.once('open', () => {
          socket.on('data', (part: Uint8Array) => on.bytes(part.length, next))
        })
      })
    },
  })
}

function isShard(value: unknown): value is Shard {
  return (
    typeof value === 'object' &&
    value !== null &&
    'onMessage' in value &&
    typeof value.onMessage === 'function' &&
    'connection' in value
  )
}

function unknownForm(): Error {
  return new Error('the shard of discord.js has an unknown form')
}
