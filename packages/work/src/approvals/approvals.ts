import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { Origin } from '@flotilla/protocol/origin'
import { notFound } from '@flotilla/protocol/not-found'
import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf, isAtTerminal, ownerOfActor } from '@flotilla/identity/access'
import type { SettledRun } from '../events/index.ts'
import type { IdentityEvents } from '@flotilla/identity/events'
import type { NotifyRun } from '../runs/index.ts'
import type { Database } from '@flotilla/foundation/storage'
import type { ApprovalKinds } from './approval-kind.ts'
import type { ApprovalRecord } from './approval-record.ts'
import { createApprovalTable } from './approval-table.ts'
import { createAskApproval } from './ask-approval.ts'
import type { AskApproval } from './ask-approval.ts'
import { createCancelApproval } from './cancel-approval.ts'
import type { CancelApproval } from './cancel-approval.ts'
import { carryOut, createConfirmApproval, endOrNow, expiredWords } from './confirm-approval.ts'
import type { ConfirmApproval } from './confirm-approval.ts'
import { formatRunCosts } from './format-run-costs.ts'
import { formatRunReads } from './format-run-reads.ts'
import type { WaitingRunCosts } from './format-run-costs.ts'
import { createMoveApproval } from './settle-approval.ts'

/** The interval between two searches for expired approvals, in milliseconds. */
const sweepIntervalMs = 5000
const unknownEndWords =
  'The mesh was stopped during the action, so it is unknown whether the action was carried out.'

export interface Approvals {
  readonly ask: AskApproval
  readonly confirm: ConfirmApproval
  readonly cancel: CancelApproval
  /** Lists approvals, newest first; an agent gets only its own. */
  list(caller: Caller, page: { readonly open: boolean; readonly limit: number }): readonly ApprovalView[]
  /** Returns one approval. Problem `not-found`, also if the calling agent may not see the approval. */
  read(caller: Caller, id: string): ApprovalView
  view(row: ApprovalRecord): ApprovalView
  pendingCount(): number
  /**
   * Gives pending approvals that further runs wait for to the next of them, and cancels those that only a cancelled run
   * waits for, in the transaction that settles the run.
   */
  runSettled(run: SettledRun): void
  /** Cancels approvals about a deleted agent, and those that it requested. */
  forget(agentId: string): void
  /** Continues actions that were confirmed but not completed when the previous mesh ended. */
  resume(): Promise<void>
  /** Expires approvals that were not confirmed in time. */
  sweep(): void
  /** Sweeps every 5 s until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

export interface ApprovalsDeps {
  readonly database: Database
  readonly kinds: ApprovalKinds
  readonly guard: Guard
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
  readonly identityEvents: Pick<IdentityEvents, 'personOf'>
  readonly notifyRun: NotifyRun
  readonly originOf: (caller: Caller) => Origin
  /** Returns the costs and reads of a run that waits for an approval; null if the run has ended. */
  readonly runCosts: (runId: string) => WaitingRunCosts | null
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
}

/**
 * Actions that need a person's confirmation.
 *
 * - A1 An approval is stored before a person sees it, bound to the digest of its exact arguments.
 * - A2 An approval is used at most once: one immediate transaction makes it `confirmed`, then the action runs.
 * - A3 Only a person at the terminal or the dashboard can confirm, but no agent, chat or program. Without an answer
 *   nothing is confirmed.
 * - A4 The requesting run waits for the decision and is notified of each outcome in words.
 * - A5 An approval that several runs wait for is carried out for the first of them that has not ended.
 */
