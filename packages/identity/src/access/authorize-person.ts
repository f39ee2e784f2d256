import { isGranted, roleReaches } from '@flotilla/protocol/people'
import type { Action, Decision } from './action.ts'
import type { HumanCaller } from './caller.ts'
import { denied } from './field-decisions.ts'

const allowed: Decision = { allowed: true }

/**
 * Decides whether this person, who is not an owner, may do this. A viewer only reads; a member acts on the
 * agents that it is granted, below the operator's ceiling. An action that no rule allows is denied. Pure.
 */
export function authorizePerson(caller: HumanCaller, action: Action): Decision {
  switch (action.do) {
    case 'call-route':
      return byRoute(caller, action)
    case 'view-fleet':
    case 'list-agents':
    case 'read-blackboard':
      return allowed
    case 'submit-run':
    case 'message-agent':
    case 'steer-agent':
      return onAgent(caller, action.to)
    case 'manage-agent':
      return onAgent(caller, action.agentId)
    case 'edit-agent-config':
      return action.what === undefined
        ? onAgent(caller, action.agentId)
        : denied(`only an owner may change ${action.what} of an agent; ${who(caller)}`, null)
    case 'manage-cron':
    case 'route-tasks':
      // The owner of a job and the receiver of a task are checked separately.
      return caller.role === 'member' ? allowed : watchOnly(caller)
    case 'act-for-self':
    case 'call-api':
    case 'make-webhooks':
    case 'manage-credentials':
    case 'manage-fleet':
    case 'manage-people':
    case 'back-up':
    case 'manage-projects':
    case 'manage-webhooks':
    case 'pause-work':
    case 'publish-topic':
    case 'request-credential':
    case 'spawn-agent':
    case 'spend-from-wallet':
    case 'subscribe-topic':
    case 'use-browser':
    case 'use-credential':
    case 'use-wallet':
    case 'write-blackboard':
    default:
      return caller.role === 'member'
        ? denied(`only an owner can do this; ${who(caller)}`, null)
        : watchOnly(caller)
  }
}

/** Decides by the role that a route requires; owners are checked too. */
export function byRoute(caller: HumanCaller, { role }: Extract<Action, { do: 'call-route' }>): Decision {
  if (role !== null && roleReaches(caller.role, role)) return allowed
  return denied(
    `this requires ${role === null ? 'a role that the mesh does not define' : `the role ${role}`}; ${who(caller)}`,
    null,
  )
}

function onAgent(caller: HumanCaller, agentId: string): Decision {
  if (caller.role !== 'member') return watchOnly(caller)
  if (isGranted(caller.agents ?? [], agentId)) return allowed
  return denied(
    `${agentId === '' ? 'no such agent' : `agent ${agentId}`} is not among the agents granted to this person; ${who(caller)}`,
    null,
  )
}

function watchOnly(caller: HumanCaller): Decision {
  return denied(`a viewer may read but not change anything; ${who(caller)}`, null)
}

function who({ person, role, agents = [] }: HumanCaller): string {
  const of =
    role === 'member' ? ` of ${agents.length === 0 ? 'no agent' : agents.join(', ').slice(0, 200)}` : ''
  return `${person ?? 'the caller'} is ${role === 'owner' ? 'an' : 'a'} ${role}${of}`
}
