import { eventsDroppedName, eventsDroppedSchema, fleetEventSchema } from '@flotilla/protocol/fleet-event'
import type { EventsDropped, FleetEvent } from '@flotilla/protocol/fleet-event'
import { nextWaitMs, readServerSentEvents } from './event-stream.ts'
import type { StreamDeps } from './event-stream.ts'
import { parseJson, sendCall, versionMismatch } from './mesh-call.ts'
import { isMeshUnreachable } from './unreachable.ts'

export interface FollowOptions {
  /** Requests events with a greater sequence number; 0 requests all stored events. */
  readonly since?: number
  readonly signal: AbortSignal
  /** Called if requested events up to this number are no longer stored. */
  readonly onDropped: (dropped: EventsDropped) => void
  /** How often in a row a connection may fail before the Problem is thrown; each success starts the count again. */
  readonly failuresMax?: number
}

/** Maximum number of consecutive failures when the caller sets none: about two minutes of retries. */
const failuresMaxDefault = 30

/**
 * Yields fleet events in order, each once. A broken or silent connection is replaced by a new one that continues
 * after the last sequence number. Ends without an error when the signal aborts.
 */
export async function* followEvents(
  deps: StreamDeps,
  options: FollowOptions,
): AsyncGenerator<FleetEvent, void, undefined> {
  const { signal, failuresMax = failuresMaxDefault } = options
  let seen = options.since ?? 0
  let failures = 0
  let waitMs: number | null = null
  while (!signal.aborted) {
    try {
      const reply = await sendCall(deps.connection, 'events', {
        query: { since: seen },
        accept: 'text/event-stream',
        signal,
      })
      for await (const { event: name, data } of readServerSentEvents(deps, reply, signal)) {
        failures = 0
        waitMs = null
        if (name === eventsDroppedName) {
          const dropped = parseDropped(data)
          seen = Math.max(seen, dropped.dropped_until)
          options.onDropped(dropped)
          continue
        }
        const event = parseEvent(data)
        if (event.seq <= seen) continue
        seen = event.seq
        yield event
      }
    } catch (error) {
      if (signal.aborted) return
      failures += 1
      if (!isMeshUnreachable(error) || failures >= failuresMax) throw error
    }
    waitMs = nextWaitMs(waitMs)
    await deps.clock.sleep(waitMs, signal).catch(() => undefined)
  }
}

function parseEvent(data: string): FleetEvent {
  const parsed = fleetEventSchema.safeParse(parseJson(data))
  if (!parsed.success) throw versionMismatch('an event', parsed.error.issues[0]?.message ?? 'wrong form')
  return parsed.data
}

function parseDropped(data: string): EventsDropped {
  const parsed = eventsDroppedSchema.safeParse(parseJson(data))
  if (!parsed.success) throw versionMismatch('a frame', parsed.error.issues[0]?.message ?? 'wrong form')
  return parsed.data
}
