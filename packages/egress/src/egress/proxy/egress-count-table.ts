import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

/** The traffic of one agent with one host through the proxy. */
export interface EgressCount {
  readonly connections: number
  readonly refused: number
  /** Bytes sent to the host. */
  readonly bytesOut: number
  readonly bytesIn: number
}

export interface EgressCountRow extends EgressCount {
  readonly agentId: string
  readonly host: string
}

export interface EgressCountTable {
  hostsOf(agentId: string): readonly string[]
  add(row: EgressCountRow, at: number): void
  /** Rows with the largest traffic first. */
  list(limit: number): readonly EgressCountRow[]
  forget(agentId: string): void
}

const rowSchema = z
  .object({
    agent_id: z.string(),
    host: z.string(),
    connections: z.number(),
    refused: z.number(),
    bytes_out: z.number(),
    bytes_in: z.number(),
  })
  .transform((row): EgressCountRow => ({
    agentId: row.agent_id,
    host: row.host,
    connections: row.connections,
    refused: row.refused,
    bytesOut: row.bytes_out,
    bytesIn: row.bytes_in,
  }))

export function createEgressCountTable(database: Database): EgressCountTable {
  return {
    hostsOf: (agentId) =>
      database
        .prepare('SELECT host FROM egress_counts WHERE agent_id = ?')
        .all(agentId)
        .map((row) => String(row['host'])),
    add: (row, at) => {
      database
        .prepare(
          `INSERT INTO egress_counts (agent_id, host, connections, refused, bytes_out, bytes_in, last_at)
           VALUES (?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (agent_id, host) DO UPDATE SET
             connections = connections + excluded.connections,
             refused = refused + excluded.refused,
             bytes_out = bytes_out + excluded.bytes_out,
             bytes_in = bytes_in + excluded.bytes_in,
             last_at = excluded.last_at`,
        )
        .run(row.agentId, row.host, row.connections, row.refused, row.bytesOut, row.bytesIn, at)
    },
    list: (limit) =>
      database
        .prepare(
          `SELECT agent_id, host, connections, refused, bytes_out, bytes_in FROM egress_counts
           ORDER BY bytes_out + bytes_in DESC, connections DESC, agent_id, host LIMIT ?`,
        )
        .all(limit)
        .map((row) => rowSchema.parse(row)),
    forget: (agentId) => {
      database.prepare('DELETE FROM egress_counts WHERE agent_id = ?').run(agentId)
    },
  }
}
