import { readRows } from '@flotilla/foundation/storage'
import type { Database } from '@flotilla/foundation/storage'
import type { ApprovalRecord } from './approval-record.ts'
import { approvalColumns, approvalRowSchema } from './approval-table.ts'
import type { ApprovalRequest } from './ask-approval.ts'
import { effectDigest } from './equal-effects.ts'

/** Returns the newest approval of an equal effect that the run requested, in any state; null if it requested no such effect. */
export type ApprovalOfRun = (runId: string, request: ApprovalRequest) => ApprovalRecord | null

/** Returns the approval that a call of the run requested, by the idempotency key of the call; null if it requested none. */
export type ApprovalOfCall = (runId: string, key: string) => ApprovalRecord | null

export function createApprovalOfCall(database: Database): ApprovalOfCall {
  const { many } = readRows(database, approvalRowSchema)
  return (runId, key) =>
    many(
      `SELECT ${approvalColumns} FROM approvals
       WHERE json_extract(args, '$.run_id') = ? AND json_extract(args, '$.once') = ? ORDER BY position DESC LIMIT 1`,
      runId,
      key,
    )[0] ?? null
}

export function createApprovalOfRun(database: Database): ApprovalOfRun {
  const { many } = readRows(database, approvalRowSchema)
  return (runId, { kind, args }) =>
    many(
      `SELECT ${approvalColumns} FROM approvals WHERE effect = ?2
       AND (run_id = ?1 OR id IN (SELECT approval_id FROM approval_runs WHERE run_id = ?1))
       ORDER BY position DESC LIMIT 1`,
      runId,
      effectDigest(kind, args),
    )[0] ?? null
}
