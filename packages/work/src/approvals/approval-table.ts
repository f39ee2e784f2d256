import { approvalStates } from '@flotilla/protocol/agent-edit'
import type { ApprovalState } from '@flotilla/protocol/agent-edit'
import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import { originSchema } from '@flotilla/protocol/origin'
import * as z from 'zod'
import type { Database } from '@flotilla/foundation/storage'
import { jsonColumn, readRows } from '@flotilla/foundation/storage'
import type { ApprovalRecord } from './approval-record.ts'
import { createApprovalRunsTable } from './approval-runs-table.ts'

/** Parses a row with these columns. */
export const approvalRowSchema = z
  .object({
    id: z.string(),
    kind: z.string(),
    subject: z.string(),
    summary: z.string(),
    args: jsonColumn(jsonObjectSchema),
    digest: z.string(),
    asked_by: z.string(),
    origin: jsonColumn(originSchema),
    run_id: z.string().nullable(),
    state: z.enum(approvalStates),
    created_at: z.number(),
    expires_at: z.number(),
    resolved_at: z.number().nullable(),
    resolved_by: z.string().nullable(),
    detail: z.string(),
  })
  .transform((row): ApprovalRecord => ({
    id: row.id,
    kind: row.kind,
    subject: row.subject,
    summary: row.summary,
    args: row.args,
    digest: row.digest,
    requester: row.asked_by,
    origin: row.origin,
    runId: row.run_id,
    state: row.state,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    resolvedAt: row.resolved_at,
    resolvedBy: row.resolved_by,
    detail: row.detail,
  }))

export const approvalColumns =
  'id, kind, subject, summary, args, digest, asked_by, origin, run_id, state, created_at, expires_at, resolved_at, resolved_by, detail'

export type ApprovalTable = ReturnType<typeof createApprovalTable>

/** Reads and writes the rows of approvals; callers make the decisions. */
export function createApprovalTable(database: Database) {
  const { many, count } = readRows(database, approvalRowSchema)

  return {
    /** Inserts an approval. `effect`: digest of its effect (`equal-effects.ts`), null in rows of earlier releases. */
    insert: (row: ApprovalRecord, effect: string): void => {
      database
        .prepare(
          'INSERT INTO approvals (id, kind, subject, summary, args, digest, effect, asked_by, origin, run_id, state, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
        )
        .run(
          row.id,
          row.kind,
          row.subject,
          row.summary,
          JSON.stringify(row.args),
          row.digest,
          effect,
          row.requester,
          JSON.stringify(row.origin),
          row.runId,
          row.state,
          row.createdAt,
          row.expiresAt,
        )
    },
    /** Changes the state of an approval. Returns false if the row is no longer in the expected state. */
    move: (
      id: string,
      from: ApprovalState,
      to: {
        readonly state: ApprovalState
        readonly at: number
        readonly by: string
        readonly detail: string
      },
    ): boolean =>
      database
        .prepare(
          'UPDATE approvals SET state = ?, resolved_at = ?, resolved_by = ?, detail = ? WHERE id = ? AND state = ?',
        )
        .run(to.state, to.at, to.by, to.detail, id, from).changes === 1,
    find: (id: string): ApprovalRecord | null =>
      many(`SELECT ${approvalColumns} FROM approvals WHERE id = ?`, id)[0] ?? null,
    /** Returns the caller's pending row with this effect, or an earlier release's row with the same arguments. */
    findPending: (
      requester: string,
      { effect, digest }: { readonly effect: string; readonly digest: string },
    ): ApprovalRecord | null =>
      many(
        `SELECT ${approvalColumns} FROM approvals WHERE asked_by = ? AND (effect = ? OR digest = ?) AND state = 'pending'`,
        requester,
        effect,
        digest,
      )[0] ?? null,
    ...createApprovalRunsTable(database),
    pendingCount: () => count("SELECT count(*) AS count FROM approvals WHERE state = 'pending'"),
    pendingCountOf: (requester: string) =>
      count("SELECT count(*) AS count FROM approvals WHERE state = 'pending' AND asked_by = ?", requester),
    /** Returns the ids of the approvals that this run requested and that are pending or being carried out. */
    openOf: (runId: string): readonly string[] =>
      database
        .prepare(
          `SELECT id FROM approvals WHERE state IN ('pending', 'confirmed')
           AND (run_id = ?1 OR id IN (SELECT approval_id FROM approval_runs WHERE run_id = ?1)) ORDER BY position`,
        )
        .all(runId)
        .map((row) => String(row['id'])),
    pendingOfRun: (runId: string) =>
      many(
        `SELECT ${approvalColumns} FROM approvals WHERE state = 'pending'
         AND (run_id = ?1 OR id IN (SELECT approval_id FROM approval_runs WHERE run_id = ?1))`,
        runId,
      ),
    /** Returns rows of a kind that have this text as an argument and are undecided or being carried out. */
    openWith: (kind: string, argument: { readonly name: string; readonly value: string }) =>
      many(
        `SELECT ${approvalColumns} FROM approvals WHERE kind = ? AND state IN ('pending', 'confirmed')
         AND json_extract(args, '$.' || ?) = ? ORDER BY position`,
        kind,
        argument.name,
        argument.value,
      ),
    /** Returns the pending approvals about an agent, and those that it requested. */
    pendingWith: (agentId: string) =>
      many(
        `SELECT ${approvalColumns} FROM approvals WHERE state = 'pending' AND (subject = ?1 OR asked_by = 'agent:' || ?1)`,
        agentId,
      ),
    expiredBy: (now: number) =>
      many(`SELECT ${approvalColumns} FROM approvals WHERE state = 'pending' AND expires_at <= ?`, now),
    confirmed: () => many(`SELECT ${approvalColumns} FROM approvals WHERE state = 'confirmed'`),
    /** Returns the ids of the caller's approvals, or of all for null, that were carried out since a time. */
    doneSince: (since: number, requester: string | null): readonly string[] =>
      database
        .prepare(
          `SELECT id FROM approvals WHERE created_at >= ?1 AND state = 'done' AND (?2 IS NULL OR asked_by = ?2)
           ORDER BY position`,
        )
        .all(since, requester)
        .map((row) => String(row['id'])),
    /** Lists approvals, newest first. */
    list: (page: {
      readonly open: boolean
      readonly requester?: string | undefined
      readonly limit: number
    }) => {
      const where = page.open ? "state IN ('pending', 'confirmed')" : 'true'
      return page.requester === undefined
        ? many(
            `SELECT ${approvalColumns} FROM approvals WHERE ${where} ORDER BY position DESC LIMIT ?`,
            page.limit,
          )
        : many(
            `SELECT ${approvalColumns} FROM approvals WHERE ${where} AND asked_by = ? ORDER BY position DESC LIMIT ?`,
            page.requester,
            page.limit,
          )
    },
    /** Deletes old approvals: keeps all open ones, and the newest of the others. */
    trim: (keptMax: number): void => {
      database
        .prepare(
          "DELETE FROM approvals WHERE state NOT IN ('pending', 'confirmed') AND position <= (SELECT max(position) FROM approvals) - ?",
        )
        .run(keptMax)
      database.exec('DELETE FROM approval_runs WHERE approval_id NOT IN (SELECT id FROM approvals)')
    },
  }
}
