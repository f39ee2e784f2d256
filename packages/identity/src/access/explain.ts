import { nearestName } from '@flotilla/protocol/nearest-name'
import { findPermissionAction, permissionActions } from '@flotilla/protocol/permission-actions'
import { controlPlaneFlags } from '@flotilla/protocol/permission-record'
import type { PermissionActionName } from '@flotilla/protocol/permission-actions'
import { Problem } from '@flotilla/protocol/problem'
import type { Action, Decision } from './action.ts'
import { authorize } from './authorize.ts'
import type { PermissionSnapshot } from './permission-file.ts'

export interface Question {
  readonly agentId: string
  readonly action: string
  readonly resource: string | null
  /** Which of the agent's two tokens makes the call. */
  readonly as: 'door' | 'program'
}

export interface Explanation {
  readonly allowed: boolean
  readonly reason: string
  readonly field: string | null
  readonly file: string
  /** Line number from 1; null if no line of the file decides. */
  readonly line: number | null
  /** What would change a denial; empty if nothing would, or if the action is allowed. */
  readonly repair: string
}

const file = 'config/permissions.json'

/** Maps the name of each action to an action for the guard. A name without a row is a type error. */
const actionOf: {
  readonly [Name in PermissionActionName]: (resource: string) => Extract<Action, { readonly do: Name }>
} = {
  'message-agent': (to) => ({ do: 'message-agent', to }),
  // Explains the stricter case, in which another caller gave the agent its work.
  'steer-agent': (to) => ({ do: 'steer-agent', to, gave: false }),
  'publish-topic': (topic) => ({ do: 'publish-topic', topic }),
  'subscribe-topic': (topic) => ({ do: 'subscribe-topic', topic }),
  'read-blackboard': (key) => ({ do: 'read-blackboard', key }),
  'write-blackboard': (key) => ({ do: 'write-blackboard', key }),
  'call-api': (api) => ({ do: 'call-api', api }),
  'use-credential': (name) => ({ do: 'use-credential', name }),
  'use-browser': (browserAction) => ({ do: 'use-browser', browserAction }),
  'manage-cron': () => ({ do: 'manage-cron' }),
  'spawn-agent': () => ({ do: 'spawn-agent' }),
  'use-wallet': (chain) => ({ do: 'use-wallet', chain }),
  'spend-from-wallet': (resource) => {
    const [chain = '', usd = '', contract = ''] = resource.split(',').map((part) => part.trim())
    const valueUsd = usd === '' ? 0 : Number(usd)
    return {
      do: 'spend-from-wallet',
      chain,
      contract: contract === '' ? null : contract,
      valueUsd,
      spentTodayUsd: 0,
      spendsLastHour: 0,
      makers: [],
      // Explains the record alone; the fleet's own limits are in the settings.
      fleet: { perTxUsd: 0, dailyUsd: 0, perHour: 0 },
    }
  },
  'manage-fleet': () => ({ do: 'manage-fleet' }),
  'manage-agent': (agentId) => ({ do: 'manage-agent', agentId }),
  'manage-projects': () => ({ do: 'manage-projects' }),
  'edit-agent-config': (agentId) => ({ do: 'edit-agent-config', agentId }),
  'view-fleet': () => ({ do: 'view-fleet' }),
  'route-tasks': () => ({ do: 'route-tasks' }),
  'request-credential': () => ({ do: 'request-credential' }),
  'manage-credentials': () => ({ do: 'manage-credentials' }),
  'pause-work': () => ({ do: 'pause-work' }),
  'manage-people': () => ({ do: 'manage-people' }),
  'back-up': () => ({ do: 'back-up' }),
  'manage-webhooks': () => ({ do: 'manage-webhooks' }),
  'make-webhooks': () => ({ do: 'make-webhooks' }),
  'list-agents': () => ({ do: 'list-agents' }),
  'act-for-self': (agentId) => ({ do: 'act-for-self', agentId }),
  'submit-run': (to) => ({ do: 'submit-run', to }),
}

/**
 * Returns the decision of `authorize` and the line of the permission file that causes it. Problem `bad-request` with
 * the list of actions for an unknown action or a missing resource. Pure.
 */
