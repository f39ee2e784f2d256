import { operatorAgentId } from '@flotilla/protocol/ids'
import { wireLimits } from '@flotilla/protocol/limits'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import type { Action, Decision } from './action.ts'
import { isAtTerminal } from './at-terminal.ts'
import type { Caller } from './caller.ts'
import { authorizePerson, byRoute } from './authorize-person.ts'
import { byBrowserAction, byFlag, byList, byName, denied } from './field-decisions.ts'
import { credentialMatches, keyMatcher } from './glob.ts'
import { decideAcrossProjects, decideInProject, decideManaged } from './project-walls.ts'
import type { ProjectOf } from './project-walls.ts'
import { decideMakersSpend, decideWalletSpend, decideWalletUse } from './decide-wallet-spend.ts'

/** The records that `authorize` decides with. */
export interface PermissionRecords {
  /** Returns the agent's own record; undefined for an agent without a record. */
  recordOf(agentId: string): PermissionRecord | undefined
  /** Why the records cannot be used, with file and line; null while they are valid. */
  readonly broken: string | null
  /** Returns the project of an agent; if omitted, no agent belongs to a project. */
  readonly projectOf?: ProjectOf
}

/** The decision for an action that is allowed without checking a field of a record. */
const allowed: Decision = { allowed: true }

/** The only APIs that accept program tokens. */
const programApis: readonly string[] = ['llm', 'http']

/** Decides whether this caller may do this. An action that no rule allows is denied. Pure. */
export function authorize(records: PermissionRecords, caller: Caller, action: Action): Decision {
  if (caller.kind === 'agent') return authorizeAgent(records, caller, action)
  return caller.kind === 'human' && caller.role !== 'owner'
    ? authorizePerson(caller, action)
    : authorizePeople(caller, action)
}

/** The owner, local programs and the mesh need no record, but may not do what only an agent may do for itself. */
function authorizePeople(caller: Exclude<Caller, { kind: 'agent' }>, action: Action): Decision {
  switch (action.do) {
    case 'message-agent':
    case 'submit-run':
    case 'steer-agent':
    case 'publish-topic':
    case 'subscribe-topic':
    case 'read-blackboard':
    case 'write-blackboard':
    case 'list-agents':
    case 'view-fleet':
    case 'manage-fleet':
    case 'manage-agent':
    case 'manage-projects':
    case 'edit-agent-config':
    case 'manage-cron':
    case 'route-tasks':
      return allowed
    case 'call-route':
      return caller.kind === 'human' ? byRoute(caller, action) : denied('only people may call this API', null)
    case 'back-up':
      return caller.kind === 'internal'
        ? allowed
        : denied('only a program of the owner on the machine of the mesh may read a backup of the home', null)
    case 'manage-credentials':
    case 'manage-people':
    case 'pause-work':
      return caller.kind === 'human' ? allowed : denied('only the owner of the fleet can do this', null)
    case 'manage-webhooks':
    case 'make-webhooks':
      return isAtTerminal(caller)
        ? allowed
        : denied('only a person at the terminal or the dashboard can create and change webhooks', null)
    case 'call-api':
    case 'use-credential':
    case 'request-credential':
    case 'use-browser':
    case 'spawn-agent':
    case 'use-wallet':
    case 'spend-from-wallet':
    case 'act-for-self':
      return denied('only an agent can do this, not a person', null)
    default:
      return undecided(action)
  }
}

function authorizeAgent(
  records: PermissionRecords,
  caller: Extract<Caller, { kind: 'agent' }>,
  action: Action,
): Decision {
  if (records.broken !== null)
    return denied(
      `all agents are denied everything, because the permission file is invalid: ${records.broken}`,
      null,
    )
  if (caller.token === 'program' && !isForPrograms(action)) {
    return denied('the token of a program may only be used for model calls and for the forward proxy', null)
  }
  const record = records.recordOf(caller.agentId)
  if (!record) return denied(`agent ${caller.agentId} has no permission record`, null)
  const decision =
    decideByProject(records.projectOf ?? (() => null), caller.agentId, action) ??
    authorizeByRecord(record, caller.agentId, action)
  if (action.do !== 'spend-from-wallet' || !decision.allowed) return decision
  return decideMakersSpend(records.recordOf, action) ?? decision
}

