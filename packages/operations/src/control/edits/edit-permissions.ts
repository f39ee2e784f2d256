import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import type { HoldCeiling, PermissionStore, SubmittedFields } from '@flotilla/identity/access'
import { actorOf, emptyRecord, pickFields, readFields, submittedFields } from '@flotilla/identity/access'
import { sameJson } from './change-table.ts'
import type { Editable } from './editable.ts'
import { undoConflict } from './undo-conflict.ts'

type PermissionEdit = Extract<AgentEdit, { field: 'permissions' }>

/**
 * Permissions of an agent. Decisions use the file's content at the time of writing, inside the file's own lock: a
 * manual edit in between is neither lost nor able to bypass a ceiling.
 */
export function editPermissions(deps: {
  readonly permissions: Pick<PermissionStore, 'edit'>
  readonly holdCeiling: HoldCeiling
}): Editable<PermissionEdit> {
  const { holdCeiling } = deps
  return {
    apply: async (caller, { agentId, edit, begin }) => {
      await deps.permissions.edit((records) => {
        const current = recordIn(records, agentId)
        const submitted = submittedFields(current, edit.value)
        holdCeiling(caller, { agentId, current, fields: submitted })
        const fields = readFields(submitted)
        if (Object.keys(fields).length === 0) {
          throw new Problem('bad-request', { detail: 'the request names no permission' })
        }
        begin({ before: pickFields(current, Object.keys(fields)), after: fields })
        return { ...records, [agentId]: { ...current, ...fields } }
      }, actorOf(caller))
      return () => 'now'
    },
    putBack: async (caller, { agentId, before, after, isResumed }) => {
      const earlier = readFields(objectOf(before))
      await deps.permissions.edit((records) => {
        const current = recordIn(records, agentId)
        const now = pickFields(current, Object.keys(earlier))
        if (isResumed && sameJson(now, before)) return { ...records }
        if (!sameJson(now, after)) throw undoConflict(now, after)
        holdCeiling(caller, { agentId, current, fields: earlier })
        return { ...records, [agentId]: { ...current, ...earlier } }
      }, actorOf(caller))
      return () => 'now'
    },
  }
}

function recordIn(records: Readonly<Record<string, PermissionRecord>>, agentId: string): PermissionRecord {
  return Object.hasOwn(records, agentId) ? permissionRecordSchema.parse(records[agentId]) : emptyRecord
}

function objectOf(value: unknown): SubmittedFields {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}
