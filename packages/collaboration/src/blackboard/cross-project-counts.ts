import { operatorAgentId } from '@flotilla/protocol/ids'
import type { Caller } from '@flotilla/identity/access'

/** Maximum number of agents with counts; above it all counts are reset. No decision depends on them. */
const agentsMax = 10_000
const prefix = 'projects/'

export interface CrossProjectCount {
  readonly read: number
  readonly write: number
}

/**
 * `_blackboard_xproject_count`: how often agents tried to access keys of a project that they do not belong to. The
 * guard rejects these attempts; the counts only inform people and are lost at a restart.
 */
export interface CrossProjectCounts {
  count(caller: Caller, key: string, way: 'read' | 'write'): void
  of(agentId: string): CrossProjectCount
  total(): CrossProjectCount
  forget(agentId: string): void
}

/** True if the key belongs to a project other than the agent's own. Pure. */
export function crossesProject(ownProject: string | null, key: string): boolean {
  if (!key.startsWith(prefix)) return false
  const project = key.slice(prefix.length).split('/', 1)[0] ?? ''
  return project !== '' && project !== ownProject
}

export function createCrossProjectCounts(deps: {
  /** Returns the agent's project, or null if the agent belongs to no project. */
  readonly projectOf: (agentId: string) => string | null
}): CrossProjectCounts {
  const counts = new Map<string, { read: number; write: number }>()

  return {
    count: (caller, key, way) => {
      // The operator works for all projects and belongs to none of them.
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
