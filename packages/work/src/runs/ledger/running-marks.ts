import type { Database } from '@flotilla/foundation/storage'

/** Id and fencing token of the run that holds a lane. */
interface RunningMark {
  readonly id: string
  readonly fence: number
}

/** Maximum number of cached agents; clearing the cache only costs queries. */
const agentsMax = 10_000

/**
 * Caches which run holds each agent's lane, because every call asks for that. Code that writes an agent's run calls
 * `forget` in the same transaction.
 */
export function createRunningMarks(database: Database) {
  const known = new Map<string, RunningMark | null>()

  return {
    /** Returns the run that holds the agent's lane; null while the lane is idle. */
    runningMarkOf(agentId: string): RunningMark | null {
      const found = known.get(agentId)
      if (found !== undefined) return found
      const row = database
        .prepare("SELECT id, fence FROM runs WHERE agent_id = ? AND state = 'running'")
        .get(agentId)
      const mark = row ? { id: String(row['id']), fence: Number(row['fence']) } : null
      if (known.size >= agentsMax) known.clear()
      known.set(agentId, mark)
      return mark
    },
    forget(agentId: string): void {
      known.delete(agentId)
      database.afterRollback(() => known.delete(agentId))
    },
  }
}