/** The decision that project membership determines before any field is checked; null otherwise. */
function decideByProject(projectOf: ProjectOf, agentId: string, action: Action): Decision | null {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- membership decides of a few alone
  switch (action.do) {
    case 'read-blackboard':
    case 'write-blackboard':
      return decideInProject(projectOf, agentId, {
        name: action.key.normalize('NFC'),
        writes: action.do === 'write-blackboard',
      })
    case 'publish-topic':
    case 'subscribe-topic':
      return decideInProject(projectOf, agentId, {
        name: action.topic,
        writes: action.do === 'publish-topic',
      })
    case 'message-agent':
    case 'steer-agent':
      return decideAcrossProjects(projectOf, agentId, action.to)
    case 'manage-projects':
      return decideManaged(projectOf, agentId, action.project)
    default:
      return null
  }
}

function authorizeByRecord(record: PermissionRecord, agentId: string, action: Action): Decision {
  switch (action.do) {
    case 'message-agent':
      return byName(record, 'can_message', action.to)
    case 'steer-agent':
      return maySteer(record, agentId, action)
    case 'publish-topic':
      return byName(record, 'can_publish', action.topic)
    case 'subscribe-topic':
      return byName(record, 'can_subscribe', action.topic)
    case 'read-blackboard':
      return byKey(record, 'blackboard_read', action.key)
    case 'write-blackboard':
      return byKey(record, 'blackboard_write', action.key)
    case 'call-api':
      return byName(record, 'allowed_apis', action.api)
    case 'use-credential':
      return byList(record, 'allowed_credentials', {
        matches: (pattern) => credentialMatches(pattern, action.name),
        otherwise: `no pattern of allowed_credentials matches ${action.name}`,
      })
    case 'use-browser':
      return byBrowserAction(record, action.browserAction)
    case 'manage-cron':
      return byFlag(record, 'can_manage_cron')
    case 'spawn-agent':
      return byFlag(record, 'can_spawn')
    case 'use-wallet':
      return decideWalletUse(record, action)
    case 'spend-from-wallet':
      return decideWalletSpend(record, action)
    case 'manage-fleet':
      return byFlag(record, 'can_manage_fleet')
    case 'manage-agent':
      if (action.agentId === agentId) return denied('an agent may not start, stop or archive itself', null)
      return byFlag(record, 'can_manage_fleet')
    case 'manage-projects':
      return byFlag(record, 'can_manage_projects')
    case 'edit-agent-config':
      if (action.agentId === agentId) return denied('an agent may not edit its own configuration', null)
      return byFlag(record, 'can_edit_agent_config')
    case 'view-fleet':
      return byFlag(record, 'can_view_fleet_metrics')
    case 'route-tasks':
      return byFlag(record, 'can_route_tasks')
    case 'request-credential':
      return byFlag(record, 'can_request_user_credentials')
    case 'manage-credentials':
      return denied('only the owner may store credentials and bind them to hosts', null)
    case 'manage-people':
    case 'call-route':
      return denied('only an owner may add and change people', null)
    case 'pause-work':
      return denied('only the owner may pause and resume work', null)
    case 'back-up':
      return denied('only people may read the data of other agents', null)
    case 'manage-webhooks':
    case 'make-webhooks':
      return denied('only a person at the terminal or the dashboard can create webhooks', null)
    case 'list-agents':
      return allowed
    case 'act-for-self':
      return action.agentId === agentId
        ? allowed
        : denied('an agent may only act for itself, not for another agent', null)
    case 'submit-run':
      return denied('an agent gives work to another agent with hand_off only', null)
    default:
      return undecided(action)
  }
}

/** Allows the operator and the agent that gave the work, if they may message that agent at all. */
function maySteer(
  record: PermissionRecord,
  agentId: string,
  { to, gave }: Extract<Action, { do: 'steer-agent' }>,
): Decision {
  if (to === agentId) return denied('an agent may not send a steering message to itself', null)
  if (agentId !== operatorAgentId && !gave) {
    return denied(
      'only the operator, or the agent that gave the work, may send a steering message to an agent',
      null,
    )
  }
  return byName(record, 'can_message', to)
}

function byKey(
  record: PermissionRecord,
  field: 'blackboard_read' | 'blackboard_write',
  key: string,
): Decision {
  return byList(record, field, {
    matches: keyMatcher(key),
    otherwise:
      key.length > wireLimits.blackboardKeyMaxChars
        ? `a key has at most ${wireLimits.blackboardKeyMaxChars} characters`
        : `no pattern of ${field} matches ${key}`,
  })
}

function isForPrograms(action: Action): boolean {
  // The forward proxy inserts credentials for programs; no other API that accepts their token uses one.
  return action.do === 'use-credential' || (action.do === 'call-api' && programApis.includes(action.api))
}

/** A new action does not compile until each switch above has decided it. */
function undecided(action: never): Decision {
  return denied(`no permission allows ${JSON.stringify(action)}`, null)
}
