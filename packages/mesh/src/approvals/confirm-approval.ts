import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { Log } from '../platform/index.ts'
import type { Caller, Guard, PersonAtTerminal } from '../access/index.ts'
import { actorOf, requireAtTerminal } from '../access/index.ts'
import type { Database } from '../storage/index.ts'
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
 * Carries the action out once, exactly as it was shown; resolves when it is done or has failed. Problems:
 * `human-only` for all callers except a person at the terminal or the dashboard, `not-found`, `approval-expired`,
 * `approval-used`, `approval-changed` if the digest differs from that of the pending action.
 */
export type ConfirmApproval = (caller: Caller, confirmation: Confirmation) => Promise<ApprovalRecord>

export function createConfirmApproval(deps: ConfirmDeps): ConfirmApproval {
  const { database, table, move } = deps
  return async (caller, confirmation) => {
    deps.guard(caller, { do: 'manage-fleet' })
    const person = requireAtTerminal(caller, 'confirm what waits for a person')
    const confirmed = database.transaction((): ApprovalRecord | Problem => {
      const row = table.find(confirmation.id)
      if (!row)
        return new Problem('not-found', { detail: `nothing waits under ${confirmation.id.slice(0, 60)}` })
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
        return new Problem('approval-changed', { detail: `${row.id} is not what you were shown` })
      }
      return move(row, { to: 'confirmed', by: actorOf(person), detail: '' }) ?? row
    })
    // Thrown after the transaction, because a throw inside would roll the expiry back.
    if (confirmed instanceof Problem) throw confirmed
    return carryOut(deps, confirmed, person)
  }
}

export const expiredWords = 'It was not confirmed in time, so it was not done.'
const lateWords =
  'It was confirmed, and its time was over before it was carried out, so nothing more is done for it.'

function expired(row: ApprovalRecord): Problem {
  return new Problem('approval-expired', {
    detail: `${row.id} waited until ${new Date(row.expiresAt).toISOString()} and was not confirmed`,
  })
}

/**
 * Carries out a confirmed action and records the result. The expiry is checked here again, and by the kind before its
 * first irreversible step: the mesh may have been down, or a chain slow, since the confirmation.
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
      throw new Problem('approval-changed', { detail: `${row.id} is not what was confirmed any more` })
    }
    if (!kind)
      throw new Problem('unprocessable', { detail: `this release does not know the kind ${row.kind}` })
    end = { to: 'done', detail: await kind.carryOut(person, row.args, requireInTime) }
  } catch (error) {
    deps.log.error(
      { approvalId: row.id, kind: row.kind, err: error },
      'failed to carry out a confirmed action; the approval and the asking run show the reason',
    )
    const isLate = error instanceof Problem && error.code === 'approval-expired'
    const words = error instanceof Problem ? error.detail : 'something failed inside; see the log of the mesh'
    end = { to: isLate ? 'expired' : 'failed', detail: words }
  }
  return deps.move(row, { ...end, by }) ?? deps.table.find(row.id) ?? row
}
