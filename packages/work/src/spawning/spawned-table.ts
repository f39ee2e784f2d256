import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

/**
 * A spawned agent. `making`: only this row is sure to exist. `living`: the agent works on its one task. `ending`:
 * everything of the agent is being deleted, this row last.
 */
export interface SpawnedAgent {
  readonly agentId: string
  readonly parentId: string
  /** Number of spawned generations: 1 for a child of an agent that the owner created. */
  readonly depth: number
  readonly runId: string | null
  readonly taskId: string | null
  readonly state: 'making' | 'living' | 'ending'
  /** Why it ends. */
  readonly reason: string
  readonly createdAt: number
  readonly endsAt: number
}

export type SpawnedTable = ReturnType<typeof createSpawnedTable>

const rowSchema = z
  .object({
    agent_id: z.string(),
    parent_id: z.string(),
    depth: z.number(),
    run_id: z.string().nullable(),
    task_id: z.string().nullable(),
    state: z.enum(['making', 'living', 'ending']),
    reason: z.string(),
    created_at: z.number(),
    ends_at: z.number(),
  })
  .transform((row): SpawnedAgent => ({
    agentId: row.agent_id,
    parentId: row.parent_id,
    depth: row.depth,
    runId: row.run_id,
    taskId: row.task_id,
    state: row.state,
    reason: row.reason,
    createdAt: row.created_at,
    endsAt: row.ends_at,
  }))

export function createSpawnedTable(database: Database) {
  /** Parent by agent id, cached because every decision about an agent asks for it; only this table writes rows. */
  const parents = new Map<string, string | null>()

  function forget(agentId: string): void {
    parents.delete(agentId)
    database.afterRollback(() => parents.delete(agentId))
  }

  function find(agentId: string): SpawnedAgent | null {
    const row = database.prepare('SELECT * FROM spawned_agents WHERE agent_id = ?').get(agentId)
    return row ? rowSchema.parse(row) : null
  }

  const count = (sql: string, ...values: string[]): number =>
    Number(database.prepare(sql).get(...values)?.['count'] ?? 0)

  const many = (sql: string, ...values: (string | number)[]): readonly SpawnedAgent[] =>
    database
      .prepare(sql)
      .all(...values)
      .map((row) => rowSchema.parse(row))

  return {
    find,
    parentOf: (agentId: string): string | null => {
      const known = parents.get(agentId)
      if (known !== undefined) return known
      const parentId = find(agentId)?.parentId ?? null
      // Ids of agents that were not spawned are not cached: ids are random and would fill the cache.
      if (parentId !== null) parents.set(agentId, parentId)
      return parentId
    },
    insert: (row: SpawnedAgent): void => {
      database
        .prepare(
          `INSERT INTO spawned_agents (agent_id, parent_id, depth, run_id, task_id, state, reason, created_at, ends_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          row.agentId,
          row.parentId,
          row.depth,
          row.runId,
          row.taskId,
          row.state,
          row.reason,
          row.createdAt,
          row.endsAt,
        )
      forget(row.agentId)
    },
    lives: (agentId: string, work: { readonly runId: string; readonly taskId: string }): void => {
      database
        .prepare("UPDATE spawned_agents SET state = 'living', run_id = ?, task_id = ? WHERE agent_id = ?")
        .run(work.runId, work.taskId, agentId)
    },
    /** Marks the agent as ending. Returns false if the agent is ending already. */
    ends: (agentId: string, reason: string): boolean =>
      database
        .prepare(
          "UPDATE spawned_agents SET state = 'ending', reason = ? WHERE agent_id = ? AND state <> 'ending'",
        )
        .run(reason, agentId).changes === 1,
    remove: (agentId: string): void => {
      database.prepare('DELETE FROM spawned_agents WHERE agent_id = ?').run(agentId)
      forget(agentId)
    },
    childrenOf: (parentId: string) => many('SELECT * FROM spawned_agents WHERE parent_id = ?', parentId),
    countOf: (parentId: string) =>
      count('SELECT count(*) AS count FROM spawned_agents WHERE parent_id = ?', parentId),
    count: () => count('SELECT count(*) AS count FROM spawned_agents'),
    list: () => many('SELECT * FROM spawned_agents ORDER BY created_at, agent_id'),
    /** Returns agents that are ending or whose time is over. */
    due: (now: number) =>
      many("SELECT * FROM spawned_agents WHERE state = 'ending' OR ends_at <= ? ORDER BY ends_at", now),
    /** Agents whose creation a crash interrupted. */
    halfMade: () => many("SELECT * FROM spawned_agents WHERE state = 'making'"),
    /** Returns when the next agent must end; null if there is no agent. */
    nextEnd: (): number | null => {
      const found = database.prepare('SELECT min(ends_at) AS at FROM spawned_agents').get()?.['at']
      return typeof found === 'number' ? found : null
    },
  }
}
