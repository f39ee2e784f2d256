import type { Clock } from '@flotilla/protocol/clock'
import { notFound } from '@flotilla/protocol/not-found'
import { Problem } from '@flotilla/protocol/problem'
import type { Log } from '@flotilla/foundation/platform'
import type { Caller, Guard, PersonAtTerminal } from '@flotilla/identity/access'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import type { ApprovalKinds } from './approval-kind.ts'
import { approvalDigest } from './approval-record.ts'
import type { ApprovalRecord } from './approval-record.ts'
import type { ApprovalTable } from './approval-table.ts'
import type { MoveApproval } from './settle-approval.ts'

export interface Confirmation {
  readonly id: string
  /** The digest that the person saw. */
  readonly digest: string
}

export interface ConfirmDeps {
  readonly database: Database
  readonly table: ApprovalTable
  readonly kinds: ApprovalKinds
  readonly guard: Guard
  readonly move: MoveApproval
  readonly clock: Clock
  readonly log: Log
}

/**
 * Confirms an approval and carries its action out once, exactly as it was shown; resolves when the action is done or
 * has failed, or with the state `confirmed` if the action goes on in the background. Problems: `human-only` for all callers except a person at the terminal or the dashboard, `not-found`,
 * `approval-expired`, `approval-used`, `approval-changed` if the digest differs from that of the pending action.
 */
export type ConfirmApproval = (caller: Caller, confirmation: Confirmation) => Promise<ApprovalRecord>

export function createConfirmApproval(deps: ConfirmDeps): ConfirmApproval {
  const { database, table, move } = deps
  return async (caller, confirmation) => {
    deps.guard(caller, { do: 'manage-fleet' })
    const person = requireAtTerminal(caller, 'confirm what waits for a person')
    const confirmed = database.transaction((): ApprovalRecord | Problem => {
      const row = table.find(confirmation.id)
      if (!row) return notFound('approval', `no approval has the id ${confirmation.id.slice(0, 60)}`)
      if (row.state === 'pending' && row.expiresAt <= deps.clock.now()) {
        move(row, { to: 'expired', by: 'system', detail: expiredWords })
        return expired(row)
      }
      if (row.state === 'expired') return expired(row)
      if (row.state !== 'pending') {
        return new Problem('approval-used', {
          detail: `${row.id} is ${row.state} since ${new Date(row.resolvedAt ?? 0).toISOString()}`,
          extra: { state: row.state },
        })
      }
      if (row.digest !== confirmation.digest || approvalDigest(row.kind, row.args) !== row.digest) {
        return new Problem('approval-changed', {
          detail: `the action of approval ${row.id} differs from the one that you were shown`,
        })
      }
      return move(row, { to: 'confirmed', by: actorOf(person), detail: '' }) ?? row
    })
    // Thrown after the transaction, because a throw inside would undo the change to `expired`.
    if (confirmed instanceof Problem) throw confirmed
    return endOrNow(deps, confirmed, carryOut(deps, confirmed, person))
  }
}

/**
 * Returns how a confirmed action ended. An action that can take minutes goes on in the background, and its approval is
 * returned at once in the state `confirmed`.
 */
export async function endOrNow(
  { kinds, log }: Pick<ConfirmDeps, 'kinds' | 'log'>,
  row: ApprovalRecord,
  action: Promise<ApprovalRecord>,
): Promise<ApprovalRecord> {
  if (kinds[row.kind]?.inBackground !== true) return action
  action.catch((error: unknown) =>
    log.error({ approvalId: row.id, err: error }, 'failed to carry out a confirmed action in the background'),
  )
  return row
}

export const expiredWords = 'No person confirmed the action in time, so it was not carried out.'
const lateWords =
  'The action was confirmed, but the approval expired before the mesh could carry it out, so nothing more happens.'

function expired(row: ApprovalRecord): Problem {
  return new Problem('approval-expired', {
    detail: `the approval ${row.id} expired at ${new Date(row.expiresAt).toISOString()} without a decision`,
  })
}

/**
 * Carries out a confirmed action and records the result. Checks the expiry again, and so does the kind before its
 * first irreversible step: since the confirmation, the mesh may have been down, or a chain slow.
 */
export async function carryOut(
  deps: Pick<ConfirmDeps, 'kinds' | 'move' | 'table' | 'log' | 'clock'>,
  row: ApprovalRecord,
  person: PersonAtTerminal,
): Promise<ApprovalRecord> {
  const by = actorOf(person)
  const kind = Object.hasOwn(deps.kinds, row.kind) ? deps.kinds[row.kind] : undefined
  const requireInTime = (): void => {
    if (row.expiresAt <= deps.clock.now()) throw new Problem('approval-expired', { detail: lateWords })
  }
  let end: { to: 'done' | 'failed' | 'expired'; detail: string }
  try {
    requireInTime()
    if (approvalDigest(row.kind, row.args) !== row.digest) {
      throw new Problem('approval-changed', {
        detail: `the stored action of approval ${row.id} differs from the one that was confirmed`,
      })
    }
    if (!kind)
      throw new Problem('unprocessable', { detail: `this release does not know the kind ${row.kind}` })
    end = { to: 'done', detail: await kind.carryOut(person, row.args, { requireInTime, runId: row.runId }) }
  } catch (error) {
    deps.log.error(
      { approvalId: row.id, kind: row.kind, err: error },
      'failed to carry out a confirmed action; the approval and the asking run show the reason',
    )
    const isLate = error instanceof Problem && error.code === 'approval-expired'
    const detail = error instanceof Problem ? error.detail : 'internal error; see the log of the mesh'
    end = { to: isLate ? 'expired' : 'failed', detail: detail }
  }
  return deps.move(row, { ...end, by }) ?? deps.table.find(row.id) ?? row
}
