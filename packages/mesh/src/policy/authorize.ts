import { operatorAgentId } from '@flotilla/protocol/ids'
import type { PermissionField, PermissionRecord } from '@flotilla/protocol/permission-record'
import type { Action, Decision } from './action.ts'
import type { Caller } from './caller.ts'
import { credentialMatches, keyMatches, listAllows } from './glob.ts'

/** What `authorize` decides by. */
export interface PermissionRecords {
  /** The agent's own record; undefined when it has none. */
  recordOf(agentId: string): PermissionRecord | undefined
  /** Why there are no records at all, with file and line, or null while there are. */
  readonly broken: string | null
}

const allowed: Decision = { allowed: true }

/** Programs in a container hold a token for these alone. */
const programApis: readonly string[] = ['llm', 'http']

/** May this caller do this? What no line allows is denied. Pure. */
export function authorize(records: PermissionRecords, caller: Caller, action: Action): Decision {
  return caller.kind === 'agent'
    ? authorizeAgent(records, caller, action)
    : authorizePeople(caller.kind, action)
}

/** The owner, this machine and the mesh itself need no record; what belongs to an agent alone stays the agent's. */
function authorizePeople(kind: Exclude<Caller['kind'], 'agent'>, action: Action): Decision {
  switch (action.do) {
    case 'message-agent':
    case 'submit-run':
    case 'steer-agent':
    case 'read-blackboard':
    case 'write-blackboard':
    case 'list-agents':
    case 'view-fleet':
    case 'manage-fleet':
      return allowed
    case 'manage-credentials':
      return kind === 'human' ? allowed : denied('only the owner can do this', null)
    case 'call-api':
    case 'use-credential':
    case 'request-credential':
    case 'act-for-self':
      return denied('only an agent can do this', null)
    default:
      return undecided(action)
  }
}

function authorizeAgent(
  records: PermissionRecords,
  caller: Extract<Caller, { kind: 'agent' }>,
  action: Action,
): Decision {
  if (records.broken !== null) return denied(`everything is denied: ${records.broken}`, null)
  if (caller.token === 'program' && !isForPrograms(action)) {
    return denied('the token of a program is for the model surface and the forward proxy only', null)
  }
  const record = records.recordOf(caller.agentId)
  if (!record) return denied(`agent ${caller.agentId} has no permission record`, null)
  return authorizeByRecord(record, caller.agentId, action)
}

function authorizeByRecord(record: PermissionRecord, agentId: string, action: Action): Decision {
  switch (action.do) {
    case 'message-agent':
      return byName(record, 'can_message', action.to)
    case 'steer-agent':
      return maySteer(record, agentId, action)
    case 'call-api':
      return byName(record, 'allowed_apis', action.api)
    case 'read-blackboard':
      return byKey(record, 'blackboard_read', action.key)
    case 'write-blackboard':
      return byKey(record, 'blackboard_write', action.key)
    case 'use-credential':
      return record.allowed_credentials.some((pattern) => credentialMatches(pattern, action.name))
        ? allowed
        : denied(`no pattern of allowed_credentials matches ${action.name}`, 'allowed_credentials')
    case 'request-credential':
      return byFlag(record, 'can_request_user_credentials')
    case 'manage-credentials':
      return denied('credentials are stored and bound by the owner alone', null)
    case 'list-agents':
      return allowed
    case 'act-for-self':
      return action.agentId === agentId ? allowed : denied('an agent acts for itself alone', null)
    case 'view-fleet':
      return byFlag(record, 'can_view_fleet_metrics')
    case 'manage-fleet':
      return byFlag(record, 'can_manage_fleet')
    case 'submit-run':
      return denied('agents give work to each other by hand-off', null)
    default:
      return undecided(action)
  }
}

/** The operator, and whoever gave the work, where they may message that agent at all. */
function maySteer(
  record: PermissionRecord,
  agentId: string,
  { to, gave }: Extract<Action, { do: 'steer-agent' }>,
): Decision {
  if (to === agentId) return denied('an agent does not steer itself', null)
  if (agentId !== operatorAgentId && !gave) {
    return denied('only the operator and whoever gave the work steer an agent', null)
  }
  return byName(record, 'can_message', to)
}

function byName(record: PermissionRecord, field: 'can_message' | 'allowed_apis', name: string): Decision {
  return listAllows(record[field], name) ? allowed : denied(`${field} does not list ${name}`, field)
}

function byKey(
  record: PermissionRecord,
  field: 'blackboard_read' | 'blackboard_write',
  key: string,
): Decision {
  return record[field].some((pattern) => keyMatches(pattern, key))
    ? allowed
    : denied(`no pattern of ${field} matches ${key}`, field)
}

function byFlag(
  record: PermissionRecord,
  field: 'can_view_fleet_metrics' | 'can_manage_fleet' | 'can_request_user_credentials',
): Decision {
  return record[field] ? allowed : denied(`${field} is not set`, field)
}

function isForPrograms(action: Action): boolean {
  return action.do === 'call-api' && programApis.includes(action.api)
}

/** A new action does not compile until each switch above has decided it. */
function undecided(action: never): Decision {
  return denied(`nothing allows ${JSON.stringify(action)}`, null)
}

function denied(reason: string, field: PermissionField | null): Decision {
  return { allowed: false, reason, field }
}
