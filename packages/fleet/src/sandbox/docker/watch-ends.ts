import { createInterface } from 'node:readline'
import type { Clock } from '@flotilla/protocol/clock'
import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { labelKeys } from '../hardening/container-options.ts'

/** The pause before the mesh reconnects to the engine's stream of events, in milliseconds. */
const reconnectMs = 500

/** An event of the engine. Podman names its action in `status`, Docker in `Action` and `status`. */
const eventSchema = z.looseObject({
  Action: z.string().nullish(),
  status: z.string().nullish(),
  id: z.string().nullish(),
  Actor: z.looseObject({ ID: z.string().nullish() }).nullish(),
  /** Time in nanoseconds since 1970. Parsing as a double loses some hundred nanoseconds, which is irrelevant. */
  timeNano: z.number().nullish(),
})

export interface EngineEvent {
  readonly action: string
  readonly containerId: string
  /** Time of the event, milliseconds since 1970 on the engine's clock; null if the event has no time. */
  readonly at: number | null
}

/**
 * Reads the engine's events about a home's containers until `signal` aborts. `onConnected` is called after every
 * (re)connection and before later events, so that the caller can check for missed events. Never rejects.
 */
export async function watchEngine(
  engine: Engine,
  options: {
    readonly homeTag: string
    readonly clock: Clock
    readonly signal: AbortSignal
    readonly onConnected: () => Promise<void>
    readonly onEvent: (event: EngineEvent) => void
    readonly onLost: (error: unknown) => void
  },
): Promise<void> {
  while (!options.signal.aborted) {
    try {
      const stream = await engine.docker.getEvents({
        filters: { type: ['container'], label: [`${labelKeys.home}=${options.homeTag}`] },
        abortSignal: options.signal,
      })
      await options.onConnected()
      for await (const line of createInterface({ input: stream })) {
        const event = readEvent(line)
        if (event) options.onEvent(event)
      }
    } catch (error) {
      if (!options.signal.aborted) options.onLost(error)
    }
    await options.clock.sleep(reconnectMs, options.signal).catch(() => undefined)
  }
}

function readEvent(line: string): EngineEvent | null {
  if (line.trim() === '') return null
  const event = eventSchema.safeParse(JSON.parse(line)).data
  const action = event?.Action ?? event?.status
  const containerId = event?.Actor?.ID ?? event?.id
  const at = event?.timeNano == null ? null : event.timeNano / 1e6
  return action && containerId ? { action, containerId, at } : null
}
