import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type { IShardingStrategy } from 'discord.js'
import { gatewayLimits, readPacket } from '../gateway-packet.ts'
import { gatewayPacketSchema, packetForLibrary } from './gateway-wire.ts'
import type { GatewayPacket } from './gateway-wire.ts'

type Dispatch = Extract<GatewayPacket, { readonly op: 0 }>

export interface ShardGuard {
  readonly api: string
  /** Each dispatch, in order, once discord.js has its number. */
  readonly onDispatch: (packet: Dispatch) => void
  /** A packet was left out; in words. */
  readonly onFault: (fault: string) => void
  /** What begins the session was left out: discord.js would identify anew every few seconds, which Discord counts by the day. */
  readonly onNoSession: () => void
}

/** As discord.js has it: a line that can be ended, of one handshake. */
type Line = Pick<EventEmitter, 'once'> & { terminate(): void }

interface Shard {
  onMessage(data: unknown, isBinary: boolean): Promise<void>
  connection: Line | null
}

/**
 * Stands between a gateway's line and discord.js: a packet is bounded and of a known form before discord.js sees it, and
 * then it sees only what a session is kept by. Without this a packet of another form ends the process, since discord.js
 * reads it where nobody waits for what it throws.
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

/** What ends the wait for a session. */
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
    if ('fault' in read) return onFault(read.fault)
    const { packet } = read
    const known = packetForLibrary(packet, api)
    // Each hello would begin one more beat.
    if (known === null || (packet.op === 10 && hasHello)) {
      onFault('begins a session in a way that is not known')
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
        onFault('could not be taken')
      }
    }
    // A hello takes as long as the first beat waits for; what is dispatched stays in order.
    if (packet.op !== 0) return take()
    last = last.then(take)
    return last
  }
}

/** Counts what comes over each connection of the shard before a whole packet is there. */
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
        // Whoever listens before the line itself does takes its first packet away.
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
  return new Error('a shard of discord.js is not of the form that is guarded')
}
