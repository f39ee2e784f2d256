import { Problem } from '@flotilla/protocol/problem'
import type { Database } from '@flotilla/foundation/storage'
import * as z from 'zod'

/** The maximum size of kept bodies, in bytes: of one, of one agent together, and of the fleet. */
export const keptBodyLimits = {
  oneMaxBytes: 4 * 1024 * 1024,
  agentMaxBytes: 16 * 1024 * 1024,
  fleetMaxBytes: 256 * 1024 * 1024,
} as const

const sizeSchema = z.object({ bytes: z.number() })
const bodySchema = z.object({ body: z.instanceof(Uint8Array) })

export type KeptBodyTable = ReturnType<typeof createKeptBodyTable>

/** Stores the bodies of requests that wait for a person. Each belongs to the `once` of its approval. */
export function createKeptBodyTable(database: Database) {
  const bytesWhere = (where: string, ...values: string[]): number =>
    sizeSchema.parse(
      database
        .prepare(`SELECT coalesce(sum(length(body)), 0) AS bytes FROM kept_bodies WHERE ${where}`)
        .get(...values),
    ).bytes
  return {
    /** Joins the caller's transaction. Problem `approvals-full` if the agent or the fleet keeps too much. */
    keep: (kept: { readonly once: string; readonly agentId: string; readonly body: Uint8Array }): void => {
      const ofAgent = bytesWhere('agent_id = ?', kept.agentId) + kept.body.length
      if (ofAgent > keptBodyLimits.agentMaxBytes) throw full('this agent', keptBodyLimits.agentMaxBytes)
      if (bytesWhere('true') + kept.body.length > keptBodyLimits.fleetMaxBytes)
        throw full('the fleet', keptBodyLimits.fleetMaxBytes)
      database
        .prepare('INSERT INTO kept_bodies (once, agent_id, body) VALUES (?, ?, ?)')
        .run(kept.once, kept.agentId, kept.body)
    },
    read: (once: string): Buffer | null => {
      const row = database.prepare('SELECT body FROM kept_bodies WHERE once = ?').get(once)
      return row === undefined ? null : Buffer.from(bodySchema.parse(row).body)
    },
    forget: (once: string): void => {
      database.prepare('DELETE FROM kept_bodies WHERE once = ?').run(once)
    },
  }
}

function full(of: string, bytes: number): Problem {
  return new Problem('approvals-full', {
    detail: `requests of ${of} that wait for a person have ${bytes} bytes together, the maximum`,
  })
}
