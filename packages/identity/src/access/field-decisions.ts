import type { PermissionField, PermissionRecord } from '@flotilla/protocol/permission-record'
import type { Decision } from './action.ts'
import { listAllows } from './glob.ts'

/** Decisions that depend on one field of a permission record. Pure. */

type FieldOf<Value> = {
  [Field in PermissionField]: PermissionRecord[Field] extends Value ? Field : never
}[PermissionField]
export type ListField = FieldOf<string[]>
export type FlagField = FieldOf<boolean>

/** Allows the action if an entry of the list matches; denies it otherwise. */
export function byList(
  record: PermissionRecord,
  field: ListField,
  query: { readonly matches: (entry: string) => boolean; readonly otherwise: string },
): Decision {
  const entry = record[field].findIndex(query.matches)
  return entry === -1 ? denied(query.otherwise, field) : { allowed: true, field, entry }
}

/** Allows the action if the list contains the exact name, or a lone `*`, which means everything. */
export function byName(record: PermissionRecord, field: ListField, name: string): Decision {
  return byList(record, field, {
    matches: (entry) => listAllows([entry], name),
    otherwise: `${field} does not list ${name}`,
  })
}

export function byFlag(record: PermissionRecord, field: FlagField): Decision {
  return record[field] ? { allowed: true, field } : denied(`${field} is not set`, field)
}

/** Allows no action without `can_use_browser`; with it, null and `*` allow every action, an empty list none. */
export function byBrowserAction(record: PermissionRecord, browserAction: string): Decision {
  const flag = byFlag(record, 'can_use_browser')
  const actions = record.browser_actions
  if (!flag.allowed || actions === null) return flag
  return actions.includes('*') || actions.includes(browserAction)
    ? { allowed: true, field: 'browser_actions' }
    : denied(`browser_actions does not list ${browserAction}`, 'browser_actions')
}

export function denied(reason: string, field: PermissionField | null): Decision {
  return { allowed: false, reason, field }
}
