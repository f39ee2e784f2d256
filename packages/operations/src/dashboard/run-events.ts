import { runEventsMax } from '@flotilla/protocol/dashboard-api'
import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import { noSuchRun } from '@flotilla/protocol/not-found'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { EventBus } from '@flotilla/foundation/events'

/** Events of the type `only`; without it, of all types. Allowed for callers that may view the fleet. Problem `not-found` for an unknown run. */
export interface RunEvents {
  of(
    caller: Caller,
    runId: string,
    only?: FleetEvent['body']['type'],
  ): { readonly events: readonly FleetEvent[]; readonly more: boolean; readonly forgotten: boolean }
}

export function createRunEvents(deps: {
  readonly guard: Guard
  readonly events: Pick<EventBus, 'ofRun' | 'droppedUntil'>
  readonly runs: { find(runId: string): unknown }
}): RunEvents {
  const { guard, events, runs } = deps
  return {
    of: (caller, runId, only) => {
      guard(caller, { do: 'view-fleet' })
      if (!runs.find(runId)) throw noSuchRun(runId)
      const types = only === undefined ? undefined : ([only, 'run.changed'] as const)
      const found = events.ofRun(runId, { limit: runEventsMax + 1, types })
      const isWhole = found.some(({ body }) => body.type === 'run.changed' && body.state === 'queued')
      return {
        events: found.slice(0, runEventsMax).filter(({ body }) => only === undefined || body.type === only),
        more: found.length > runEventsMax,
        forgotten: !isWhole && events.droppedUntil() > 0,
      }
    },
  }
}
