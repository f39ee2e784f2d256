import type { Clock } from '@flotilla/protocol/clock'
import { spawnedPrefix } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import type { Action, Guard } from './action.ts'
import { authorize } from './authorize.ts'
import { actorOf } from './caller.ts'
import type { Caller } from './caller.ts'
import type { DenialCounts } from './denial-counts.ts'
import type { PermissionSnapshot } from './permission-file.ts'
import { createWriteWindow } from './write-window.ts'

export interface GuardDeps {
  readonly permissions: { snapshot(): PermissionSnapshot }
  readonly denials: DenialCounts
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
  readonly clock: Clock
  readonly log: Log
  /** Called with every denial, so that the caller of `createGuard` can count denials. */
  readonly onDenied?: (denial: { readonly caller: Caller; readonly action: Action }) => void
}

/** The maximum length of a name or reason in the audit record of a denial, in characters. */
const subjectMaxChars = 200

/**
 * Throws the Problem `denied` unless the caller may carry out the action. Call it before a transaction, because a
 * rollback would undo the record of the denial.
 */
export function createGuard(deps: GuardDeps): Guard {
  const unwrittenBefore = createWriteWindow(deps.clock)

  return (caller, action) => {
    const snapshot = deps.permissions.snapshot()
    const decision = authorize(snapshot, caller, action)
    if (decision.allowed) return
    const { reason, field } = decision
    if (caller.kind === 'agent' && action.do !== 'call-route') deps.denials.add(caller.agentId, action.do)
    deps.onDenied?.({ caller, action })
    const skipped = unwrittenBefore(actorOf(caller))
    if (skipped !== null) record(deps, { caller, action, reason, skipped })
    const agentId = caller.kind === 'agent' ? caller.agentId : null
    const line =
      agentId === null ? null : (snapshot.lineOf(agentId, field ?? undefined) ?? snapshot.lineOf(agentId))
    // If the record is valid and no field would allow the action, changing permissions does not help.
    const isOfNoField =
      agentId !== null &&
      field === null &&
      snapshot.broken === null &&
      snapshot.recordOf(agentId) !== undefined
    const isOfSpawned = agentId?.startsWith(spawnedPrefix) === true
    const isOfRole = caller.kind === 'human' && caller.role !== 'owner'
    throw new Problem('denied', {
      detail: reason,
      ...(isOfNoField ? { repair: ofNoFieldRepair } : {}),
      ...(isOfSpawned ? { repair: ofSpawnedRepair } : {}),
      ...(isOfRole ? { repair: ofRoleRepair } : {}),
      extra: { action: action.do, ...(field === null ? {} : { field }), ...(line === null ? {} : { line }) },
    })
  }
}

const ofRoleRepair =
  'Ask an owner of the fleet to do this, or to extend your role or agents: flotilla people change NAME --role ROLE --agents AGENTS.'

const ofNoFieldRepair =
  'No permission can allow this action. Continue without it, or tell the owner with notify_user what you wanted to do.'

/**
 * The permissions of a spawned agent cannot be changed: they are within its parent's, and it is deleted with
 * its task.
 */
const ofSpawnedRepair =
  'You were created for one task, and your permissions cannot be extended. Continue without this action, and report in complete_task what you could not do and why.'

function record(
  deps: GuardDeps,
  denial: { caller: Caller; action: Action; reason: string; skipped: number },
): void {
  const { caller, action, reason, skipped } = denial
  const actor = actorOf(caller)
  deps.log.warn(
    { actor, action: action.do, reason, skipped },
    'denied a call that its caller has no permission for',
  )
  deps.journal.append({
    actor,
    action: 'permission.denied',
    subject: subjectOf(action),
    detail: { action: action.do, reason: reason.slice(0, subjectMaxChars), skipped },
  })
  if (caller.kind === 'agent') {
    deps.events.publish({ type: 'call.denied', agent_id: caller.agentId, action: action.do, reason })
  }
}

/** Returns the name of the action's object; empty if the action has no object. */
function subjectOf(action: Action): string {
  if ('to' in action) return action.to
  if ('key' in action) return action.key.slice(0, subjectMaxChars)
  if ('api' in action) return action.api
  if ('topic' in action) return action.topic.slice(0, subjectMaxChars)
  if ('name' in action) return action.name.slice(0, subjectMaxChars)
  if ('browserAction' in action) return action.browserAction.slice(0, subjectMaxChars)
  if ('chain' in action) return action.chain.slice(0, subjectMaxChars)
  return 'agentId' in action ? action.agentId : 'fleet'
}