export function explain(snapshot: PermissionSnapshot, question: Question): Explanation {
  const action = readAction(question)
  const { agentId, as } = question
  const decision = authorize(snapshot, { kind: 'agent', agentId, token: as, run: null }, action)
  const field = decision.field ?? null
  const line = lineOf(snapshot, agentId, decision)
  return {
    allowed: decision.allowed,
    reason: decision.allowed ? allowedBy(snapshot, agentId, field) : decision.reason,
    field,
    file,
    line,
    repair: decision.allowed ? takingOf(snapshot, agentId, field) : repairOf(snapshot, question, decision),
  }
}

function readAction({ action: name, resource }: Question): Action {
  const known = findPermissionAction(name)
  if (!known) {
    const names = permissionActions.map((action) => action.name)
    const near = nearestName(name, names)
    const hint = near === null ? `the actions are ${names.join(', ')}` : `did you mean ${near}?`
    throw new Problem('bad-request', { detail: `there is no action ${name.slice(0, 60)}; ${hint}` })
  }
  if (known.resource === null) {
    if (resource !== null)
      throw new Problem('bad-request', {
        detail: `the action ${name} has no resource; leave the resource out`,
      })
  } else if (resource === null || resource === '') {
    throw new Problem('bad-request', {
      detail: `the action ${name} needs a resource (${known.resource}), for example: ${name} ${known.example}`,
    })
  }
  return actionOf[known.name](resource ?? '')
}

/**
 * Returns the line of the entry that allows the action, else of the field, else of the agent's record, and null if
 * the file has none of them; in an invalid file, the line of the fault.
 */
function lineOf(snapshot: PermissionSnapshot, agentId: string, decision: Decision): number | null {
  if (snapshot.broken !== null) return snapshot.brokenLine
  const field = decision.field ?? null
  if (field === null) return snapshot.lineOf(agentId)
  const entry = decision.allowed ? decision.entry : undefined
  return snapshot.lineOf(agentId, field, entry) ?? snapshot.lineOf(agentId, field) ?? snapshot.lineOf(agentId)
}

function allowedBy(snapshot: PermissionSnapshot, agentId: string, field: string | null): string {
  if (field === null) return 'every agent that has a permission record may do this'
  return isDefault(snapshot, agentId, field)
    ? `the entry of ${agentId} does not name ${field}, which ${agentId} has by default`
    : `${field} of ${agentId} allows the action`
}

/** Returns the command that revokes a right which a record has by default; empty for any other right. */
function takingOf(snapshot: PermissionSnapshot, agentId: string, field: string | null): string {
  if (field === null || !isDefault(snapshot, agentId, field)) return ''
  return `Revoke the permission: flotilla permissions set ${agentId} ${field}=false`
}

function isDefault(snapshot: PermissionSnapshot, agentId: string, field: string): boolean {
  return controlPlaneFlags.some((flag) => flag === field) && snapshot.lineOf(agentId, field) === null
}

function repairOf(snapshot: PermissionSnapshot, question: Question, decision: Decision): string {
  const { agentId, resource } = question
  if (snapshot.broken !== null)
    return `Correct ${file} by hand; agents are denied everything until the file is valid.`
  if (snapshot.recordOf(agentId) === undefined) {
    return `Give the agent a permission record: flotilla permissions set ${agentId} can_message=operator`
  }
  const field = decision.field ?? null
  if (field === null) return ''
  const set = (change: string) => `Allow the action: flotilla permissions set ${agentId} ${change}`
  if (field.startsWith('can_') && !lists.includes(field)) return set(`${field}=true`)
  if (field.startsWith('wallet_spend_') || field.startsWith('wallet_rate_')) return set(`${field}=NUMBER`)
  const parts = question.action === 'spend-from-wallet' ? (resource ?? '').split(',') : [resource ?? '']
  const entry = field === 'wallet_allowed_contracts' ? parts[2] : parts[0]
  return set(`'${field}+=${(entry ?? '').trim()}'`)
}

const lists: readonly string[] = ['can_message', 'can_publish', 'can_subscribe']
