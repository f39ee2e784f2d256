import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Log } from '@flotilla/foundation/platform'
import { isAtTerminal } from './at-terminal.ts'
import { actorOf } from './caller.ts'
import type { Caller } from './caller.ts'
import type { DenialCounts } from './denial-counts.ts'
import { operatorMayChange } from './operator-ceiling.ts'
import type { SubmittedFields } from './permission-change.ts'

/** Maximum length, in characters, of a name that a caller invented, in records and replies. */
const nameMaxChars = 60

export interface CeilingQuestion {
  readonly agentId: string
  /** The current record. */
  readonly current: PermissionRecord
  readonly fields: SubmittedFields
}

/** A requested change that exceeds the operator's ceiling. */
export interface AboveCeiling {
  /** The agent or project whose permission or budget is changed, as the audit log names it. */
  readonly subject: string
  readonly field: string
  readonly reason: string
}

/**
 * Refuses a change above the ceiling: it is counted, recorded and announced like any denial. Call it outside
 * of transactions, because its record must not roll back. Always throws the Problem `human-only`: such a
 * change never becomes a proposal.
 */
export type RefuseAboveCeiling = (caller: Caller, above: AboveCeiling) => never

export interface CeilingDeps {
  readonly denials: DenialCounts
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
  readonly log: Log
}

export function createRefuseAboveCeiling(deps: CeilingDeps): RefuseAboveCeiling {
  return (caller, { subject, field: named, reason }) => {
    const field = named.slice(0, nameMaxChars)
    const actor = actorOf(caller)
    deps.log.warn({ actor, subject, field, reason }, 'rejected an edit above the operator’s ceiling')
    deps.journal.append({ actor, action: 'ceiling.refused', subject, detail: { field, reason } })
    if (caller.kind === 'agent') {
      deps.denials.add(caller.agentId, 'edit-agent-config')
      deps.events.publish({
        type: 'call.denied',
        agent_id: caller.agentId,
        action: 'edit-agent-config',
        reason: `${field} of ${subject}: ${reason}`,
      })
    }
    throw new Problem('human-only', { detail: `${field}: ${reason}`, extra: { field } })
  }
}

/** Enforces the operator's ceiling for every caller except a person at the terminal. Problem `human-only`. */
export type HoldCeiling = (caller: Caller, question: CeilingQuestion) => void

export function createHoldCeiling(deps: CeilingDeps): HoldCeiling {
  const refuse = createRefuseAboveCeiling(deps)
  return (caller, { agentId, current, fields }) => {
    if (isAtTerminal(caller)) return
    const verdict = operatorMayChange(current, fields)
    if (!verdict.allowed) refuse(caller, { subject: agentId, field: verdict.field, reason: verdict.reason })
  }
}
