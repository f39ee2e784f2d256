import { operatorAgentId } from '@flotilla/protocol/ids'
import type { Caller } from '../../access/index.ts'

/** Agents that are counted; above it the counts begin anew. Nothing is decided by them. */
const agentsMax = 10_000
const prefix = 'projects/'

export interface CrossProjectCount {
  readonly read: number
  readonly write: number
}

/**
 * `_blackboard_xproject_count`: how often agents tried to use the part of the blackboard that belongs to a project that
 * is not theirs. The guard refuses it; the count is for people to look at, nothing is decided by it, and a restart forgets
 * it.
 */
export interface CrossProjectCounts {
  count(caller: Caller, key: string, way: 'read' | 'write'): void
  of(agentId: string): CrossProjectCount
  total(): CrossProjectCount
  forget(agentId: string): void
}

/** Whether the key lies in the part of a project other than the agent's own. Pure. */
export function crossesProject(ownProject: string | null, key: string): boolean {
  if (!key.startsWith(prefix)) return false
  const project = key.slice(prefix.length).split('/', 1)[0] ?? ''
  return project !== '' && project !== ownProject
}

export function createCrossProjectCounts(deps: {
  /** The agent's project, or null where it has none. */
  readonly projectOf: (agentId: string) => string | null
}): CrossProjectCounts {
  const counts = new Map<string, { read: number; write: number }>()

  return {
    count: (caller, key, way) => {
      // The operator works for all projects and belongs to none.
      if (caller.kind !== 'agent' || caller.agentId === operatorAgentId) return
      if (!crossesProject(deps.projectOf(caller.agentId), key)) return
      if (counts.size >= agentsMax) counts.clear()
      const count = counts.get(caller.agentId) ?? { read: 0, write: 0 }
      count[way]++
      counts.set(caller.agentId, count)
    },
    of: (agentId) => ({ read: 0, write: 0, ...counts.get(agentId) }),
    total: () => {
      const total = { read: 0, write: 0 }
      for (const { read, write } of counts.values()) {
        total.read += read
        total.write += write
      }
      return total
    },
    forget: (agentId) => void counts.delete(agentId),
  }
}
