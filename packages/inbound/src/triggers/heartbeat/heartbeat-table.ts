import { heartbeatFactsSchema } from '@flotilla/protocol/heartbeat-api'
import type { HeartbeatFire } from '@flotilla/protocol/heartbeat-api'
import * as z from 'zod'
import { fleetFactsSchema } from './fleet-changes.ts'
import type { FleetFacts } from './fleet-changes.ts'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn } from '@flotilla/foundation/storage'

/** Facts that were read from an agent, and whose sandbox was not used after that. */
const knownSchema = z.object({
  defaultRules: z.boolean(),
  recentActivity: z.boolean(),
  diskUsedPercent: z.number().nullable(),
  /** When the facts were read, in milliseconds since 1970. Rows of earlier releases have no value. */
  readAt: z.number().optional(),
})
export type KnownContext = Readonly<z.infer<typeof knownSchema>>

const rowSchema = z.object({
  known: jsonColumn(knownSchema).nullable(),
  last_key: z.string().nullable(),
  last_at: z.number().nullable(),
  last_manual: z.number(),
  last_skipped: z.string().nullable(),
  last_run_id: z.string().nullable(),
  last_rules_left_out: z.number(),
  last_facts: jsonColumn(heartbeatFactsSchema).nullable(),
})

interface LastFire extends HeartbeatFire {
  /** The key of a heartbeat, made of job and due time. */
  readonly key: string
}

export type HeartbeatTable = ReturnType<typeof createHeartbeatTable>

/** Stores one row for each agent that ever had a due heartbeat. */
export function createHeartbeatTable(database: Database) {
  const rowOf = (agentId: string) => {
    const row = database
      .prepare(
        'SELECT known, last_key, last_at, last_manual, last_skipped, last_run_id, last_rules_left_out, last_facts FROM heartbeats WHERE agent_id = ?',
      )
      .get(agentId)
    return row ? rowSchema.parse(row) : null
  }

  return {
    lastOf: (agentId: string): LastFire | null => {
      const row = rowOf(agentId)
      if (!row || row.last_key === null || row.last_at === null) return null
      return {
        key: row.last_key,
        at: row.last_at,
        manual: row.last_manual === 1,
        skipped: row.last_skipped,
        run_id: row.last_run_id,
        rules_left_out: row.last_rules_left_out,
        facts: row.last_facts,
      }
    },
    fired: (agentId: string, last: LastFire): void => {
      database
        .prepare(
          `INSERT INTO heartbeats (agent_id, last_key, last_at, last_manual, last_skipped, last_run_id, last_rules_left_out, last_facts)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent_id) DO UPDATE SET last_key = excluded.last_key,
           last_at = excluded.last_at, last_manual = excluded.last_manual,
           last_skipped = excluded.last_skipped, last_run_id = excluded.last_run_id,
           last_rules_left_out = excluded.last_rules_left_out, last_facts = excluded.last_facts`,
        )
        .run(
          agentId,
          last.key,
          last.at,
          last.manual ? 1 : 0,
          last.skipped,
          last.run_id,
          last.rules_left_out,
          last.facts === null ? null : JSON.stringify(last.facts),
        )
    },
    /** Returns the fleet state in the last heartbeat that ran; null if no heartbeat ran. */
    fleetOf: (agentId: string): FleetFacts | null => {
      const row = database.prepare('SELECT fleet FROM heartbeats WHERE agent_id = ?').get(agentId)
      const text = row?.['fleet']
      return typeof text === 'string' ? jsonColumn(fleetFactsSchema).parse(text) : null
    },
    /** Stores the fleet state of a fired heartbeat. Joins the caller's transaction. */
    tellFleet: (agentId: string, facts: FleetFacts): void => {
      database
        .prepare('UPDATE heartbeats SET fleet = ? WHERE agent_id = ?')
        .run(JSON.stringify(facts), agentId)
    },
    knownOf: (agentId: string): KnownContext | null => rowOf(agentId)?.known ?? null,
    know: (agentId: string, known: KnownContext): void => {
      database
        .prepare(
          'INSERT INTO heartbeats (agent_id, known, last_manual) VALUES (?, ?, 0) ON CONFLICT (agent_id) DO UPDATE SET known = excluded.known',
        )
        .run(agentId, JSON.stringify(known))
    },
    /** Deletes the agent's stored facts. Called by every turn of every agent, so it writes only if facts exist. */
    forgetKnown: (agentId: string): void => {
      if (rowOf(agentId)?.known === null || rowOf(agentId) === null) return
      database.prepare('UPDATE heartbeats SET known = NULL WHERE agent_id = ?').run(agentId)
    },
    remove: (agentId: string): void => {
      database.prepare('DELETE FROM heartbeats WHERE agent_id = ?').run(agentId)
    },
  }
}
