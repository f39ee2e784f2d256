import { requestStates } from '@flotilla/protocol/vault-api'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'

export type RequestState = (typeof requestStates)[number]

/** A request of an agent to the owner. Times are milliseconds since 1970. */
export interface CredentialRequest {
  readonly id: string
  readonly agentId: string
  readonly name: string
  readonly service: string
  readonly description: string
  /** The run that made the request. */
  readonly runId: string | null
  readonly state: RequestState
  /** The owner's reason for a denial. */
  readonly reason: string
  readonly createdAt: number
  readonly answeredAt: number | null
  readonly notifiedAt: number | null
}

const rowSchema = z
  .object({
    id: z.string(),
    agent_id: z.string(),
    name: z.string(),
    service: z.string(),
    description: z.string(),
    run_id: z.string().nullable(),
    state: z.enum(requestStates),
    reason: z.string(),
    created_at: z.number(),
    answered_at: z.number().nullable(),
    told_at: z.number().nullable(),
  })
  .transform((row): CredentialRequest => ({
    id: row.id,
    agentId: row.agent_id,
    name: row.name,
    service: row.service,
    description: row.description,
    runId: row.run_id,
    state: row.state,
    reason: row.reason,
    createdAt: row.created_at,
    answeredAt: row.answered_at,
    notifiedAt: row.told_at,
  }))

export type RequestTable = ReturnType<typeof createRequestTable>

export function createRequestTable(database: Database) {
  const find = (sql: string, ...values: (string | number)[]): readonly CredentialRequest[] =>
    database
      .prepare(`SELECT * FROM credential_requests ${sql}`)
      .all(...values)
      .map((row) => rowSchema.parse(row))

  return {
    insert: (
      request: Pick<
        CredentialRequest,
        'id' | 'agentId' | 'name' | 'service' | 'description' | 'runId' | 'createdAt'
      >,
    ) => {
      database
        .prepare(
          `INSERT INTO credential_requests (id, agent_id, name, service, description, run_id, state, reason, created_at)
           VALUES (?, ?, ?, ?, ?, ?, 'open', '', ?)`,
        )
        .run(
          request.id,
          request.agentId,
          request.name,
          request.service,
          request.description,
          request.runId,
          request.createdAt,
        )
    },
    byId: (id: string) => find('WHERE id = ?', id)[0] ?? null,
    open: () => find("WHERE state = 'open' ORDER BY seq"),
    openOf: (agentId: string) => find("WHERE state = 'open' AND agent_id = ? ORDER BY seq", agentId),
    openFor: (name: string) => find("WHERE state = 'open' AND name = ? ORDER BY seq", name),
    /** This query needs no limit: an agent has few open requests, and makes no new ones while it accepts no work. */
    undelivered: () => find("WHERE state <> 'open' AND told_at IS NULL ORDER BY answered_at"),
    newest: (limit: number) => find('ORDER BY seq DESC LIMIT ?', limit),
    answer: (id: string, answer: { state: RequestState; reason: string; at: number }) => {
      database
        .prepare(
          "UPDATE credential_requests SET state = ?, reason = ?, answered_at = ? WHERE id = ? AND state = 'open'",
        )
        .run(answer.state, answer.reason, answer.at, id)
    },
    markDelivered: (id: string, at: number) => {
      database.prepare('UPDATE credential_requests SET told_at = ? WHERE id = ?').run(at, id)
    },
    forget: (agentId: string) => {
      database.prepare('DELETE FROM credential_requests WHERE agent_id = ?').run(agentId)
    },
    /** Deletes old requests whose agents were notified; the newest `kept` rows stay. */
    trim: (kept: number) => {
      database
        .prepare(
          'DELETE FROM credential_requests WHERE told_at IS NOT NULL AND seq <= (SELECT max(seq) FROM credential_requests) - ?',
        )
        .run(kept)
    },
  }
}
