import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Origin } from '@flotilla/protocol/origin'
import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '@flotilla/foundation/events'
import { hasRoom } from '@flotilla/foundation/intake'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import type { ApprovalKinds } from './approval-kind.ts'
import { approvalDigest } from './approval-record.ts'
import type { ApprovalRecord } from './approval-record.ts'
import type { ApprovalTable } from './approval-table.ts'
import { expiredWords } from './confirm-approval.ts'
import { effectDigest } from './equal-effects.ts'
import type { MoveApproval } from './settle-approval.ts'

/** How long an approval waits for a person, milliseconds; far below how long a run may wait. */
export const approvalWaitsMs = 24 * 3600 * 1000
/** Limits of pending approvals, for one caller and in total; above the limit, new requests are rejected. */
const pendingBounds = { perAgentMax: 20, max: 200, floor: 2 } as const
/** How many decided approvals are kept. */
const keptMax = 1000
/** When a caller with too many pending approvals may retry, in seconds. */
const retryAfterSeconds = 600

export interface ApprovalRequest {
  readonly kind: string
  /** The exact arguments with which the action will be carried out. */
  readonly args: JsonObject
}

/** `joined`: the requester already had a pending approval for the same effect, which is returned. */
export type RequestedApproval = ApprovalRecord & { readonly joined?: true }

/**
 * Requests an approval and stores it before a person sees it. If the requester already has a pending approval with
 * the same effect (`equal-effects.ts`), that one is returned, and the new run is notified of the outcome as well.
 * Problems `denied`, `approvals-full`, and the problems of the kind.
 */
export type AskApproval = (caller: Caller, request: ApprovalRequest) => RequestedApproval

export function createAskApproval(deps: {
  readonly database: Database
  readonly table: ApprovalTable
  readonly kinds: ApprovalKinds
  readonly move: MoveApproval
  readonly guard: Guard
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
  /** Returns the origin of the work that makes the request, from the caller's run. */
  readonly originOf: (caller: Caller) => Origin
  readonly clock: Clock
  readonly newId: NewId
}): AskApproval {
  const { database, table, journal, events, clock } = deps
  return (caller, { kind: name, args }) => {
    const kind = Object.hasOwn(deps.kinds, name) ? deps.kinds[name] : undefined
    if (!kind) throw new Error(`there is no kind of approval ${name}`)
    deps.guard(caller, kind.action(args))
    const { subject, summary, repeats = [] } = kind.describe(args)
    const requester = actorOf(caller)
    const digest = approvalDigest(name, args)
    const effect = effectDigest(name, args)
    const runId = caller.kind === 'agent' ? (caller.run?.runId ?? null) : null
    return database.transaction((): RequestedApproval => {
      const known = table.findPending(requester, { effect, digest })
      if (known && known.expiresAt > clock.now()) return joined(known, runId)
      // The approval has expired, but the sweep has not run; two pending approvals must not have the same effect.
      if (known) deps.move(known, { to: 'expired', by: 'system', detail: expiredWords })
      requireRoom(table, requester)
      const row: ApprovalRecord = {
        id: deps.newId('appr'),
        kind: name,
        subject,
        summary,
        args,
        digest,
        requester,
        origin: deps.originOf(caller),
        runId,
        state: 'pending',
        createdAt: clock.now(),
        expiresAt: clock.now() + approvalWaitsMs,
        resolvedAt: null,
        resolvedBy: null,
        detail: '',
      }
      table.insert(row, effect)
      table.trim(keptMax)
      journal.append({
        actor: requester,
        action: 'approval.asked',
        subject: row.id,
        detail: { kind: name, subject, digest, run: row.runId },
      })
      events.publish({
        type: 'approval.asked',
        approval_id: row.id,
        agent_id: requester.replace(/^agent:/, ''),
        run_id: row.runId,
        summary,
        ...(repeats.length === 0 ? {} : { repeats: [...repeats] }),
        expires_at: row.expiresAt,
      })
      return row
    })
  }

  function joined(known: ApprovalRecord, runId: string | null): RequestedApproval {
    if (runId !== null && runId !== known.runId) {
      table.join(known, runId)
      journal.append({
        actor: known.requester,
        action: 'approval.joined',
        subject: known.id,
        detail: { kind: known.kind, subject: known.subject, digest: known.digest, run: runId },
      })
    }
    return { ...known, joined: true }
  }
}

function requireRoom(table: ApprovalTable, requester: string): void {
  const rows = { own: table.pendingCountOf(requester), total: table.pendingCount() }
  if (hasRoom(rows, pendingBounds)) return
  const isOwn = rows.own >= pendingBounds.perAgentMax
  throw new Problem('approvals-full', {
    detail: isOwn
      ? `${rows.own} actions of ${requester} already wait for a person, the maximum for one agent`
      : `${rows.total} actions already wait for a person, the maximum for the fleet`,
    retryAfterSeconds,
  })
}
