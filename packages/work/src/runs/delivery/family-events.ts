import type { FleetEvent, FleetEventBody } from '@flotilla/protocol/fleet-event'

/** Maximum events buffered for a slow reader; above it the oldest are dropped, but never the outcome. */
const bufferedEventsMax = 5000

export interface FamilyEvents {
  take(event: FleetEvent): void
  empty(): readonly FleetEventBody[]
  /** Resolves when an event is buffered; at once if one is buffered already. */
  more(signal: AbortSignal): Promise<void>
}

const isLost = (state: string): boolean => state === 'restarting' || state === 'quarantined'

/** Buffers the events of a run and its descendants, and failures of their agents, until they are fetched. */
export function createFamilyEvents(
  runId: string,
  below: readonly string[],
  agentId: string | undefined,
): FamilyEvents {
  const family = new Set([runId, ...below])
  const agents = new Set(agentId === undefined ? [] : [agentId])
  let kept: FleetEventBody[] = []
  let announce: (() => void) | null = null

  function concerns(event: FleetEventBody): boolean {
    if (event.type === 'run.changed' && event.parent_id !== null && family.has(event.parent_id)) {
      family.add(event.run_id)
      agents.add(event.agent_id)
    }
    // A lost agent works on nothing until it recovers, and no other event would report that.
    if (event.type === 'agent.changed') return isLost(event.to) && agents.has(event.agent_id)
    return 'run_id' in event && event.run_id !== null && family.has(event.run_id)
  }

  return {
    take: ({ body }: FleetEvent): void => {
      if (!concerns(body)) return
      if (kept.length >= bufferedEventsMax) kept.shift()
      kept.push(body)
      announce?.()
    },
    empty: (): readonly FleetEventBody[] => {
      const taken = kept
      kept = []
      return taken
    },
    more: (signal: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        if (kept.length > 0) {
          resolve()
          return
        }
        const abort = () => reject(signal.reason)
        signal.addEventListener('abort', abort, { once: true })
        announce = () => {
          signal.removeEventListener('abort', abort)
          resolve()
        }
      }),
  }
}