export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { clock, log, guard } = deps
  const table = createApprovalTable(deps.database)
  const move = createMoveApproval({ ...deps, table })
  const view = (row: ApprovalRecord): ApprovalView => approvalView(row, deps)

  function sweep(): void {
    for (const row of table.expiredBy(clock.now())) {
      move(row, { to: 'expired', by: 'system', detail: expiredWords })
    }
  }

  /** Carries out an action that was confirmed before a restart, with the current permissions of the person. */
  async function carryOutAsThen(row: ApprovalRecord): Promise<ApprovalRecord> {
    const by = confirmerNow(deps.identityEvents, row)
    if (isAtTerminal(by)) return carryOut({ ...deps, table, move }, row, by)
    const detail = `${row.resolvedBy ?? 'The person'} confirmed the action and has lost the permission since. The mesh was stopped before the action, so it was not carried out; request it again.`
    return move(row, { to: 'failed', by: 'system', detail }) ?? row
  }

  /** Decides what to do with a confirmed action that a restart interrupted. */
  function foundOf(row: ApprovalRecord) {
    const kind = deps.kinds[row.kind]
    if (kind?.ifCutOff !== 'again') return { kind: 'unknown' } as const
    try {
      const detail = kind.wasDone(row.args)
      return detail === null ? ({ kind: 'not-done' } as const) : ({ kind: 'done', detail } as const)
    } catch (error) {
      log.error(
        { approvalId: row.id, kind: row.kind, err: error },
        'failed to find out whether a confirmed action was carried out; it is not repeated',
      )
      return { kind: 'unknown' } as const
    }
  }

  return {
    ask: createAskApproval({ ...deps, table, move }),
    confirm: createConfirmApproval({ ...deps, table, move }),
    cancel: createCancelApproval({ table, guard, move }),
    list: (caller, page) => {
      guard(caller, { do: 'manage-fleet' })
      const requester = caller.kind === 'agent' ? actorOf(caller) : undefined
      return table.list({ ...page, requester }).map(view)
    },
    read: (caller, id) => {
      guard(caller, { do: 'manage-fleet' })
      const row = table.find(id)
      if (row && (caller.kind !== 'agent' || row.requester === actorOf(caller))) return view(row)
      throw notFound('approval', `no approval has the id ${id.slice(0, 60)}`)
    },
    view,
    pendingCount: table.pendingCount,
    runSettled: (run) => {
      for (const row of table.pendingOfRun(run.id)) {
        const isAlone = table.runsOf(row).every((one) => one === run.id)
        if (!isAlone) table.leave(row.id, run.id)
        else if (run.state === 'cancelled')
          move(row, {
            to: 'cancelled',
            by: 'system',
            detail: 'The run that requested the approval was cancelled.',
          })
      }
    },
    forget: (agentId) => {
      for (const row of table.pendingWith(agentId)) {
        move(row, { to: 'cancelled', by: 'system', detail: `Agent ${agentId} no longer exists.` })
      }
    },
    resume: async () => {
      for (const row of table.confirmed()) {
        const found = foundOf(row)
        if (found.kind === 'not-done') await endOrNow(deps, row, carryOutAsThen(row))
        else if (found.kind === 'done')
          move(row, { to: 'done', by: row.resolvedBy ?? 'system', detail: found.detail })
        else move(row, { to: 'failed', by: 'system', detail: unknownEndWords })
      }
    },
    sweep,
    run: async (signal) => {
      while (!signal.aborted) {
        try {
          sweep()
        } catch (error) {
          log.error({ err: error }, 'failed to expire approvals; retrying in the next round')
        }
        await clock.sleep(sweepIntervalMs, signal).catch(() => {})
      }
    },
  }
}

/** Converts a row to the format of the API; the consequences are computed now. */
function approvalView(row: ApprovalRecord, deps: Pick<ApprovalsDeps, 'kinds' | 'runCosts'>): ApprovalView {
  const details = row.state === 'pending' ? currentDetails(row, deps) : { consequences: [], costs: [] }
  return {
    id: row.id,
    kind: row.kind,
    subject: row.subject,
    summary: row.summary,
    ...details,
    args: row.args,
    digest: row.digest,
    asked_by: row.requester,
    origin: row.origin,
    run_id: row.runId,
    state: row.state,
    created_at: row.createdAt,
    expires_at: row.expiresAt,
    resolved_at: row.resolvedAt,
    resolved_by: row.resolvedBy,
    detail: row.detail,
  }
}

/** Computes the current consequences and the known costs of a pending approval. */
function currentDetails(
  row: ApprovalRecord,
  { kinds, runCosts }: Pick<ApprovalsDeps, 'kinds' | 'runCosts'>,
): Pick<ApprovalView, 'consequences' | 'costs'> {
  const waiting = row.runId === null ? null : runCosts(row.runId)
  const ofRun = waiting === null ? [] : formatRunCosts(waiting)
  const reads = waiting === null ? [] : [formatRunReads(waiting)]
  try {
    const description = kinds[row.kind]?.describe(row.args)
    if (!description)
      return { consequences: ['This release does not know this kind of approval.'], costs: [...ofRun] }
    return {
      consequences: [...(description.repeats ?? []), ...description.consequences, ...reads],
      costs: [description.price, ...ofRun],
    }
  } catch (error) {
    const reason = error instanceof Problem ? error.detail : 'unknown reason'
    return { consequences: [`The action cannot be carried out now: ${reason}`], costs: [...ofRun] }
  }
}

/**
 * Returns the person who confirmed the approval, with their current role, which may have been revoked since. If the
 * person no longer exists, or the file of people is invalid, returns the mesh itself, which may confirm nothing.
 */
function confirmerNow(
  { personOf }: Pick<IdentityEvents, 'personOf'>,
  { resolvedBy }: ApprovalRecord,
): Caller {
  const then = ownerOfActor(resolvedBy ?? '')
  if (then.person === undefined) return then
  try {
    const [now] = personOf.ask(then.person)
    return now ? { ...then, user: then.person, ...now } : { kind: 'system' }
  } catch (error) {
    if (error instanceof Problem) return { kind: 'system' }
    throw error
  }
}
