import { toolNeeds } from '@flotilla/protocol/tool-needs'
import type { ToolNeed } from '@flotilla/protocol/tool-needs'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import type { Guard } from './action.ts'
import type { Caller } from './caller.ts'
import { byFlag, byName, denied } from './field-decisions.ts'
import type { Decision } from './action.ts'
import type { PermissionRecords } from './authorize.ts'

export interface RefusedTool {
  readonly tool: string
  readonly reason: string
}

/** The tools whose every call would be refused to the calling agent now, with the reason. Problem `denied`. */
export type RefusedTools = (caller: Caller) => readonly RefusedTool[]

export function createRefusedTools(deps: {
  readonly guard: Guard
  readonly permissions: { snapshot(): PermissionRecords }
}): RefusedTools {
  return (caller) => {
    const agentId = caller.kind === 'agent' ? caller.agentId : ''
    deps.guard(caller, { do: 'act-for-self', agentId })
    const record = deps.permissions.snapshot().recordOf(agentId)
    return record ? refusedBy(record) : []
  }
}

/** Pure. */
export function refusedBy(record: PermissionRecord): readonly RefusedTool[] {
  return Object.entries(toolNeeds).flatMap(([tool, need]) => {
    const decision = decideNeed(record, need)
    return decision.allowed ? [] : [{ tool, reason: decision.reason }]
  })
}

function decideNeed(record: PermissionRecord, need: ToolNeed): Decision {
  if ('api' in need) return byName(record, 'allowed_apis', need.api)
  const { field, flag } = need
  if (flag !== undefined && !record[flag]) return byFlag(record, flag)
  if (field === 'can_request_user_credentials' || field === 'can_manage_cron') return byFlag(record, field)
  return record[field].length > 0 ? { allowed: true, field } : denied(`${field} is empty`, field)
}
