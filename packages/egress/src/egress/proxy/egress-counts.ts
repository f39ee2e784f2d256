import type { Clock } from '@flotilla/protocol/clock'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'
import type { EgressCount, EgressCountRow, EgressCountTable } from './egress-count-table.ts'

/** How many hosts of one agent are counted by name; all further hosts share one row. */
export const countedHostsMax = 200
export const otherHosts = '(other)'
/**
 * How long counts stay only in memory, in milliseconds. A killed mesh loses the counts of this time, but the first
 * contact with a host is written at once.
 */
export const flushIntervalMs = 30_000
/**
 * How many refusals of one agent are recorded between two flushes, so that a program in a loop cannot flood the audit
 * log.
 */
export const writtenRefusalsMax = 20

/** Counts connections and bytes through the proxy by agent and host. */
export interface EgressCounts {
  opened(agentId: string, host: string): void
  refused(agentId: string, host: string, code: string): void
  moved(agentId: string, host: string, bytes: { readonly out: number; readonly in: number }): void
  /** Totals of all time, largest first, including unwritten counts. */
  list(limit: number): readonly EgressCountRow[]
  flush(): void
  /** Writes the counts at each interval until the signal aborts, and then once more. */
  run(signal: AbortSignal): Promise<void>
  forget(agentId: string): void
}

interface AgentCounts {
  /** Hosts with a row of their own, in the table or in memory. */
  readonly named: Set<string>
  readonly pending: Map<string, { -readonly [Key in keyof EgressCount]: number }>
  refusalsWritten: number
}

export function createEgressCounts(deps: {
  readonly table: EgressCountTable
  readonly database: Pick<Database, 'transaction'>
  readonly journal: Journal
  readonly clock: Clock
  readonly log: Log
}): EgressCounts {
  const agents = new Map<string, AgentCounts>()

  function countsOf(agentId: string): AgentCounts {
    let counts = agents.get(agentId)
    if (!counts) {
      counts = { named: new Set(deps.table.hostsOf(agentId)), pending: new Map(), refusalsWritten: 0 }
      agents.set(agentId, counts)
    }
    return counts
  }

  function pendingOf(counts: AgentCounts, host: string) {
    const key = counts.named.has(host) ? host : otherHosts
    let pending = counts.pending.get(key)
    if (!pending) {
      pending = { connections: 0, refused: 0, bytesOut: 0, bytesIn: 0 }
      counts.pending.set(key, pending)
    }
    return pending
  }

  function flush(): void {
    const at = deps.clock.now()
    deps.database.transaction(() => {
      for (const [agentId, { pending }] of agents) {
        for (const [host, count] of pending) {
          deps.table.add({ agentId, host, ...count }, at)
          deps.journal.append({
            actor: `agent:${agentId}`,
            action: 'proxy.used',
            subject: host,
            detail: {
              connections: count.connections,
              refused: count.refused,
              bytes_out: count.bytesOut,
              bytes_in: count.bytesIn,
            },
          })
        }
      }
    })
    // All counts are written, so memory is cleared; the next use reads the hosts of an agent from the table again.
    agents.clear()
  }

  return {
    opened: (agentId, host) => {
      const counts = countsOf(agentId)
      // Only a host that was reached gets a row, so that unreachable names cannot use up the rows.
      if (counts.named.size < countedHostsMax) counts.named.add(host)
      const isFirst = !counts.pending.has(counts.named.has(host) ? host : otherHosts)
      pendingOf(counts, host).connections++
      if (!isFirst) return
      deps.journal.append({ actor: `agent:${agentId}`, action: 'proxy.opened', subject: host, detail: {} })
    },
    refused: (agentId, host, code) => {
      const counts = countsOf(agentId)
      pendingOf(counts, host).refused++
      if (counts.refusalsWritten >= writtenRefusalsMax) return
      counts.refusalsWritten++
      deps.journal.append({
        actor: `agent:${agentId}`,
        action: 'proxy.refused',
        subject: host,
        detail: { problem: code },
      })
    },
    moved: (agentId, host, bytes) => {
      const pending = pendingOf(countsOf(agentId), host)
      pending.bytesOut += bytes.out
      pending.bytesIn += bytes.in
    },
    list: (limit) => {
      flush()
      return deps.table.list(limit)
    },
    flush,
    run: async (signal) => {
      while (!signal.aborted) {
        await deps.clock.sleep(flushIntervalMs, signal).catch(() => {})
        try {
          flush()
        } catch (error) {
          deps.log.error({ err: error }, 'failed to write proxy counters; retrying in the next round')
        }
      }
    },
    forget: (agentId) => {
      agents.delete(agentId)
      deps.table.forget(agentId)
    },
  }
}
