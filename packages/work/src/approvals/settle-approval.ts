import type { ApprovalState } from '@flotilla/protocol/agent-edit'
import type { Clock } from '@flotilla/protocol/clock'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { NotifyRun } from '../runs/index.ts'
import type { Database } from '@flotilla/foundation/storage'
import { canMoveApproval } from './approval-record.ts'
import type { ApprovalKinds } from './approval-kind.ts'
import type { ApprovalRecord } from './approval-record.ts'
import type { ApprovalTable } from './approval-table.ts'

export interface ApprovalMove {
  readonly to: ApprovalState
  /** Who changes the approval, in the form of the audit log. */
  readonly by: string
  readonly detail: string
}

/** Changes the state and returns the row; null if another caller has changed the state before. */
export type MoveApproval = (row: ApprovalRecord, move: ApprovalMove) => ApprovalRecord | null

/** The maximum length of the notification to the requesting run, in characters. */
const notificationMaxChars = 2000

/**
 * Creates the only function that changes the state of an approval: row, audit entry and event in one transaction. The
 * final change also notifies each run that requested the approval, and so queues that run again.
 */
export function createMoveApproval(deps: {
  readonly database: Database
  readonly table: ApprovalTable
  readonly kinds: ApprovalKinds
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
  readonly notifyRun: NotifyRun
  readonly clock: Clock
}): MoveApproval {
  const { database, table, journal, events, notifyRun, clock } = deps
  return (row, { to, by, detail }) =>
    database.transaction(() => {
      if (!canMoveApproval(row.state, to)) return null
      if (!table.move(row.id, row.state, { state: to, at: clock.now(), by, detail })) return null
      const next: ApprovalRecord = { ...row, state: to, resolvedAt: clock.now(), resolvedBy: by, detail }
      journal.append({
        actor: by,
        action: `approval.${to}`,
        subject: row.id,
        detail: { kind: row.kind, subject: row.subject, digest: row.digest, asked_by: row.requester },
      })
      events.publish({
        type: 'approval.settled',
        approval_id: row.id,
        agent_id: row.requester.replace(/^agent:/, ''),
        run_id: row.runId,
        state: to,
        detail: detail.slice(0, notificationMaxChars),
      })
      if (to !== 'confirmed' && Object.hasOwn(deps.kinds, row.kind))
        deps.kinds[row.kind]?.settled?.(row.args, to)
      for (const runId of to === 'confirmed' ? [] : table.runsOf(row)) {
        notifyRun(runId, `approval:${row.id}`, {
          kind: 'approval-outcome',
          approvalId: row.id,
          summary: row.summary,
          state: to,
          detail: detail.slice(0, notificationMaxChars),
        })
      }
      return next
    })
}
