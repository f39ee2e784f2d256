import type { Clock } from '@flotilla/protocol/clock'
import { eventFrameSchema } from '@flotilla/protocol/dashboard-api'
import type { EventsDropped, FleetEvent } from '@flotilla/protocol/fleet-event'
import { wireLimits } from '@flotilla/protocol/limits'
import { nextWaitMs } from './event-stream.ts'
import { systemClock } from './system-clock.ts'

/** A socket counts as dead after this many missed heartbeats. */
const silenceMs = wireLimits.keepAliveMs * 3

export interface SocketListener {
  /** Called for each event, in order and exactly once. */
  onEvent(event: FleetEvent): void
  /** Called if requested events are no longer stored. */
  onDropped(dropped: EventsDropped): void
  /** Called with the connection state at each change. */
  onState(state: 'live' | 'broken'): void
}

export interface SocketOptions {
  /** `ws://` or `wss://`, with the path. */
  readonly url: string
  /**
   * Requests events with a greater sequence number; a negative number requests that many of the newest stored events.
   */
  readonly since: number
  readonly signal: AbortSignal
  readonly connect?: (url: string) => WebSocket
  readonly clock?: Clock
}

/**
 * Passes on fleet events, each once. A broken or silent socket is replaced by a new one that continues after the last
 * sequence number. Resolves when the signal aborts, and never rejects, so that a page that is open for days
 * reconnects to a restarted mesh.
 */
export async function followEventSocket(options: SocketOptions, listener: SocketListener): Promise<void> {
  const { signal, clock = systemClock } = options
  let seen = options.since
  let waitMs: number | null = null
  while (!signal.aborted) {
    const gaveSomething = await oneSocket(options, { ...listener, seen: () => seen, onSeen })
    listener.onState('broken')
    waitMs = nextWaitMs(gaveSomething ? null : waitMs)
    await clock.sleep(waitMs, signal).catch(() => undefined)
  }

  function onSeen(seq: number): void {
    seen = seq
  }
}

interface OneSocket extends SocketListener {
  seen(): number
  onSeen(seq: number): void
}

/** Resolves when the socket has closed; the result says whether the socket delivered anything. */
function oneSocket(
  { url, signal, connect = (address) => new WebSocket(address), clock = systemClock }: SocketOptions,
  listener: OneSocket,
): Promise<boolean> {
  const socket = connect(`${url}?since=${listener.seen()}`)
  let gaveSomething = false
  let silence = new AbortController()
  const hangUp = () => socket.close()
  signal.addEventListener('abort', hangUp, { once: true })
  watchSilence()
  return new Promise((resolve) => {
    socket.addEventListener('message', ({ data }) => {
      watchSilence()
      if (!gaveSomething) listener.onState('live')
      gaveSomething = true
      take(String(data))
    })
    // Only the `close` event is handled, because every error is followed by it.
    socket.addEventListener('close', () => {
      silence.abort()
      signal.removeEventListener('abort', hangUp)
      resolve(gaveSomething)
    })
  })

  function watchSilence(): void {
    silence.abort()
    silence = new AbortController()
    clock.sleep(silenceMs, silence.signal).then(hangUp, () => undefined)
  }

  function take(text: string): void {
    const frame = eventFrameSchema.safeParse(asJson(text))
    // Frames that this version does not know are ignored; sequence numbers continue.
    if (!frame.success) return
    if (frame.data.type === 'alive') {
      listener.onSeen(Math.max(listener.seen(), frame.data.seq))
      return
    }
    if (frame.data.type === 'dropped') {
      listener.onSeen(Math.max(listener.seen(), frame.data.dropped.dropped_until))
      listener.onDropped(frame.data.dropped)
      return
    }
    const { event } = frame.data
    if (event.seq <= listener.seen()) return
    listener.onSeen(event.seq)
    listener.onEvent(event)
  }
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
