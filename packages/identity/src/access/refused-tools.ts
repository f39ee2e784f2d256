import { toolNeeds } from '@flotilla/protocol/tool-needs'
import type { ToolNeed } from '@flotilla/protocol/tool-needs'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import type { Guard } from './action.ts'
import type { Caller } from './caller.ts'
import { byBrowserAction, byFlag, byName, denied } from './field-decisions.ts'
import type { Decision } from './action.ts'
import type { PermissionRecords } from './authorize.ts'

export interface RefusedTool {
  readonly tool: string
  readonly reason: string
}

/**
 * The tools whose every call would be refused to the calling agent now, with the reason. Problem `denied`.
 */
export type RefusedTools = (caller: Caller) => readonly RefusedTool[]

export function createRefusedTools(deps: {
  readonly guard: Guard
  readonly permissions: { snapshot(): PermissionRecords }
}): RefusedTools {
  return (caller) => {
    const agentId = caller.kind === 'agent' ? caller.agentId : ''
    deps.guard(caller, { do: 'act-for-self', agentId })
    const snapshot = deps.permissions.snapshot()
    const record = snapshot.recordOf(agentId)
    const isMember = (snapshot.projectOf?.(agentId) ?? null) !== null
    return record ? refusedBy(record, isMember) : []
  }
}

const ofProjects: readonly string[] = ['blackboard_read', 'blackboard_write', 'can_publish', 'can_subscribe']

/** Tools for members of a project, which need no flag. */
const ofMembers: readonly string[] = ['inspect_projects']

/** The tools that this record does not allow, with the reasons. `isMember`: the agent belongs to a project. Pure. */
export function refusedBy(record: PermissionRecord, isMember = false): readonly RefusedTool[] {
  return Object.entries(toolNeeds).flatMap(([tool, need]: [string, ToolNeed]) => {
    // A member of a project may access the project's shared data without a pattern in its record.
    if (isMember && (ofMembers.includes(tool) || ('field' in need && ofProjects.includes(need.field))))
      return []
    const decision = decideNeed(record, need)
    return decision.allowed ? [] : [{ tool, reason: decision.reason }]
  })
}

function decideNeed(record: PermissionRecord, need: ToolNeed): Decision {
  if ('api' in need) return byName(record, 'allowed_apis', need.api)
  if ('browser' in need) return byBrowserAction(record, need.browser)
  const { field, flag, or } = need
  if (or !== undefined && record[or]) return byFlag(record, or)
  if (flag !== undefined && !record[flag]) return byFlag(record, flag)
  if (isFlag(field)) return byFlag(record, field)
  return record[field].length > 0 ? { allowed: true, field } : denied(`${field} is empty`, field)
}

const flags = [
  'can_request_user_credentials',
  'can_manage_cron',
  'can_manage_projects',
  'can_spawn',
  'can_use_wallet',
] as const

function isFlag(field: string): field is (typeof flags)[number] {
  return flags.some((flag) => flag === field)
}
