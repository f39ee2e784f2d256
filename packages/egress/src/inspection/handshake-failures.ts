import type { Clock } from '@flotilla/protocol/clock'
import type { HandshakeFailure, InspectionView } from '@flotilla/protocol/inspection-api'

/** How many pairs of agent and host are remembered; the oldest is dropped. */
const failuresMax = 200

type Failure = InspectionView['failures'][number]

/** Remembers in memory which clients did not complete TLS with the mesh, for the owner. */
export interface HandshakeFailures {
  /** Returns true for the first failure of this agent, host and reason. */
  note(agentId: string, host: string, why: HandshakeFailure): boolean
  /** Latest first. */
  list(): Failure[]
  forget(agentId: string): void
}

export function createHandshakeFailures({ clock }: { readonly clock: Clock }): HandshakeFailures {
  /** In the order of the latest failure. */
  const failures = new Map<string, Failure>()
  return {
    note: (agentId, host, why) => {
      const key = [agentId, host, why].join(' ')
      const known = failures.get(key)
      failures.delete(key)
      failures.set(key, {
        agent_id: agentId,
        host,
        why,
        count: (known?.count ?? 0) + 1,
        last_at: clock.now(),
      })
      for (const oldest of failures.keys()) {
        if (failures.size <= failuresMax) break
        failures.delete(oldest)
      }
      return known === undefined
    },
    list: () => [...failures.values()].toReversed(),
    forget: (agentId) => {
      for (const [key, failure] of failures) if (failure.agent_id === agentId) failures.delete(key)
    },
  }
}
