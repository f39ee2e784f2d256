import type { Clock } from '@flotilla/protocol/clock'
import type { HandshakeFailure, InspectionView, PinnedHost } from '@flotilla/protocol/inspection-api'

/** How many pairs of agent and host are remembered; the oldest is dropped. */
const failuresMax = 200

type Failure = InspectionView['failures'][number]

/** After how many connections that an agent's programs closed for the certificate their host is reported as pinned. */
const pinnedFrom = 3
/**
 * Reasons by which a program can show that it does not accept the certificate of the fleet. Each agent can cause them
 * on purpose, and they are forgotten when a program of the agent sends a request.
 */
const ofCertificate: readonly HandshakeFailure[] = ['untrusted', 'closed', 'unused']

/** Remembers in memory which clients did not complete TLS with the mesh, for the owner. */
export interface HandshakeFailures {
  /** Returns what is worth a line in the log: the first failure of this kind, and a host that seems to be pinned. */
  note(agentId: string, host: string, why: HandshakeFailure): 'first' | 'pinned' | null
  /** A program of the agent accepted the certificate and sent a request. */
  served(agentId: string, host: string): void
  /** Hosts whose programs seem to accept only the host's own certificate. */
  pinned(): PinnedHost[]
  /** Latest first. */
  list(): Failure[]
  forget(agentId: string): void
}

export function createHandshakeFailures({ clock }: { readonly clock: Clock }): HandshakeFailures {
  /** In the order of the latest failure. */
  const failures = new Map<string, Failure>()
  /** How often programs of the agent closed connections to the host because of the certificate. */
  const countOf = (agentId: string, host: string) =>
    ofCertificate.reduce((sum, why) => sum + (failures.get([agentId, host, why].join(' '))?.count ?? 0), 0)
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
      if (ofCertificate.includes(why) && countOf(agentId, host) === pinnedFrom) return 'pinned'
      return known === undefined ? 'first' : null
    },
    served: (agentId, host) => {
      for (const why of ofCertificate) failures.delete([agentId, host, why].join(' '))
    },
    pinned: () => {
      const hosts = new Map<string, PinnedHost>()
      for (const { agent_id: agentId, host, why } of failures.values()) {
        const known = hosts.get(host)
        const count = countOf(agentId, host)
        if (!ofCertificate.includes(why) || count < pinnedFrom || known?.agent_ids.includes(agentId)) continue
        hosts.set(host, {
          host,
          agent_ids: [...(known?.agent_ids ?? []), agentId],
          count: (known?.count ?? 0) + count,
        })
      }
      return [...hosts.values()]
    },
    list: () => [...failures.values()].toReversed(),
    forget: (agentId) => {
      for (const [key, failure] of failures) if (failure.agent_id === agentId) failures.delete(key)
    },
  }
}
