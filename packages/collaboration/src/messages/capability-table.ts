import type { Database } from '@flotilla/foundation/storage'

export type CapabilityTable = ReturnType<typeof createCapabilityTable>

/** Stores the capabilities that each agent declares. */
export function createCapabilityTable(database: Database) {
  const names = (sql: string, ...values: string[]): readonly string[] =>
    database
      .prepare(sql)
      .all(...values)
      .map((row) => String(row['found']))
  /** Names of capabilities by agent, cached for lists of agents; only this table writes the rows. */
  const known = new Map<string, readonly string[]>()
  const changed = (agentId: string): void => {
    known.delete(agentId)
    database.afterRollback(() => known.delete(agentId))
  }
  const forget = (agentId: string): void => {
    database.prepare('DELETE FROM agent_capabilities WHERE agent_id = ?').run(agentId)
    changed(agentId)
  }
  return {
    of: (agentId: string) => {
      const found =
        known.get(agentId) ??
        names('SELECT name AS found FROM agent_capabilities WHERE agent_id = ? ORDER BY name', agentId)
      known.set(agentId, found)
      return found
    },
    /** Returns the ids of the agents that declare this capability, sorted. */
    declaring: (name: string) =>
      names('SELECT agent_id AS found FROM agent_capabilities WHERE name = ? ORDER BY agent_id', name),
    /** Every declared capability. */
    all: () => names('SELECT DISTINCT name AS found FROM agent_capabilities ORDER BY name'),
    replace: (agentId: string, capabilities: readonly string[], at: number): void => {
      forget(agentId)
      const insert = database.prepare(
        'INSERT OR IGNORE INTO agent_capabilities (agent_id, name, declared_at) VALUES (?, ?, ?)',
      )
      for (const name of capabilities) insert.run(agentId, name, at)
      changed(agentId)
    },
    forget,
  }
}
